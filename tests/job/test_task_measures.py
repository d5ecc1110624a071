"""Numbers of tasks: by run.log or by a pattern, in one file a worker, and nothing of them in the pilot's own run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from windlass_job import wire
from windlass_job.farming import ledger, measuring, table
from windlass_job.farming.entries import DiskStore
from windlass_job.farming.measuring import Measures, Try, make_line

SOURCES = Path(__file__).parents[2] / "src"
TELL = """
import sys
from windlass_job import run
for step in range(int(sys.argv[1])):
    run.log(step, loss=step / 2)
    print("accuracy=%d" % step, flush=True)
run.checkpoint("saves")
run.progress(1, 1)
run.should_stop()
run.done()
"""


def run_farm(folder: Path, commands: list[str], card: dict[str, Any]) -> Path:
    """A farm with these tasks, worked on by one real pilot to its end; its file of measures."""
    farm, run = folder / "farm", folder / "run"
    rows = [table.make_row({"command": command}) for command in commands]
    tasks = os.fsencode(farm / "tasks")
    run.mkdir(parents=True)
    count = table.write_rows(tasks, 0, rows)
    table.publish(tasks, table.Segment(0, count, table.COMMANDS))
    state = ledger.grow(ledger.EMPTY, count)
    (farm / "log").mkdir()
    DiskStore(os.fsencode(farm / "log")).publish(1, ledger.format_entry(ledger.GROW, "test", state, moved=[]))
    (farm / wire.FARM_CARD).write_text(json.dumps(card))
    scratch = folder / "scratch"
    scratch.mkdir()
    env = {**os.environ, "PYTHONPATH": str(SOURCES), wire.ENV_RUN_DIR: str(run), "TMPDIR": str(scratch)}
    env |= {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}  # a pilot on the second of two nodes
    done = subprocess.run(
        [sys.executable, "-m", "windlass_job", "farm", "--farm", str(farm)],
        env=env, cwd=folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert wire.FARM_OVER in done.stdout, done.stdout + done.stderr
    assert list(scratch.iterdir()) == []
    return next((farm / "pilots").glob("*.met"))


def read(path: Path) -> list[tuple[int, int, dict[str, Any]]]:
    rows = [line.split(" ", 2) for line in path.read_text().splitlines()]
    return [(int(task), int(attempt), json.loads(told)) for task, attempt, told in rows]


def test_numbers_of_trials_that_may_be_hopeless_are_read_every_second(tmp_path: Path) -> None:
    """A place that a hopeless trial holds is lost time."""
    command = "for i in $(seq 15); do echo loss=$i; sleep 0.2; done"
    patterns = {"loss": r"loss=(\d+)"}

    usual = read(run_farm(tmp_path / "usual", [command], {"patterns": patterns, "sweep": {"prune": None}}))
    pruned = read(run_farm(tmp_path / "pruned", [command], {"patterns": patterns, "sweep": {"prune": "median"}}))

    assert [len({round(told["t"], 1) for _, _, told in rows}) > 2 for rows in (usual, pruned)] == [False, True]


def test_what_tasks_tell_and_print_lies_in_one_file_by_task(tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text(TELL)
    commands = [f"{sys.executable} tell.py {count}" for count in (3, 0, 2)]

    lines = read(run_farm(tmp_path, commands, {"patterns": {"accuracy": r"accuracy=([0-9.]+)"}}))

    told = [(task, one["step"], one["loss"]) for task, _, one in lines if "loss" in one]
    assert sorted(told) == [(0, 0, 0.0), (0, 1, 0.5), (0, 2, 1.0), (2, 0, 0.0), (2, 1, 0.5)]
    found = [(task, one["step"], one["accuracy"]) for task, _, one in lines if "accuracy" in one]
    assert sorted(found) == [(0, 1, 0.0), (0, 2, 1.0), (0, 3, 2.0), (2, 1, 0.0), (2, 2, 1.0)]
    # The run of the pilot has not been told that it is finished, and has none of these numbers.
    assert list((tmp_path / "run").iterdir()) == []


def test_a_second_try_is_told_apart(tmp_path: Path) -> None:
    command = "bash -c 'echo loss=$WINDLASS_TASK_ATTEMPT; [ $WINDLASS_TASK_ATTEMPT = 2 ]'"

    lines = read(run_farm(tmp_path, [command], {"retries": 1, "patterns": {"loss": r"loss=(\d)"}}))

    assert [(task, attempt, one["loss"]) for task, attempt, one in lines] == [(0, 1, 1.0), (0, 2, 2.0)]


def test_what_a_task_has_left_behind_tells_and_prints_nothing_for_others(tmp_path: Path) -> None:
    """A process that stays for a while after its task, and goes on as if nothing were."""
    ghost = """
