"""Which try of a trial counts, where the clocks of nodes differ."""

import random
from dataclasses import replace

from windlass.core.farm.values import RunningTask, TaskResult, TaskState
from windlass.core.sweep.attempts import is_newer, runs_again

FIRST = TaskResult(
    task=3, state=TaskState.TRIED, code=1, attempts=1, start=1000.0, seconds=5, cpu_s=1, memory_mb=1, worker="ahead"
)


def choose(*tries: TaskResult) -> TaskResult:
    found = None
    for one in tries:
        found = one if is_newer(one, found) else found
    assert found is not None
    return found


def test_a_later_try_counts_also_from_a_node_whose_clock_is_behind() -> None:
    second = replace(FIRST, state=TaskState.FAILED, attempts=2, start=400.0, worker="behind")

    assert choose(FIRST, second) is second
    assert choose(second, FIRST) is second


def test_a_success_counts_also_when_tries_were_counted_anew() -> None:
    tries = [
        FIRST,
        replace(FIRST, state=TaskState.FAILED, attempts=2, start=1010.0),
        replace(FIRST, state=TaskState.DONE, code=0, start=9000.0),
    ]
    for seed in range(6):
        random.Random(seed).shuffle(tries)
        assert choose(*tries).state is TaskState.DONE


def test_what_runs_is_later_by_its_number_or_by_its_start() -> None:
    running = RunningTask(task=3, attempt=1, start=1000.04, worker="ahead", node=None)

    assert not runs_again(running, FIRST)  # its end is known already
    assert runs_again(running, None)
    assert runs_again(replace(running, attempt=2, start=400.0), FIRST)
    assert runs_again(replace(running, start=9000.0), replace(FIRST, attempts=2))
