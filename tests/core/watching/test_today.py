"""Today: runs where they belong, and what ended since one last looked."""

from dataclasses import replace

from tests.builders import RECORD
from windlass.core.record import RunRecord, RunState
from windlass.core.watching.looks import Look
from windlass.core.watching.today import Visits, make_today, visit


def run(run_id: str, state: RunState, **values: object) -> RunRecord:
    return replace(RECORD, run_id=run_id, state=state, **values)  # type: ignore[arg-type]


def test_runs_are_sorted_into_running_waiting_and_ended() -> None:
    live = [
        run("late", RunState.WAITING, expected_start=900.0),
        run("soon", RunState.WAITING, expected_start=500.0),
        run("unknown", RunState.SUBMITTING),
        run("old", RunState.RUNNING, started=10.0),
        run("new", RunState.RUNNING, started=20.0),
    ]
    runs = [run("ended", RunState.DONE, ended=300.0), run("before", RunState.DONE, ended=50.0), *live]

    today = make_today(runs, alarms=(), looks={"alpha": Look(seen=1.0)}, visits=Visits(before=100.0), now=400.0)

    assert [one.run_id for one in today.running] == ["new", "old"]
    assert [one.run_id for one in today.waiting] == ["soon", "late", "unknown"]
    assert [one.run_id for one in today.ended] == ["ended"]
    assert [(one.name, one.live) for one in today.sites] == [("alpha", 5)]
    assert today.troubled == ()


def test_a_site_that_does_not_answer_is_named() -> None:
    today = make_today([], alarms=(), looks={"alpha": Look(problem="no route")}, visits=Visits(), now=1.0)

    assert [one.name for one in today.troubled] == ["alpha"]


def test_a_page_that_stays_open_is_one_visit() -> None:
    visits = visit(Visits(last=1000.0, before=500.0), 5000.0)
    again = visit(visit(visits, 5300.0), 5600.0)

    assert visits == Visits(last=5000.0, before=1000.0)
    assert again.before == 1000.0
    assert visit(again, 9999.0).before == 5600.0


def test_who_never_looked_before_is_told_so_until_the_next_visit() -> None:
    first = Visits(last=1000.0, before=0.0, is_first=True)

    assert visit(first, 1100.0).is_first
    assert visit(first, 5000.0) == Visits(last=5000.0, before=1000.0)
