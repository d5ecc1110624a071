"""How many tasks a worker takes at once: so many that claims cost nothing, and so few that nobody is left waiting."""

from typing import Optional

_LEAST_S = 1.0  # of work: a claim is some milliseconds, in which no other can be made,
_TURN_S = 0.02  # so that everyone has a turn
_MOST_S = 1800.0  # of work: each claim is a file, and whoever comes later gets some of what waits here
_SHARE = 2  # at most half of one's part of what is left, so that the last claims are small and all end together
_AHEAD_S = 1.0  # tasks that are to wait here, so that no slot is empty while a claim is made


def choose_count(*, free: int, workers: int, idle: int, rate: "Optional[float]", left_s: "Optional[float]") -> int:
    """idle: slots without a task; rate: tasks a second of this worker, None before it has run any; left_s: until this
    job ends, None: no end. What can start at once is taken in any case."""
    at_once = max(1, idle)
    if rate is None:
        return min(at_once, free)
    fair = -(-free // (_SHARE * max(workers, 1)))
    wanted = max(min(fair, int(rate * _MOST_S)), int(rate * max(_LEAST_S, workers * _TURN_S)))
    if left_s is not None:
        wanted = min(wanted, int(rate * max(left_s, 0.0)))
    return min(max(at_once, wanted), free)


def choose_ahead(rate: "Optional[float]") -> int:
    """When no more than so many wait here, more are claimed. Of long tasks none waits: another may be free for it."""
    return int((rate or 0.0) * _AHEAD_S)


def choose_pause_s(workers: int) -> float:
    """Between two looks of one who has nothing to do: all together look some hundred times a second at most."""
    return min(2.0, max(0.2, workers * 0.01))
