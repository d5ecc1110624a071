"""Pilots that come later are sized by what is left: what was added, what failed, what was cancelled."""

from pathlib import Path

import pytest

from tests.app.farms.test_farms import project, quick, wait_for
from windlass.app.farms.adding import add_tasks, ensure_pilots, ensure_pilots_or_tell
from windlass.app.farms.asking import list_pilots
from windlass.app.farms.ending import cancel_farm, resume_farm
from windlass.app.farms.looking import load_status
from windlass.app.farms.sending import pack_rows
from windlass.app.farms.starting import start_farm
from windlass.app.following import wait
from windlass.app.planning import Wanted
from windlass.app.plans import load_plan
from windlass.app.session import Session
from windlass.core.farm.rows import Task, make_row
from windlass.core.farm.values import COMMANDS, FarmNeeds
from windlass.core.record import RunRecord, RunState

__all__ = ["project", "quick"]
pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)


def start(session: Session, project: Path, commands: list[str], pilots: int | None = None) -> RunRecord:
    rows = [make_row(Task(command=one)) for one in commands]
    wanted = Wanted(project=project, site="here")
    return start_farm(session, wanted, rows, kind=COMMANDS, needs=FarmNeeds(), pilots=pilots)


def test_a_farm_that_grew_gets_the_places_that_it_misses(session: Session, project: Path) -> None:
    """While its only pilot runs one task at a time, and waits for nothing."""
    record = start(session, project, ["until test -e go; do sleep 0.1; done"])
    wait_for(session, record, lambda status: status.running == 1)

    add_tasks(session, record, pack_rows([make_row(Task(command="sleep 0.1"))] * 40), COMMANDS)
    (more,) = ensure_pilots(session, record)

    assert load_plan(session, more).cpus_per_task == 3  # of four
    assert ensure_pilots(session, record) == []
    wait(session, more)
    Path(record.folder, "code", "go").touch()
    assert wait(session, record).state is RunState.DONE
    assert load_status(session, record).done == 41


def test_after_its_pilots_left_it_gets_what_the_machine_has(session: Session, project: Path) -> None:
    record = start(session, project, ["true"])
    wait(session, record)
    add_tasks(session, record, pack_rows([make_row(Task(command="true"))] * 40), COMMANDS)

    (more,) = ensure_pilots(session, record)

    assert load_plan(session, record).cpus_per_task == 1
    assert load_plan(session, more).cpus_per_task == 4
    assert more.size is not None
    assert more.size.cores == 4
    assert wait(session, more).state is RunState.DONE


def test_for_one_task_that_is_left_one_place_is_sent(session: Session, project: Path) -> None:
    record = start(session, project, ["true"] * 3 + ["test -e go || sleep 300"])
    wait_for(session, record, lambda status: status.done == 3)
    cancel_farm(session, record)
    wait(session, record)

    Path(record.folder, "code", "go").touch()
    (more,) = resume_farm(session, record)

    assert load_plan(session, more).cpus_per_task == 1
    assert wait(session, more).state is RunState.DONE


def test_what_the_user_said_of_pilots_holds_later_too(session: Session, project: Path) -> None:
    record = start(session, project, ["until test -e go; do sleep 0.1; done"], pilots=1)
    wait_for(session, record, lambda status: status.running == 1)
    add_tasks(session, record, pack_rows([make_row(Task(command="true"))] * 40), COMMANDS)

    assert ensure_pilots(session, record) == []

    (more,) = ensure_pilots(session, record, most=2)
    assert [one.run_id for one in list_pilots(session, record)] == [record.run_id, more.run_id]
    Path(record.folder, "code", "go").touch()
    wait(session, more)
    wait(session, record)


def test_a_refusal_is_told_to_who_goes_on_without_them(session: Session, project: Path) -> None:
    record = start(session, project, ["true"])
    wait(session, record)
    add_tasks(session, record, pack_rows([make_row(Task(command="true"))]), COMMANDS)
    Path(record.folder, "plan.json").unlink()
    told: list[str] = []

    started = ensure_pilots_or_tell(session, record, why="1 of 2 jobs is left", tell=told.append)

    assert started is None
    assert len(told) == 1
    assert told[0].startswith("1 of 2 jobs is left, and no other can be sent: ")
    assert len(list_pilots(session, record)) == 1
