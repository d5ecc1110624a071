"""Failures and pace, as results come."""

from dataclasses import replace

from tests.core.farm.test_results import FIRST, LAST
from windlass.core.farm.overview import Overview
from windlass.core.farm.values import FarmStatus, TaskState

GOOD = replace(LAST, state=TaskState.DONE, code=0, attempts=3)
STATUS = FarmStatus(farm_id="f", total=9, waiting=4, running=1, done=4, failed=0, pilots=(), is_closed=False)


def take(*results: object) -> Overview:
    overview = Overview()
    for one in results:
        overview.take([one])  # type: ignore[list-item]
    return overview


def test_a_task_that_is_done_has_not_failed_whatever_comes_later() -> None:
    assert take(LAST, GOOD).failures == ()
    assert take(GOOD, LAST).failures == ()


def test_the_last_of_its_failures_counts() -> None:
    again = replace(LAST, entry=9, last_line="the third try")

    for results in ((LAST, again), (again, LAST)):
        (group,) = take(FIRST, *results).failures
        assert (group.words, group.tasks) == ("the third try", (3,))


def test_one_that_is_tried_again_has_not_failed() -> None:
    assert take(FIRST).failures == ()


def test_the_pace_is_that_of_what_ended_last() -> None:
    results = [replace(GOOD, task=number, start=float(100 * number), seconds=10.0) for number in range(3)]

    pace = take(*results).find_pace(STATUS, 310.0)

    assert pace is not None
    assert pace.rate == 3 / 300
    assert take().find_pace(STATUS, 310.0) is None
