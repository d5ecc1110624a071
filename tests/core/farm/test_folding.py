"""A farm is one row of a list, whatever its pilots do."""

from dataclasses import replace

from tests.core.watching.test_today import run
from windlass.app.record_words import format_tasks
from windlass.core.farm.folding import fold_pilots
from windlass.core.record import RunState

LEAD = run("lead", RunState.DONE, farm="lead", progress_done=40.0, progress_of=100.0, progress_unit="task")
PILOT = replace(LEAD, run_id="pilot", state=RunState.RUNNING, progress_done=90.0)
OTHER = run("other", RunState.RUNNING)


def test_a_farm_runs_as_long_as_one_of_its_pilots_and_has_come_as_far_as_the_furthest_knows() -> None:
    lead, other = fold_pilots([LEAD, PILOT, OTHER])

    assert (lead.run_id, lead.state, lead.progress_done) == ("lead", RunState.RUNNING, 90.0)
    assert other == OTHER


def test_one_that_waits_or_has_ended_is_shown_so() -> None:
    waits = fold_pilots([LEAD, replace(PILOT, state=RunState.WAITING)])
    ended = fold_pilots([LEAD, replace(PILOT, state=RunState.FAILED)])

    assert [one.state for one in (*waits, *ended)] == [RunState.WAITING, RunState.DONE]


def test_a_pilot_without_its_leading_run_stays() -> None:
    assert fold_pilots([PILOT, OTHER]) == (PILOT, OTHER)


def test_stopped_tasks_are_told_beside_those_that_failed() -> None:
    (stopped,) = fold_pilots([LEAD, replace(PILOT, tasks_failed=0, tasks_stopped=2)])

    assert format_tasks(stopped) == "2 of 100 tasks stopped"
    assert format_tasks(replace(stopped, tasks_failed=1)) == "1 of 100 tasks failed, 2 stopped"
    assert format_tasks(LEAD) == ""
