"""Events and status: whole lines, whatever and however much is written."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.job.harness import OLDEST_AND_NEWEST, Job
from windlass.edges.job_zip import make_job_zip
from windlass_job import wire
from windlass_job.events import LONGEST_LINE, format_line

WRITE = """
import sys
sys.path.insert(0, sys.argv[1])
from windlass_job.events import Recorder
recorder = Recorder(sys.argv[2], {"job": sys.argv[3]})
for number in range(500):
    recorder.event("note", text="x" * number, number=number)
    recorder.status({"number": number})
sys.exit(0 if recorder.flush(20) else 1)
"""


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_a_thousand_events_of_two_writers_are_whole(tmp_path: Path, python: str) -> None:
    archive = tmp_path / "job.pyz"
    archive.write_bytes(make_job_zip())

    writers = [subprocess.Popen([python, "-c", WRITE, archive, tmp_path, name]) for name in ("1", "2")]

    assert [writer.wait(30) for writer in writers] == [0, 0]
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event["number"] for event in events if event["job"] == "1"] == list(range(500))
    assert len(events) == 1000
    assert json.loads((tmp_path / "status.json").read_text()) == {"number": 499}


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=9000) | st.integers() | st.none(), max_size=5))
def test_a_line_is_short_and_readable(record: dict[str, object]) -> None:
    line = format_line({"kind": "note", **record})

    assert len(line) <= LONGEST_LINE
    assert line.count(b"\n") == 1
    assert isinstance(json.loads(line), dict)


def test_a_short_record_is_kept_as_it_is() -> None:
    assert json.loads(format_line({"kind": "note", "text": "é\n"})) == {"kind": "note", "text": "é\n"}


def test_a_checkpoint_is_told_once(tmp_path: Path) -> None:
    saved = '{"link": 1, "saved_step": 7, "save_s": 1.5, "saved_t": 1000.5}'
    job = Job(home=tmp_path)

    assert job.run("bash", "-c", f"echo '{saved}' > run/progress.json; sleep 0.5") == 0

    told = [event for event in job.events if event["kind"] == wire.SAVED]
    assert [(one["step"], one["seconds"], one["at"]) for one in told] == [(7, 1.5, 1000.5)]


def test_a_checkpoint_of_an_earlier_link_is_not_told_again(tmp_path: Path) -> None:
    job = Job(home=tmp_path, env={wire.ENV_LINK: "2"})

    job.run("bash", "-c", """echo '{"link": 1, "saved_step": 7, "saved_t": 1.5}' > run/progress.json""")

    assert wire.SAVED not in job.kinds
