"""Bars and curves out of letters."""

import math
from collections.abc import Sequence
from itertools import pairwise

_STEPS = "▁▂▃▄▅▆▇█"


def draw_bar(share: float, width: int) -> str:
    """How much of the whole; something that is not nothing has at least one block."""
    share = min(1.0, max(0.0, share))
    full = round(share * width) or (1 if share > 0 else 0)
    return "█" * full + "░" * (width - full)


def draw_levels(shares: Sequence[float | None]) -> str:
    """A letter for each, as high as its share of the whole; what is not known is a question mark."""
    return "".join("?" if share is None else _STEPS[_find_step(share, 0.0, 1.0)] for share in shares)


def draw_curve(values: Sequence[float], width: int) -> str:
    """The whole of it in so many letters, the mean of each part; what is no number is an x."""
    if not values or width < 1:
        return ""
    parts = _split(values, min(width, len(values)))
    means = [_mean(part) for part in parts]
    known = [mean for mean in means if mean is not None]
    if not known:
        return "x" * len(means)
    least, most = min(known), max(known)
    return "".join("x" if mean is None else _STEPS[_find_step(mean, least, most)] for mean in means)


def _split(values: Sequence[float], count: int) -> list[Sequence[float]]:
    edges = [len(values) * part // count for part in range(count + 1)]
    return [values[begin:end] for begin, end in pairwise(edges)]


def _mean(part: Sequence[float]) -> float | None:
    """None where one of them is no number: a training that broke down is to be seen."""
    return sum(part) / len(part) if all(math.isfinite(value) for value in part) else None


def _find_step(value: float, least: float, most: float) -> int:
    share = min(1.0, max(0.0, (value - least) / (most - least))) if most > least else 0.0
    return round(share * (len(_STEPS) - 1))
