"""Metrics and progress: cheap to tell, written whole, harmless when they cannot be."""

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job.harness import OLDEST_AND_NEWEST
from tests.job.trainings import Home, end, read_lines
from windlass_job.saving import metrics
from windlass_job.saving.metrics import Lines, format_record

TELL = """
import sys
from windlass_job import run
for step in range(int(sys.argv[1])):
    run.log(step, loss=1 / (step + 1), accuracy=0.5)
"""


def read(path: Path) -> list[dict[str, Any]]:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_every_line_is_there_when_the_training_has_ended(home: Home, python: str) -> None:
    home.python = python

    done = home.train(TELL, 30000, attempt=(1, 2, 1), env={"RANK": "3", "WORLD_SIZE": "4"})

    lines = read(home.run / "metrics" / "2.3.jsonl")
    assert done.code == 0, done.err
    assert [line["step"] for line in lines] == list(range(30000))
    assert lines[9]["loss"] == 0.1
    assert abs(lines[0]["t"] - time.time()) < 300


def test_more_than_can_be_written_holds_the_training_up_and_loses_nothing(home: Home) -> None:
    count = 3 * metrics.MOST_WAITING

    done = home.train(TELL, count)

    assert (done.code, done.err) == (0, "")
    assert len(read(home.run / "metrics" / "1.0.jsonl")) == count


def test_what_was_told_is_there_soon_also_while_it_trains(home: Home) -> None:
    script = "from windlass_job import run; run.log(1, loss=2.5); print('told', flush=True); input()"
    training = home.start(script)
    read_lines(training, "told")
    path = home.run / "metrics" / "1.0.jsonl"

    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)

    assert [line["loss"] for line in read(path)] == [2.5]


class Scalar:
    """As a number of numpy or torch looks from outside."""

    def __init__(self, value: object) -> None:
        self.value = value

    def item(self) -> object:
        return self.value


class Broken:
    def __float__(self) -> float:
        raise RuntimeError("CUDA error: device-side assert triggered")

    def __str__(self) -> str:
        return "broken"


def test_numbers_of_libraries_are_numbers(tmp_path: Path) -> None:
    class Float(float):
        pass

    given = {"a": Scalar(1.5), "b": Scalar(7), "c": Float(2.5), "d": True, "e": None, "f": "text", "g": 10**400}
    lines = Lines(str(tmp_path / "m" / "x.jsonl"))
    lines.add(Scalar(3), {**given, "h": Broken(), "i": [1, 2], "t": 4.0, "100%": 1.0, 'a "quote"': 2.0})
    lines.add(4, {"t": 1.0, "100%": 1.0, 'a "quote"': 2.0})
    lines.write()

    first, second = read(tmp_path / "m" / "x.jsonl")

    assert {name: first[name] for name in "abcdef"} == {"a": 1.5, "b": 7, "c": 2.5, "d": True, "e": None, "f": "text"}
    assert (first["step"], first["g"], first["h"], first["i"]) == (3, 10**400, "broken", "[1, 2]")
    assert first["metric_t"] == 4.0
    assert (second["metric_t"], second["100%"], second['a "quote"']) == (1.0, 1.0, 2.0)


def test_a_value_is_taken_as_it_is_when_it_is_told(tmp_path: Path) -> None:
    loss, step = Scalar(1.0), Scalar(1)
    lines = Lines(str(tmp_path / "m" / "x.jsonl"))
    lines.add(step, {"loss": loss})
    loss.value, step.value = 2.0, 2
    lines.write()

    (line,) = read(tmp_path / "m" / "x.jsonl")
    assert (line["step"], line["loss"]) == (1, 1.0)


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __float__ = __str__
    __repr__ = __str__


@pytest.mark.parametrize("value", [10**5000, -(10**5000), Hostile(), Scalar(10**5000)], ids=type)
def test_a_value_that_cannot_be_written_costs_no_other_line(tmp_path: Path, value: Any) -> None:
    lines = Lines(str(tmp_path / "m" / "x.jsonl"))
    for step in range(200):
        lines.add(step, {"loss": 0.5, "odd": value if step == 100 else 1})
    lines.add(value, {"loss": 0.5})
    lines.write()

    found = read(tmp_path / "m" / "x.jsonl")

    assert [line["step"] for line in found[:200]] == list(range(200))
    assert found[100]["loss"] == 0.5
    assert isinstance(found[100]["odd"], str)
    assert isinstance(found[200]["step"], str)


@given(
    step=st.one_of(st.integers(), st.floats(), st.text(max_size=5)),
    told=st.dictionaries(
        st.text(max_size=8), st.one_of(st.floats(), st.integers(), st.booleans(), st.none(), st.text(max_size=400))
    ),
)
def test_every_line_is_json_and_says_what_was_told(step: Any, told: dict[str, Any]) -> None:
    line = format_record(step, 1_700_000_000.5, dict(told))

    def refuse(word: str) -> None:
        raise ValueError(word)

    found = json.loads(line, parse_constant=refuse)
    assert line.endswith("\n")
    assert line.count("\n") == 1
    for name, value in told.items():
        if name in ("step", "t", "metric_t"):
            continue
        if isinstance(value, float) and not math.isfinite(value):
            assert found[name] == repr(value)
        elif not isinstance(value, str):
            assert (found[name], type(found[name])) == (value, type(value))


