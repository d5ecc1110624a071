"""Which of a trial's tries counts. By their numbers first: clocks of nodes differ by seconds, and more."""

from windlass.core.farm.values import RunningTask, TaskResult, TaskState

_SAME_S = 0.2  # a try is told twice, with its start rounded


def is_newer(one: TaskResult, known: TaskResult | None) -> bool:
    """A success counts whatever came before it: tries asked for by `windlass farm retry` are counted from 1 again."""
    return known is None or _make_key(one) >= _make_key(known)


def runs_again(running: RunningTask, ended: TaskResult | None) -> bool:
    """What runs is a later try than the one that ended."""
    return ended is None or running.attempt > ended.attempts or running.start > ended.start + _SAME_S


def _make_key(one: TaskResult) -> tuple[bool, int, float]:
    return (one.state is TaskState.DONE, one.attempts, one.start + one.seconds)
