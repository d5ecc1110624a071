"""Which trials that run are hopeless, by the median of those before them: the rule of Optuna's MedianPruner.

Unlike there, trials that ended in infinity or NaN are others too: the worst.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.wish import Goal

_FIRST = 5  # trials that come to their end before any is judged
Steps = Mapping[float, float]  # by step, what a trial told


def find_hopeless(trials: Iterable[Trial], curves: Mapping[int, Steps], goal: Goal) -> list[int]:
    """Each is judged at the last step that others have told too. curves: by the number of the trial."""
    trials = [one for one in trials if one.number in curves]
    ended = [_read_end(curves[one.number], one, goal) for one in trials if one.has_ended]
    running = [one.number for one in trials if one.state is TrialState.RUNNING]
    if len(ended) < _FIRST:
        return []
    medians: dict[float, float | None] = {}

    def find_others(told: Steps) -> float | None:
        for step in sorted(filter(math.isfinite, told), reverse=True):
            if step not in medians:
                medians[step] = _find_median([one[step] for one in ended if step in one])
            if medians[step] is not None:
                return medians[step]
        return None

    return [
        number
        for number in running
        if _is_worse(_count_infinity(curves[number], goal), find_others(curves[number]), goal)
    ]


def _read_end(told: Steps, trial: Trial, goal: Goal) -> Steps:
    """Of one that is lost also steps that were no numbers count as the worst; of others they are passed over."""
    told = _count_infinity(told, goal)
    return {step: _worst(goal) if trial.is_lost and math.isnan(one) else one for step, one in told.items()}


def _count_infinity(told: Steps, goal: Goal) -> Steps:
    """Whatever its sign it is the worst."""
    return {step: _worst(goal) if math.isinf(one) else one for step, one in told.items()}


def _worst(goal: Goal) -> float:
    return math.inf if goal is Goal.MIN else -math.inf


def _find_median(values: Sequence[float]) -> float | None:
    known = [one for one in values if not math.isnan(one)]
    return median(known) if known else None


def _is_worse(told: Steps, others: float | None, goal: Goal) -> bool:
    """Its best so far. Who has told no number at all is worse than anybody."""
    known = [one for one in told.values() if not math.isnan(one)]
    if others is None or not known:
        return others is not None
    return min(known) > others if goal is Goal.MIN else max(known) < others
