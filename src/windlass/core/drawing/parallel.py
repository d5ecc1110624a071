"""Parallel coordinates as one SVG: an upright axis for each name, a line for each trial across all of them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windlass.core.drawing.marks import BOTH, THEMES, Theme
from windlass.core.drawing.scales import choose_ticks, format_tick
from windlass.core.drawing.svg import make_element, make_path, make_text

_WIDTH, _HEIGHT = 720, 320
_SIDE, _TOP, _BOTTOM = 64, 34, 14
_LEAST_GAP = 110  # between two axes; more of them make it wider
_TICKS = 5
_FONT = "system-ui, sans-serif"
_TOUCH = 7  # how near the pointer must come to a line
_MOST_WORDS = 24  # at an axis


@dataclass(frozen=True, kw_only=True)
class Upright:
    """One axis: numbers from low to high, or words in their order."""

    name: str
    words: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    is_log: bool = False


@dataclass(frozen=True, kw_only=True)
class Strand:
    """One line, which may end before the last axis. places: on each axis from 0 (below) to 1; None: nothing there.

    warmth: 1 is the best.
    """

    name: str
    places: tuple[float | None, ...]
    warmth: float | None = None
    is_best: bool = False
    mark: str | None = None  # by which other parts of a page find it
    href: str | None = None  # where it leads


def place(axis: Upright, value: bool | int | float | str) -> float | None:
    """Where a value lies on its axis; None where it is not on it."""
    if axis.words:
        word = _write_word(value)
        return (axis.words.index(word) + 0.5) / len(axis.words) if word in axis.words else None
    if isinstance(value, str) or not math.isfinite(value) or (axis.is_log and value <= 0):
        return None
    low, high, at = (math.log(one) if axis.is_log else float(one) for one in (axis.low, axis.high, value))
    return (at - low) / (high - low) if high > low else 0.5


def make_upright(
    name: str, values: Sequence[bool | int | float | str], *, is_log: bool = False, is_list: bool = False
) -> Upright:
    """By the values themselves: words where one of them is no number, or where only these are possible (is_list)."""
    if is_list:
        return Upright(name=name, words=tuple(dict.fromkeys(_write_word(one) for one in sorted(values, key=_order))))
    numbers = [float(one) for one in values if not isinstance(one, bool | str) and math.isfinite(one)]
    if len(numbers) < len(values) or not numbers:
        return Upright(name=name, words=tuple(sorted({_write_word(one) for one in values})))
    return Upright(name=name, low=min(numbers), high=max(numbers), is_log=is_log and min(numbers) > 0)


def draw_parallel(
    title: str, summary: str, axes: Sequence[Upright], strands: Sequence[Strand], *, theme: str = "light"
) -> str:
    """A whole file, with title and description for whoever does not see it."""
    inside, width = _draw(axes, strands, THEMES[theme])
    return make_element(
        "svg",
        make_element("title", make_text(title)),
        make_element("desc", make_text(summary)),
        inside,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {_HEIGHT}",
        width=width,
        height=_HEIGHT,
        font_family=_FONT,
        font_size=12,
        role="img",
    )


def draw_parallel_part(title: str, axes: Sequence[Upright], strands: Sequence[Strand]) -> str:
    """Of a page, in whose themes it is; strands lead where they say."""
    inside, width = _draw(axes, strands, BOTH)
    return make_element(
        "svg",
        inside,
        class_="parallel",
        viewBox=f"0 0 {width} {_HEIGHT}",
        font_family=_FONT,
        font_size=12,
        role="group",
        aria_label=title,
    )


def _draw(axes: Sequence[Upright], strands: Sequence[Strand], look: Theme) -> tuple[str, int]:
    """And how wide it is."""
    width = max(_WIDTH, 2 * _SIDE + _LEAST_GAP * (len(axes) - 1))
    rights = _list_rights(len(axes), width)
    ordered = sorted(strands, key=lambda one: (one.is_best, one.warmth if one.warmth is not None else -1.0))
    parts = [make_element("rect", width=width, height=_HEIGHT, fill=look.ground)]
    parts += [_draw_strand(one, rights, look) for one in ordered]
    parts += [part for axis, right in zip(axes, rights, strict=True) for part in _draw_axis(axis, right, look)]
    return "".join(parts), width


def _list_rights(count: int, width: float) -> list[float]:
    gap = (width - 2 * _SIDE) / max(1, count - 1)
    return [_SIDE + gap * number for number in range(count)]


def _draw_strand(strand: Strand, rights: Sequence[float], look: Theme) -> str:
    """The best is thick and in front; the better a trial, the more of its colour is seen."""
    points = [(right, None if at is None else _go_down(at)) for right, at in zip(rights, strand.places, strict=False)]
    warmth = strand.warmth if strand.warmth is not None else 0.0
    name, way = make_element("title", make_text(strand.name)), make_path(points)
    line = make_element(
        "path",
        "" if strand.href else name,
        class_="line" if strand.href else None,
        d=way,
        fill="none",
        stroke=look.lines[1] if strand.is_best else look.lines[0],
        stroke_width=3.0 if strand.is_best else 1.2,
        stroke_opacity=1.0 if strand.is_best else 0.12 + 0.68 * warmth,
        stroke_linejoin="round",
    )
    if not strand.href:
        return line
    # Not by Tab: whoever has no mouse comes here from the table, not by way of each of a thousand lines.
    broad = make_element("path", d=way, fill="none", stroke="transparent", stroke_width=_TOUCH)
    return make_element("a", name, broad, line, id=strand.mark, href=strand.href, class_="strand", tabindex=-1)


def _draw_axis(axis: Upright, right: float, look: Theme) -> Iterator[str]:
    yield make_element("path", d=f"M{right:.1f} {_TOP}V{_HEIGHT - _BOTTOM}", stroke=look.text, stroke_width=1.0)
    yield _write(_shorten(axis.name), right, _TOP - 16, look, anchor="middle", weight="bold")
    for at, words in _list_ticks(axis):
        down = _go_down(at)
        yield make_element("path", d=f"M{right - 4:.1f} {down:.1f}h8", stroke=look.text)
        yield _write(words, right - 7, down + 4, look, anchor="end")


def _list_ticks(axis: Upright) -> list[tuple[float, str]]:
    if axis.words:
        step = -(-len(axis.words) // _MOST_WORDS)
        return [
            ((number + 0.5) / len(axis.words), _shorten(axis.words[number], 9))
            for number in range(0, len(axis.words), step)
        ]
    if not axis.high > axis.low:
        return [(0.5, format_tick(axis.low))]
    ticks = _list_powers(axis) if axis.is_log else choose_ticks(axis.low, axis.high, _TICKS)
    placed = [(place(axis, tick), format_tick(tick)) for tick in ticks]
    return [(at, words) for at, words in placed if at is not None and -1e-9 <= at <= 1 + 1e-9]


def _list_powers(axis: Upright) -> list[float]:
    """Powers of ten, and where less than two are between the ends these themselves."""
    first, last = math.ceil(math.log10(axis.low) - 1e-9), math.floor(math.log10(axis.high) + 1e-9)
    step = max(1, -(-(last - first) // (2 * _TICKS)))
    powers = [10.0**power for power in range(first, last + 1, step)]
    return powers if len(powers) > 1 else [axis.low, math.sqrt(axis.low * axis.high), axis.high]


def _go_down(at: float) -> float:
    return _HEIGHT - _BOTTOM - at * (_HEIGHT - _BOTTOM - _TOP)


def _write(words: str, x: float, y: float, look: Theme, *, anchor: str, weight: str | None = None) -> str:
    return make_element(
        "text",
        make_text(words),
        x=float(x),
        y=float(y),
        fill=look.text,
        text_anchor=anchor,
        font_weight=weight,
        stroke=look.ground,  # around the letters: lines pass below them
        stroke_width=3,
        paint_order="stroke",
    )


def _order(value: bool | int | float | str) -> tuple[bool, float, str]:
    """Numbers by their size, words behind them."""
    return (True, 0.0, value) if isinstance(value, str) else (False, float(value), "")


def _shorten(name: str, most: int = 16) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _write_word(value: bool | int | float | str) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
