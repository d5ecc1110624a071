"""Which of several attempts counts, whatever the clocks of nodes say."""

from dataclasses import replace

from windlass.core.farm.results import fold_results
from windlass.core.farm.values import TaskResult, TaskState

FIRST = TaskResult(
    task=3,
    state=TaskState.TRIED,
    code=1,
    attempts=1,
    start=9000.0,  # by a clock that is hours ahead
    seconds=1.0,
    cpu_s=0.0,
    memory_mb=0.0,
    worker="ahead.001.0001.01.0000.01",
    entry=4,
    last_line="the first try",
)
LAST = TaskResult(
    task=3,
    state=TaskState.FAILED,
    code=7,
    attempts=2,
    start=100.0,
    seconds=1.0,
    cpu_s=0.0,
    memory_mb=0.0,
    worker="right.001.0001.01.0000.01",
    entry=6,
    last_line="the second try",
)


def test_the_last_attempt_counts_although_its_clock_is_behind() -> None:
    for results in ([FIRST, LAST], [LAST, FIRST]):
        (outcome,) = fold_results(results).values()
        assert (outcome.last, outcome.tries) == (LAST, 2)


def test_tries_of_one_worker_are_in_their_order() -> None:
    again = replace(FIRST, attempts=2, start=8000.0, state=TaskState.FAILED)

    (outcome,) = fold_results([again, FIRST]).values()

    assert outcome.last is again


def test_a_later_life_counts_although_its_tries_begin_anew() -> None:
    retried = replace(FIRST, entry=9, start=50.0)

    (outcome,) = fold_results([retried, FIRST, LAST]).values()

    assert outcome.last is retried
