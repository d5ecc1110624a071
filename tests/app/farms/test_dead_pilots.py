"""A farm whose pilots died hard, with tasks running: what they left behind is not taken for life."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.app.farms.test_farms import quick, start, wait_for
from windlass.app.farms.adding import ensure_pilots
from windlass.app.farms.ending import resume_farm
from windlass.app.farms.following import look_at_farm
from windlass.app.farms.looking import load_status
from windlass.app.following import wait
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState

__all__ = ["quick"]
pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text('[run]\nname = "many"\ncommand = "true"\n')
    return folder


def kill_hard(record: RunRecord) -> None:
    """Agent, pilot and tasks."""
    for one in Path("/proc").iterdir():
        with suppress(OSError):
            if one.name.isdigit() and b"WINDLASS_RUN_ID=" + record.run_id.encode() in (one / "environ").read_bytes():
                os.kill(int(one.name), signal.SIGKILL)


def die_with_all_running(session: Session, project: Path) -> RunRecord:
    record = start(session, project, "here", ["test -e go || sleep 300"] * 2)
    wait_for(session, record, lambda status: status.running == 2)
    kill_hard(record)
    assert wait(session, record).state is not RunState.DONE
    return record


def test_it_is_gone_on_with_at_once(session: Session, project: Path) -> None:
    record = die_with_all_running(session, project)

    Path(record.folder, "code", "go").touch()
    (pilot,) = resume_farm(session, record)

    assert wait(session, pilot).state is RunState.DONE
    assert load_status(session, record).done == 2
    assert ensure_pilots(session, record) == []


def test_nothing_is_shown_as_running(session: Session, project: Path) -> None:
    record = die_with_all_running(session, project)

    seen = look_at_farm(session, record)

    assert (seen.status.running, seen.status.waiting) == (0, 2)
    assert [one.running for one in seen.status.pilots] == [()]
    assert seen.is_left_alone


def test_a_beat_that_has_stopped_is_no_life_also_where_its_run_is_not_known(session: Session, project: Path) -> None:
    """As another laptop sees it."""
    record = die_with_all_running(session, project)

    deadline = time.monotonic() + 30
    while load_status(session, record).running and time.monotonic() < deadline:
        time.sleep(0.2)

    assert load_status(session, record).running == 0
