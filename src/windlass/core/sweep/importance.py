"""How much each name of a sweep matters, without Optuna: the share of the ranks' spread between groups of its values.

Trials are ranked by their number; each name's values are put into groups (words and few numbers as they are, many
numbers into at most six of equal size); what the groups' means differ, as a part of all that ranks differ, is its share
(the correlation ratio), less what groups of that number differ by chance. It sees one name at a time: what only two of
them do together it does not see.
"""

from collections.abc import Sequence

from windlass.core.sweep.trials import Trial
from windlass.core.sweep.values import Value

NAME = "correlation ratio of ranks"
LEAST = 8  # trials; of fewer nothing can be said
_MOST_GROUPS = 6


def measure_importance(trials: Sequence[Trial]) -> dict[str, float]:
    """Of each name, the greatest first; together at most 1. Empty: too few trials, or all the same."""
    ranked = sorted((one for one in trials if one.is_ranked), key=lambda one: one.metric or 0.0)
    names = list(ranked[0].values) if ranked else []
    varied = [name for name in names if len({repr(one.values.get(name)) for one in ranked}) > 1]
    if len(ranked) < LEAST or not varied or ranked[0].metric == ranked[-1].metric:
        return {}
    ranks = _share_ranks([one.metric or 0.0 for one in ranked])
    found = {name: _find_share([one.values[name] for one in ranked], ranks) for name in varied}
    total = max(1.0, sum(found.values()))
    return dict(sorted(((name, share / total) for name, share in found.items()), key=lambda pair: -pair[1]))


def _share_ranks(ordered: Sequence[float]) -> list[float]:
    """Equal numbers have equal ranks."""
    ranks, first = [0.0] * len(ordered), 0
    for at in range(1, len(ordered) + 1):
        if at == len(ordered) or ordered[at] != ordered[first]:
            for place in range(first, at):
                ranks[place] = (first + at - 1) / 2
            first = at
    return ranks


def _find_share(values: Sequence[Value], ranks: Sequence[float]) -> float:
    groups: dict[object, list[float]] = {}
    for label, own in zip(_label(values), ranks, strict=True):
        groups.setdefault(label, []).append(own)
    mean, count = sum(ranks) / len(ranks), len(ranks)
    whole = sum((one - mean) ** 2 for one in ranks)
    between = sum(len(own) * (sum(own) / len(own) - mean) ** 2 for own in groups.values())
    by_chance = (len(groups) - 1) / (count - 1)
    share = between / whole if whole else 0.0
    return max(0.0, (share - by_chance) / (1 - by_chance)) if by_chance < 1 else 0.0


def _label(values: Sequence[Value]) -> list[object]:
    distinct = {repr(one) for one in values}
    if len(distinct) <= _MOST_GROUPS or any(isinstance(one, str | bool) for one in values):
        return [repr(one) for one in values]
    numbers = [float(one) for one in values]
    order = sorted(range(len(numbers)), key=lambda at: numbers[at])
    labels: list[object] = [0] * len(numbers)
    groups = max(2, min(_MOST_GROUPS, len(numbers) // 4))
    for place, at in enumerate(order):
        labels[at] = place * groups // len(numbers)
    return labels
