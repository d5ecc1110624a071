"""Long series made short for drawing, without losing their peaks: as bars, as lines with gaps, as points.

    bars = thin_to_bars(gpu.use, begin=gauges.begin, end=gauges.end, count=600)

The axis is cut into `count` equal parts, one a pixel or so, and each part is told by a few of its values.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from windlass.core.gauges.series import Series

Points = tuple[list[float], list[float | None]]  # along the axis, and the values; None: nothing is drawn there
_Value = TypeVar("_Value")
_LARGEST = 1e30  # beyond it no axis has room beside anything else, and the span of two such values is infinite


@dataclass(frozen=True, kw_only=True)
class Bar:
    begin: float
    end: float
    least: float
    most: float
    mean: float


def thin_to_bars(series: Series, *, begin: float, end: float, count: int) -> tuple[Bar, ...]:
    """One for each part that holds values, in the order of time; a gap stays a gap."""
    width = (end - begin) / count if end > begin else 1.0
    parts = _split(_list_known(series, begin, end), begin, width, count)
    return tuple(
        Bar(
            begin=begin + place * width,
            end=begin + (place + 1) * width,
            least=min(values),
            most=max(values),
            mean=sum(values) / len(values),
        )
        for place, values in sorted(parts.items())
    )


def thin_to_peaks(series: Series, *, begin: float, end: float, count: int) -> Points:
    """At most two points for each part, the least and the most, in their order.

    Parts are the same for all series of a chart, so that a page can lay them side by side. None between two parts where
    nothing was measured: the job did not run.
    """
    within = [(time, value) for time, value in zip(series.times, series.values, strict=True) if begin <= time <= end]
    if len(within) <= 2 * count:
        return [time for time, _ in within], [value for _, value in within]
    width = (end - begin) / count
    parts = _split(_list_known(series, begin, end), begin, width, count)
    xs = [begin + (place + quarter) * width for place in range(count) for quarter in (0.25, 0.75)]
    ys = [value for place in range(count) for value in _pick_peaks(parts.get(place))]
    return xs, ys


def thin_to_points(xs: Sequence[float], ys: Sequence[float], count: int) -> Points:
    """At most four points for each part: first, least, most and last, in their order.

    None where a value cannot be drawn: a gap is left, and the peaks on its sides stay. Steps that begin anew after a
    resume are put in order first.
    """
    points = sorted(zip(xs, ys, strict=True), key=lambda point: point[0])
    if len(points) > 4 * count:
        begin, end = points[0][0], points[-1][0]
        parts = _split(((x, (x, y)) for x, y in points), begin, (end - begin) / count or 1.0, count)
        points = [point for _, part in sorted(parts.items()) for point in _pick_corners(part)]
    return [x for x, _ in points], [y if is_drawable(y) else None for _, y in points]


def is_drawable(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= _LARGEST


def _list_known(series: Series, begin: float, end: float) -> Iterable[tuple[float, float]]:
    pairs = zip(series.times, series.values, strict=True)
    return ((time, value) for time, value in pairs if value is not None and begin <= time <= end)


def _split(pairs: Iterable[tuple[float, _Value]], begin: float, width: float, count: int) -> dict[int, list[_Value]]:
    """What lies in each part of the axis; the last part holds its end."""
    parts: dict[int, list[_Value]] = {}
    for x, value in pairs:
        parts.setdefault(min(int((x - begin) / width), count - 1), []).append(value)
    return parts


def _pick_peaks(values: Sequence[float] | None) -> list[float | None]:
    if not values:
        return [None, None]
    least, most = min(values), max(values)
    return [least, most] if values.index(least) <= values.index(most) else [most, least]


def _pick_corners(part: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    known = [point for point in part if is_drawable(point[1])]
    wanted = {part[0], part[-1]}
    if known:
        wanted |= {min(known, key=lambda point: point[1]), max(known, key=lambda point: point[1])}
    if len(known) < len(part):
        wanted.add(next(point for point in part if not is_drawable(point[1])))
    return sorted(wanted, key=lambda point: point[0])