import subprocess, sys
from windlass_job import run
if len(sys.argv) > 1:
    import time
    for step in range(100):
        run.log(step, loss=-999)
        print("loss=-999", flush=True)
        time.sleep(0.02)
else:
    subprocess.Popen([sys.executable, __file__, "ghost"], start_new_session=True)
    sys.exit(1)
"""
    (tmp_path / "ghost.py").write_text(ghost)
    (tmp_path / "tell.py").write_text(TELL)
    commands = [f"{sys.executable} ghost.py", *([f"sleep 0.2; {sys.executable} tell.py 1"] * 6)]

    lines = read(run_farm(tmp_path, commands, {"patterns": {"loss": r"loss=(\S+)"}}))

    assert {task for task, _, one in lines if one["loss"] == -999} <= {0}
    assert sorted(task for task, _, one in lines if one["loss"] == 0) == [1, 2, 3, 4, 5, 6]
    (output,) = (tmp_path / "farm" / "pilots").glob("*.out")
    (index,) = (tmp_path / "farm" / "pilots").glob("*.idx")
    for row in index.read_text().splitlines():
        task, _, at, size = map(int, row.split())
        assert task == 0 or b"-999" not in output.read_bytes()[at : at + size]


def test_a_task_that_spoils_the_file_of_its_numbers_spoils_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text(TELL)
    spoils = ['mkdir "$F"; sleep 6', 'mkfifo "$F"; sleep 6', 'ln -s /dev/zero "$F"; sleep 6', 'ln -s . "$F"']
    commands = [f"F=$WINDLASS_TASK_METRICS; {one}" for one in spoils] + [f"{sys.executable} tell.py 1"]

    lines = read(run_farm(tmp_path, commands, {}))

    assert [(task, one["loss"]) for task, _, one in lines] == [(4, 0)]


def test_a_number_that_is_printed_in_pieces_is_found_whole() -> None:
    one = Try({"loss": re.compile(r"loss=([0-9.]+)")})

    for piece in (b"loss=0.", b"5\rloss=0.2", b"5\nlo"):
        one.search(piece)
    found = one.take_found(False)
    one.search(b"ss=1")
    found += one.take_found(True)

    assert [json.loads(line)["loss"] for line in found] == [0.5, 0.25, 1.0]


def test_a_group_called_step_is_the_step_and_words_are_no_numbers() -> None:
    assert json.loads(make_line("loss", {"step": "70"}, "0.5", 1)[0])["step"] == 70
    assert json.loads(make_line("loss", {}, "nan", 1)[0])["loss"] == "nan"
    assert make_line("loss", {}, "--", 1) == []


def test_of_a_task_that_tells_very_much_the_beginning_and_the_last_word_are_kept(tmp_path: Path) -> None:
    measures = Measures(os.fsencode(tmp_path / "w"), str(tmp_path), {}, print)
    count = measuring.MOST // 40
    with open(measures.make_path(5), "w") as file:
        file.writelines(f'{{"step":{step},"t":1.0,"loss":0.123456789012345678901}}\n' for step in range(count))

    measures.take(5, 1, False)
    measures.take(5, 1, True)
    measures.close()

    lines = read(tmp_path / "w.met")
    assert lines[0][2]["step"] == 0
    assert lines[-1][2]["step"] == count - 1
    assert len(lines) < count