@pytest.fixture
def no_folder(home: Home) -> Iterator[Home]:
    """The run folder was removed while the training runs."""
    (home.run / "x").touch()
    for path in home.run.iterdir():
        path.unlink()
    home.run.rmdir()
    yield home
    home.run.mkdir()


def test_a_run_folder_that_is_gone_costs_the_training_nothing_and_does_not_come_back(no_folder: Home) -> None:
    script = TELL + "run.progress(1, 2)\nprint('ended')"

    done = no_folder.train(script, 1000)

    assert (done.code, done.out) == (0, "ended\n")
    assert "metrics or progress cannot be written" in done.err
    assert not no_folder.run.exists()


def test_what_a_file_system_refuses_is_bounded_and_written_when_it_can_be(tmp_path: Path) -> None:
    lines = Lines(str(tmp_path / "not-yet" / "metrics" / "x.jsonl"))
    longest = metrics.MOST_UNWRITTEN // 30 + 3000
    for step in range(longest):
        lines.add(step, {"loss": 0.5, "more": 0.25})
        if step % 1000 == 0:
            with pytest.raises(FileNotFoundError):
                lines.write()
    assert len(lines._unwritten) < 2 * metrics.MOST_UNWRITTEN

    (tmp_path / "not-yet").mkdir()
    lines.write()

    written = read(tmp_path / "not-yet" / "metrics" / "x.jsonl")
    assert 1000 < len(written) < longest
    assert [line["step"] for line in written[:1000]] == list(range(1000))


def test_outside_of_windlass_metrics_go_nowhere_or_where_one_says(home: Home) -> None:
    nowhere = home.train(TELL, 10, attempt=None)
    somewhere = home.train(TELL, 10, attempt=None, env={"WINDLASS_METRICS_FILE": "mine.jsonl"})

    assert (nowhere.code, somewhere.code, nowhere.err, somewhere.err) == (0, 0, "", "")
    assert len(read(home.path / "mine.jsonl")) == 10
    assert list(home.run.iterdir()) == []


FORKED = """
import os
from windlass_job import run
run.log(1, who=1)
child = os.fork()
if child == 0:
    run.log(2, who=2)
    run.done()
    os._exit(0)
os.waitpid(child, 0)
run.log(3, who=1)
"""


def test_a_forked_child_tells_its_own_and_not_its_parents(home: Home) -> None:
    done = home.train(FORKED)

    lines = read(home.run / "metrics" / "1.0.jsonl")
    assert (done.code, done.err) == (0, "")
    assert sorted(line["step"] for line in lines) == [1, 2, 3]


PROGRESS = """
from windlass_job import run
run.progress(2, 10)
run.progress(3, 10)
with run.checkpoint("checkpoints").save(30) as folder:
    (folder / "x").touch()
"""


def load_progress(home: Home) -> dict[str, Any]:
    found = json.loads((home.run / "progress.json").read_text())
    assert isinstance(found, dict)
    return found


def test_progress_is_the_last_that_was_told(home: Home) -> None:
    home.train(PROGRESS, attempt=(2, 5, 3))

    told = load_progress(home)

    assert {name: told[name] for name in ("done", "of", "unit")} == {"done": 3, "of": 10, "unit": "epoch"}
    assert (told["submission"], told["link"], told["attempt"], told["try"]) == (2, 5, 3, 1)
    assert told["first_done"] == 2
    assert told["first_t"] <= told["t"]
    assert (told["saved_step"], told["stopping"], told["finished"]) == (30, False, False)
    assert told["save_s"] >= 0


def test_done_is_written_at_once(home: Home) -> None:
    done = home.train("import os\nfrom windlass_job import run\nrun.log(1, a=1)\nrun.done()\nos._exit(0)")

    assert done.code == 0
    assert load_progress(home)["finished"] is True
    assert len(read(home.run / "metrics" / "1.0.jsonl")) == 1


def test_only_rank_0_tells_progress(home: Home) -> None:
    home.train("from windlass_job import run; run.progress(1, 2)", env={"RANK": "1", "WORLD_SIZE": "2"})

    assert not (home.run / "progress.json").exists()


def test_a_fenced_off_attempt_has_no_say(home: Home) -> None:
    home.train("from windlass_job import run; run.progress(5, 10)", attempt=(1, 3, 1))

    for older in ((1, 2, 9), (1, 2, 1)):
        home.train("from windlass_job import run; run.progress(4, 10); run.done()", attempt=older)
    assert load_progress(home)["done"] == 5

    home.train("from windlass_job import run; run.progress(6, 10)", attempt=(2, 1, 1))
    assert load_progress(home)["done"] == 6


def test_a_training_that_a_signal_ends_has_told_what_was_a_second_old(home: Home) -> None:
    script = (
        "from windlass_job import run\nrun.progress(1, 2)\nimport time\ntime.sleep(2.5)\nprint('slept', flush=True)\n"
    )
    training = home.start(script + "time.sleep(100)")
    read_lines(training, "slept")
    training.kill()
    end(training)

    assert load_progress(home)["done"] == 1
