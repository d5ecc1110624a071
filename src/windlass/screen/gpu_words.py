"""GPUs of the chosen run in lines: one for each as long as there is room, else one for each node, the idlest first."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from windlass.core.efficiency.parts import GpuPart
from windlass.core.gauges.idleness import IDLE_PERCENT
from windlass.core.units import format_gb
from windlass.screen.drawing import draw_bar, draw_levels
from windlass.screen.lines import Line, Part, clean, fit

_BAR = 10
_SHORT_BAR = 6
_LABEL = 9  # as the other lines about a run have it
_WIDEST_LABEL = 14
_MOST_LEVELS = 16


def make_gpu_lines(gpus: Sequence[GpuPart], room: int) -> tuple[Line, ...]:
    """At most `room` of them."""
    if not gpus or room < 1:
        return ()
    nodes = [list(group) for _, group in groupby(gpus, key=lambda gpu: gpu.node)]
    if len(gpus) <= room:
        labels = [f"{gpu.node} GPU {gpu.place}" if len(nodes) > 1 else f"GPU {gpu.place}" for gpu in gpus]
        width = _measure(labels)
        return tuple(_make_gpu(gpu, label, width) for gpu, label in zip(gpus, labels, strict=True))
    if len(nodes) > room:
        nodes.sort(key=_find_use)
        shown, rest = nodes[: room - 1], nodes[room - 1 :]
    else:
        shown, rest = nodes, []
    width = _measure([group[0].node for group in shown])
    lines = [_make_node(group, width) for group in shown]
    return (*lines, *([_make_rest(rest, width, is_all=not shown)] if rest else []))


def _make_gpu(gpu: GpuPart, label: str, width: int) -> Line:
    return (
        (f"{fit(clean(label), width)}", "dim"),
        *_tell_use(gpu.use),
        *_tell_memory(gpu.memory_mb, gpu.memory_total_mb),
        (_format_power(gpu.power_w), ""),
    )


def _make_node(gpus: Sequence[GpuPart], width: int) -> Line:
    """A letter for each GPU, as high as it is busy."""
    fullest = max(gpus, key=lambda gpu: gpu.memory_mb or 0.0)
    levels = draw_levels([None if gpu.use is None else gpu.use / 100 for gpu in gpus[:_MOST_LEVELS]])
    return (
        (fit(clean(gpus[0].node), width), "dim"),
        (fit(levels, max(_BAR, len(levels))), "cyan"),
        (f" {_format_use(_find_mean(gpus))} of {len(gpus)}", ""),
        *_tell_idle(gpus),
        *_tell_memory(fullest.memory_mb, fullest.memory_total_mb, has_bar=False),
        (_format_power(_sum_power(gpus)), ""),
    )


def _make_rest(nodes: Sequence[Sequence[GpuPart]], width: int, *, is_all: bool) -> Line:
    gpus = [gpu for group in nodes for gpu in group]
    others = f"{len(nodes)} {'' if is_all else 'other '}node{'s' if len(nodes) > 1 else ''}"
    return (
        (fit("all" if is_all else "others", width), "dim"),
        (draw_bar((_find_mean(gpus) or 0.0) / 100, _BAR), "cyan"),
        (f" {_format_use(_find_mean(gpus))} of {len(gpus)} on {others}", ""),
        *_tell_idle(gpus),
        ("  ", ""),
        (_format_power(_sum_power(gpus)), ""),
    )


def _tell_use(use: float | None) -> Iterator[Part]:
    if use is None:
        yield fit("use not told", _BAR + 11), "dim"
        return
    is_idle = use <= IDLE_PERCENT
    yield draw_bar(use / 100, _BAR), "bold red" if is_idle else "cyan"
    yield f" {_format_use(use)}", "bold red" if is_idle else ""
    yield " idle" if is_idle else "     ", "bold red"


def _tell_idle(gpus: Sequence[GpuPart]) -> Iterator[Part]:
    idle = sum(1 for gpu in gpus if gpu.use is not None and gpu.use <= IDLE_PERCENT)
    if idle:
        yield f", {idle} idle", "bold red"


def _tell_memory(used: float | None, total: float | None, *, has_bar: bool = True) -> Iterator[Part]:
    if used is None:
        yield "  ", ""
        return
    yield "  memory ", "dim"
    if total and has_bar:
        yield f"{draw_bar(used / total, _SHORT_BAR)} ", "cyan"
    yield f"{_format_memory(used)}{f' of {_format_memory(total)}' if total else ''}  ", ""


def _find_mean(gpus: Sequence[GpuPart]) -> float | None:
    known = [gpu.use for gpu in gpus if gpu.use is not None]
    return sum(known) / len(known) if known else None


def _find_use(gpus: Sequence[GpuPart]) -> tuple[float, str]:
    """By which nodes are put in order: one whose use is not told says nothing of trouble."""
    known = [gpu.use for gpu in gpus if gpu.use is not None]
    return min(known, default=101.0), gpus[0].node


def _sum_power(gpus: Sequence[GpuPart]) -> float | None:
    known = [gpu.power_w for gpu in gpus if gpu.power_w is not None]
    return sum(known) if known else None


def _format_use(use: float | None) -> str:
    return "  ? %" if use is None else f"{use:3.0f} %"


def _format_power(watts: float | None) -> str:
    if watts is None:
        return ""
    return f"{watts:.0f} W" if watts < 1000 else f"{watts / 1000:.1f} kW"


def _format_memory(megabytes: float) -> str:
    return format_gb(megabytes).replace(" ", "")


def _measure(labels: Sequence[str]) -> int:
    return min(_WIDEST_LABEL, max([_LABEL, *(len(label) + 1 for label in labels)]))
