"""Records of trackers come home while the job runs: only what is new, verified, and sent on by the user's own tools."""

import os
from pathlib import Path

import pytest

from tests.app.test_story import start, wait_for_words
from tests.conftest import Places
from windlass.app.following import wait
from windlass.app.session import Session
from windlass.app.syncing import follow_sync, push, sync_run

# As wandb and TensorBoard write: logs that grow, and a summary that is written anew; goes on when it is told to.
TRAIN = """
import os, pathlib, time
record = pathlib.Path("out/wandb/offline-run-20260101_000000-ab12"); (record / "files").mkdir(parents=True)
board = pathlib.Path("runs"); board.mkdir()
def tell(step, size):
    with open(record / "run-ab12.wandb", "ab") as log: log.write(bytes([step]) * size)
    (record / "files" / "wandb-summary.json").write_text('{"step": %d}' % step)
    with open(board / "events.out.tfevents.1.node", "ab") as log: log.write(b"event" * step)
    pathlib.Path(".cometml-runs").mkdir(exist_ok=True)
tell(1, 9_000_000)
print("first", flush=True)
while not pathlib.Path("go").exists(): time.sleep(0.05)
tell(2, 1000)
pathlib.Path(".cometml-runs/zipped.zip").write_bytes(b"PK")
print("second", flush=True)
while not pathlib.Path("end").exists(): time.sleep(0.05)
"""
TOOL = '#!/bin/sh\necho "$(basename "$0") $*" >> "$PUSHED"\n'

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "tracked"\ncommand = "python3 train.py"\n[resources]\ntime = "2m"\ncpus = 1\nmemory = "200M"\n'
    )
    return folder


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs by the names of the trackers', which write down how they were called."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("wandb", "comet"):
        (folder / name).write_text(TOOL)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PUSHED", str(tmp_path / "pushed"))
    return tmp_path / "pushed"


def test_records_come_while_the_job_runs_and_are_sent_when_they_changed(
    session: Session, project: Path, tools: Path, places: Places
) -> None:
    record = start(session, project, "here")
    code = Path(record.folder) / "code"
    wait_for_words(session, record, b"first")
    host = session.host(session.site("here"))

    before = host.round_trips
    first = sync_run(session, record)
    trips = host.round_trips - before
    sent = list(push(session, first))
    again = list(push(session, first))

    log = first.folder / "out/wandb/offline-run-20260101_000000-ab12/run-ab12.wandb"
    assert log.read_bytes() == b"\1" * 9_000_000
    assert [one.tracker for one in first.records] == ["tensorboard", "wandb"]
    assert [(one.record.tracker, one.is_sent) for one in sent] == [("wandb", True)]
    assert [one.is_known for one in again] == [True]
    assert tools.read_text() == f"wandb sync --include-synced {log.parent}\n"

    (code / "go").touch()
    wait_for_words(session, record, b"second")
    before = host.round_trips
    second = sync_run(session, record)

    assert host.round_trips - before < trips  # the end of the log, not all of it
    assert log.read_bytes() == b"\1" * 9_000_000 + b"\2" * 1000
    assert (log.parent / "files/wandb-summary.json").read_text() == '{"step": 2}'
    assert [(one.record.tracker, one.is_sent) for one in push(session, second)] == [("wandb", True)]

    (code / "end").touch()
    rounds = list(follow_sync(session, [wait(session, record)], every_s=0.1))
    assert [one.is_over for one in rounds] == [True]
    done = {one.record.tracker: one for one in push(session, rounds[0])}
    assert done["wandb"].is_known
    assert done["comet"].is_sent  # only when the run is over: a second time it would be there twice
    assert tools.read_text().splitlines()[-1] == f"comet upload {first.folder}/.cometml-runs/zipped.zip"
    assert sync_run(session, record).new_files == 0


def test_a_file_that_was_rewritten_is_fetched_whole_and_a_tool_that_is_missing_is_named(
    session: Session, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = start(session, project, "here")
    wait_for_words(session, record, b"first")
    first = sync_run(session, record)
    log = first.folder / "out/wandb/offline-run-20260101_000000-ab12/run-ab12.wandb"
    log.write_bytes(b"X" * 9_000_000)  # as if the job had begun anew

    (Path(record.folder) / "code" / "go").touch()
    wait_for_words(session, record, b"second")
    second = sync_run(session, record)
    (Path(record.folder) / "code" / "end").touch()
    wait(session, record)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert log.read_bytes() == b"\1" * 9_000_000 + b"\2" * 1000
    assert (first.folder / "runs/events.out.tfevents.1.node").read_bytes() == b"event" * 3
    assert second.busy == ()
    assert [one.problem for one in push(session, second)] == ["is not installed on this laptop"]
