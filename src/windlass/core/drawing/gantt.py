"""A chain as bars over time: one row a link, its phases, its checkpoints, and why it ended.

Made to stand in a page: colours and hatching are classes of its style sheet (`phase-lost`), so that it fits both themes
and paper. A row can be focused and says all of it in words.
"""

from collections.abc import Callable, Iterator, Sequence

from windlass.core.drawing.scales import Scale, choose_time_ticks, make_scale
from windlass.core.drawing.svg import make_element, make_text
from windlass.core.watching.chain import Link, Phase, Save

_WIDTH = 960
_LEFT, _RIGHT, _TOP, _ROW, _BAR = 44, 16, 12, 48, 20
_LEAST_WIDTH = 1.0  # a phase that took seconds of days is still seen
_MARKS_APART = 7.0
_Words = Callable[[float], str]


def draw_chain(links: Sequence[Link], *, clock: _Words, span: _Words, offset_s: float = 0.0) -> str:
    """clock: how a moment is written; span: how seconds are."""
    moments = [moment for link in links for part in link.parts for moment in (part.begin, part.end)] or [0.0]
    x = make_scale(min(moments), max(moments), begin=_LEFT, end=_WIDTH - _RIGHT)
    height = _TOP + _ROW * len(links) + 24
    rows = (_draw_link(link, x, _TOP + _ROW * place, clock, span) for place, link in enumerate(links))
    return make_element(
        "svg",
        _make_hatching(),
        *_draw_axis(x, height, clock, offset_s),
        *rows,
        class_="gantt",
        viewBox=f"0 0 {_WIDTH} {height}",
        role="group",
        aria_label="Links over time",
    )


def tell_link(link: Link, *, clock: _Words, span: _Words) -> str:
    """One link in words."""
    phases = [f"{phase.value} {span(seconds)}" for phase in Phase if (seconds := link.count_s(phase)) >= 1]
    begin = f", from {clock(link.parts[0].begin)}" if link.parts else ""
    saves = f"; {_tell_saves(link.saves, clock)}" if link.saves else ""
    end = "; it runs" if link.is_open else f"; ended: {link.why}" if link.why else ""
    return f"Link {link.number}{begin}: {', '.join(phases) or 'nothing yet'}{saves}{end}."


def _draw_axis(x: Scale, height: float, clock: _Words, offset_s: float) -> Iterator[str]:
    for tick in choose_time_ticks(x.low, x.high, 7, offset_s=offset_s):
        at = x.place(tick)
        yield make_element("path", d=f"M{at:.1f} {_TOP}V{height - 22}", class_="grid")
        yield make_element("text", make_text(clock(tick)), x=at, y=float(height - 6), class_="tick")


def _draw_link(link: Link, x: Scale, top: float, clock: _Words, span: _Words) -> str:
    bars = (_draw_part(part.phase, x.place(part.begin), x.place(part.end), top) for part in link.parts)
    begin = x.place(link.parts[0].begin) if link.parts else _LEFT
    words = "running" if link.is_open else link.why
    is_late = begin > _WIDTH / 2
    end = x.place(link.parts[-1].end) if link.parts else _LEFT
    why = make_element(
        "text",
        make_text(words),
        x=end if is_late else begin,
        y=top + _BAR + 15,
        class_="why late" if is_late else "why",
    )
    return make_element(
        "g",
        make_element("title", make_text(tell_link(link, clock=clock, span=span))),
        make_element("text", make_text(str(link.number)), x=float(_LEFT - 12), y=top + 15, class_="name"),
        *bars,
        *_draw_saves(link.saves, x, top, clock),
        why,
        class_="link",
        tabindex=0,
        role="img",
        aria_label=tell_link(link, clock=clock, span=span),
    )


def _draw_part(phase: Phase, begin: float, end: float, top: float) -> str:
    width = max(_LEAST_WIDTH, end - begin)
    fill = "url(#hatch-lost)" if phase is Phase.LOST else None
    name = f"phase-{phase.value}"
    return make_element("rect", x=begin, y=float(top), width=width, height=_BAR, class_=name, fill=fill)


def _draw_saves(saves: Sequence[Save], x: Scale, top: float, clock: _Words) -> Iterator[str]:
    """Those that would lie on one another are one mark."""
    together: list[Save] = []
    for save in saves:
        if together and x.place(save.time) - x.place(together[0].time) >= _MARKS_APART:
            yield _draw_mark(together, x, top, clock)
            together = []
        together.append(save)
    if together:
        yield _draw_mark(together, x, top, clock)


def _draw_mark(saves: Sequence[Save], x: Scale, top: float, clock: _Words) -> str:
    at = x.place(saves[-1].time)
    shape = f"M{at:.1f} {top + _BAR:.1f}l-3.5 -7h7z"
    return make_element("path", make_element("title", make_text(_tell_saves(saves, clock))), d=shape, class_="save")


def _tell_saves(saves: Sequence[Save], clock: _Words) -> str:
    last = saves[-1]
    step = f" of step {last.step:,.10g}" if last.step is not None else ""
    if len(saves) == 1:
        return f"checkpoint{step}, {clock(last.time)}"
    return f"{len(saves)} checkpoints, the last{step}, {clock(last.time)}"


def _make_hatching() -> str:
    """Lost work is told by its hatching too."""
    line = make_element("path", d="M0 6L6 0M-1 1L1 -1M5 7L7 5", class_="hatch")
    pattern = make_element("pattern", line, id="hatch-lost", width=6, height=6, patternUnits="userSpaceOnUse")
    return make_element("defs", pattern)
