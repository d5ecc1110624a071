"""What is advised about a farm fits who set its tasks: each command is one that is taken."""

from dataclasses import replace

import pytest

from tests.builders import RECORD
from windlass.app.record_words import format_why
from windlass.core.ending.symptoms import Symptoms
from windlass.core.farm.kinds import TaskKind, list_commands_of_failed, tell_why_closed
from windlass.core.record import RunState
from windlass.diagnoses import diagnose

PILOT = replace(RECORD, run_id="pilot-2", farm="lead-1", state=RunState.CANCELLED)


@pytest.mark.parametrize(
    ("kind", "again"),
    [
        (None, "windlass farm resume lead-1"),
        (TaskKind.COMMANDS, "windlass farm resume lead-1"),
        (TaskKind.TRIALS, "windlass sweep resume lead-1"),
        (TaskKind.CALLS, 'in Python: windlass.Executor.attach("lead-1")'),
    ],
)
def test_a_cancelled_pilot_goes_on_with_all_of_its_farm(kind: TaskKind | None, again: str) -> None:
    (found,) = diagnose(Symptoms(record=replace(PILOT, task_kind=kind)))

    assert (found.code, found.hint) == ("D103", again)


def test_a_run_goes_on_by_itself() -> None:
    assert RECORD.again == f"windlass resume {RECORD.run_id}"


def test_a_pilot_whose_time_is_short_names_the_farm() -> None:
    short = replace(PILOT, state=RunState.RUNNING, links=1, link=1, links_needed=2)

    assert "windlass farm resume lead-1" in format_why(short)


def test_a_closed_farm_is_opened_before_its_tasks_are_tried_again() -> None:
    assert replace(PILOT, state=RunState.DONE).command_of_failed == "windlass farm retry lead-1"
    assert PILOT.command_of_failed == "windlass farm resume lead-1, then windlass farm retry lead-1"


def test_calls_and_trials_are_not_tried_again_as_commands_are() -> None:
    told = {kind: list_commands_of_failed(kind, "f", is_closed=True) for kind in (TaskKind.CALLS, TaskKind.TRIALS)}

    assert not any("farm retry" in line for lines in told.values() for line in lines)
    assert 'windlass.Executor.attach("f")' in told[TaskKind.CALLS][0]
    assert told[TaskKind.TRIALS] == ("windlass sweep show f",)


def test_nobody_cancelled_an_executor_that_has_ended() -> None:
    assert "Executor has ended" in tell_why_closed(TaskKind.CALLS)
    assert tell_why_closed(TaskKind.COMMANDS) == "it was cancelled"
