"""Lines over an axis as one SVG file: the picture of a metric where no script runs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from windlass.core.drawing.marks import THEMES, Theme, choose_style, make_mark
from windlass.core.drawing.scales import Scale, choose_ticks, choose_time_ticks, format_tick, make_scale
from windlass.core.drawing.svg import make_element, make_path, make_text

_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 12, 36
_KEY_HEIGHT, _KEYS_A_ROW, _MOST_KEYS = 20, 3, 24
_MARKS_APART = 90
_FEW = 6  # lines; more are drawn thinner
_LETTER = 7  # about as wide as a digit is
_FONT = "system-ui, sans-serif"


@dataclass(frozen=True, kw_only=True)
class Curve:
    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]  # None: a gap


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The one below. clock: how a moment is written, where it is time; offset_s: of that clock to UTC."""

    title: str
    clock: Callable[[float], str] | None = None
    offset_s: float = 0.0


def draw_lines(title: str, summary: str, curves: Sequence[Curve], axis: Axis, *, theme: str = "light") -> str:
    """A whole file, with title and description for whoever does not see it."""
    look = THEMES[theme]
    keys = _draw_keys(curves, look) if len(curves) > 1 else []
    rows = -(-min(len(curves), _MOST_KEYS) // _KEYS_A_ROW) if keys else 0
    height = _HEIGHT + rows * _KEY_HEIGHT
    x, y = _fit(curves)
    return make_element(
        "svg",
        make_element("title", make_text(title)),
        make_element("desc", make_text(summary)),
        make_element("rect", width=_WIDTH, height=height, fill=look.ground),
        *_draw_axes(x, y, axis, look),
        *(part for number, curve in enumerate(curves) for part in _draw_curve(curve, number, (x, y), look, curves)),
        *keys,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH,
        height=height,
        font_family=_FONT,
        font_size=12,
        role="img",
    )


def _fit(curves: Sequence[Curve]) -> tuple[Scale, Scale]:
    """One moment or step alone stands in the middle of two."""
    xs = [x for curve in curves for x in curve.xs if math.isfinite(x)] or [0.0, 1.0]
    xs = xs if max(xs) > min(xs) else [xs[0] - 1, xs[0] + 1]
    ys = [y for curve in curves for y in curve.ys if y is not None and math.isfinite(y)] or [0.0, 1.0]
    return (
        make_scale(min(xs), max(xs), begin=_LEFT, end=_WIDTH - _RIGHT),
        make_scale(min(ys), max(ys), begin=_HEIGHT - _BOTTOM, end=_TOP),
    )


def _draw_axes(x: Scale, y: Scale, axis: Axis, look: Theme) -> Iterator[str]:
    for tick in choose_ticks(y.low, y.high, 5):
        at = y.place(tick)
        yield make_element("path", d=f"M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}", stroke=look.grid)
        yield _write(format_tick(tick), _LEFT - 6, at + 4, look, anchor="end")
    ticks = choose_ticks(x.low, x.high, 7)
    if axis.clock is not None:
        ticks = choose_time_ticks(x.low, x.high, 7, offset_s=axis.offset_s)
    for tick in ticks:
        at = x.place(tick)
        yield make_element("path", d=f"M{at:.1f} {_TOP}V{_HEIGHT - _BOTTOM}", stroke=look.grid)
        words = axis.clock(tick) if axis.clock is not None else format_tick(tick)
        yield _write_below(words, at, look)
    yield _write(axis.title, _WIDTH - _RIGHT, _HEIGHT - 5, look, anchor="end")


def _write_below(words: str, at: float, look: Theme) -> str:
    """In the middle below its tick, or where it would be cut off at the end of the picture."""
    down = _HEIGHT - _BOTTOM + 15
    if at + len(words) * _LETTER / 2 > _WIDTH:
        return _write(words, _WIDTH - 2, down, look, anchor="end")
    return _write(words, at, down, look, anchor="middle")


def _draw_curve(
    curve: Curve, number: int, scales: tuple[Scale, Scale], look: Theme, curves: Sequence[Curve]
) -> Iterator[str]:
    x, y = scales
    style = choose_style(number)
    points = [
        (x.place(at), y.place(value) if value is not None else None)
        for at, value in zip(curve.xs, curve.ys, strict=True)
    ]
    colour = look.lines[style.colour]
    line = {
        "stroke": colour,
        "fill": "none",
        "stroke_width": 1.0 if len(curves) > _FEW else 1.5,
        "stroke_linejoin": "round",
    }
    yield make_element("path", d=make_path(points), stroke_dasharray=style.dash or None, **line)
    marked = [*_list_lone(points), *(_space(points, number, len(curves)) if len(curves) > 1 else ())]
    if marked:
        marks = "".join(make_mark(style.mark, right, down) for right, down in dict.fromkeys(marked))
        yield make_element("path", d=marks, stroke=colour, fill=look.ground, stroke_width=1.5)


def _list_lone(points: Sequence[tuple[float, float | None]]) -> Iterator[tuple[float, float]]:
    """Between gaps, where no line leads to them, and the only two of a line."""
    for number, (right, down) in enumerate(points):
        beside = [one for _, one in (*points[max(0, number - 1) : number], *points[number + 1 : number + 2])]
        if down is not None and (len(points) < 3 or all(one is None for one in beside)):
            yield right, down


def _space(points: Sequence[tuple[float, float | None]], number: int, count: int) -> Iterator[tuple[float, float]]:
    """Some of them, apart from each other and from those of the other lines."""
    following = _LEFT + _MARKS_APART * (number + 0.5) / count
    for right, down in points:
        if down is not None and right >= following:
            yield right, down
            following = right + _MARKS_APART


def _draw_keys(curves: Sequence[Curve], look: Theme) -> list[str]:
    width = (_WIDTH - _LEFT) / _KEYS_A_ROW
    drawn = []
    for number, curve in enumerate(curves[:_MOST_KEYS]):
        left, down = _LEFT + width * (number % _KEYS_A_ROW), _HEIGHT + _KEY_HEIGHT * (number // _KEYS_A_ROW) + 8
        style = choose_style(number)
        colour = look.lines[style.colour]
        line = {"stroke": colour, "stroke_width": 1.5}
        drawn.append(make_element("path", d=f"M{left:.0f} {down}h28", stroke_dasharray=style.dash or None, **line))
        drawn.append(make_element("path", d=make_mark(style.mark, left + 14, down), fill=look.ground, **line))
        drawn.append(_write(_shorten(curve.name), left + 34, down + 4, look))
    return drawn


def _write(words: str, x: float, y: float, look: Theme, *, anchor: str = "start") -> str:
    return make_element("text", make_text(words), x=float(x), y=float(y), fill=look.text, text_anchor=anchor)


def _shorten(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:12]}…{name[-13:]}"
