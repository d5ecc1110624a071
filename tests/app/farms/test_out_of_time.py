"""Farms with more work than the time of their pilots."""

from pathlib import Path

import pytest

from tests.app.farms.test_farms import project, quick
from windlass.app.farms.asking import list_pilots
from windlass.app.farms.following import follow_farm
from windlass.app.farms.starting import start_farm
from windlass.app.planning import Wanted
from windlass.app.session import Session
from windlass.core.farm.rows import Task, make_row
from windlass.core.farm.values import COMMANDS, FarmNeeds
from windlass.core.record import RunRecord, RunState

__all__ = ["project", "quick"]
pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)


def start(session: Session, project: Path, command: str, *, count: int) -> RunRecord:
    """Its pilot has half a minute for tasks, and runs one at a time."""
    with (project / "windlass.toml").open("a") as file:
        file.write('\n[farm]\npilot_time = "1m"\n')
    rows = [make_row(Task(command=command))] * count
    return start_farm(session, Wanted(project=project, site="here"), rows, kind=COMMANDS, needs=FarmNeeds(cpus=4))


def test_who_follows_a_farm_to_its_end_sends_pilots_for_the_rest(session: Session, project: Path) -> None:
    record = start(session, project, "sleep 16", count=2)
    told: list[str] = []

    *_, waited = follow_farm(session, record, tell=told.append)
    (first,) = list_pilots(session, record)  # who only waits sends nothing
    *_, seen = follow_farm(session, record, tell=told.append, sends=True)

    assert (waited.is_left_alone, first.state) == (True, RunState.OUT_OF_TIME)
    assert (seen.status.done, seen.status.is_over) == (2, True)
    _, second = list_pilots(session, record)
    assert told == [f"the time of its pilots is over; one more: run {second.run_id}"]


def test_pilots_in_whose_time_no_task_came_to_its_end_are_not_sent_for_ever(session: Session, project: Path) -> None:
    record = start(session, project, "sleep 300", count=1)

    *_, seen = follow_farm(session, record, tell=print, sends=True)

    assert seen.is_left_alone
    assert len(list_pilots(session, record)) == 1
