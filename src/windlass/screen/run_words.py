"""The chosen run in a few lines: where it stands, its progress, what its nodes do, its loss; each with its age."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windlass.app.record_words import format_ago, format_clock, format_outlook, format_progress
from windlass.app.watching.reading_runs import RunSeen
from windlass.core.efficiency.parts import GpuPart
from windlass.core.gauges.series import NodeGauges
from windlass.core.record import RunRecord, RunState
from windlass.core.units import format_gb
from windlass.core.watching.metrics import Metric
from windlass.screen.drawing import draw_bar, draw_curve
from windlass.screen.gpu_words import make_gpu_lines
from windlass.screen.lines import Line, Part, clean
from windlass.screen.row_words import STYLES

_BAR = 10
_SHORT_BAR = 6
_CURVE = 30
_LABEL = 9
_NEARLY_FULL = 0.9


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the nodes of a run showed last."""

    nodes: tuple[NodeGauges, ...] = ()
    gpus: tuple[GpuPart, ...] = ()  # just now
    when: float | None = None


NOTHING = Measured()


def make_run_lines(seen: RunSeen, measured: Measured, now: float, *, gpu_lines: int = 0) -> tuple[Line, ...]:
    """gpu_lines: how many may be about single GPUs, or nodes; only of a run that goes on."""
    room = gpu_lines if seen.record.state is RunState.RUNNING else 0
    return (
        _make_title(seen, now),
        *_make_reason(seen.record),
        *_make_progress(seen.record),
        *_make_gauges(measured, now),
        *make_gpu_lines(measured.gpus, room),
        *_make_loss(seen.metrics, now),
    )


def find_loss(metrics: Mapping[str, Metric]) -> Metric | None:
    """What a training is judged by: "loss" itself, else the first whose name holds it, else the first of all."""
    named = [one for name, one in metrics.items() if "loss" in name.lower()]
    return metrics.get("loss") or (named[0] if named else next(iter(metrics.values()), None))


def _make_title(seen: RunSeen, now: float) -> Line:
    record, read = seen.record, seen.index.asked
    link = f"link {record.link or 0} of {record.links}" if record.links > 1 else ""
    job = f"job {clean(record.job_id)}" if record.job_id else ""
    where = f"on {clean(record.nodes)}" if record.nodes else ""
    age = f"read {format_ago(now - read)} ago" if read is not None else "not read yet"
    told = ", ".join(part for part in (age, link, job, where) if part)
    standing = f"{record.state.value} {_format_since(record, now)}"
    return (
        (clean(record.run_id), "bold"),
        (f" at {clean(record.site)} ", ""),
        (standing, STYLES[record.state]),
        (f", {told}", ""),
    )


def _make_reason(record: RunRecord) -> Iterator[Line]:
    if record.reason not in (None, "", record.state.value):
        hint = f"  windlass explain {clean(record.run_id)}" if record.state.is_final else ""
        yield (f"{'why':{_LABEL}}", "dim"), (clean(record.reason or ""), STYLES[record.state]), (hint, "bold")


def _format_since(record: RunRecord, now: float) -> str:
    if record.state.is_final:
        return f"{format_ago(now - (record.ended or record.updated))} ago"
    begun = record.started if record.state is RunState.RUNNING else record.created
    start = ""
    if record.state is RunState.WAITING:
        known = record.expected_start
        start = f", start expected {format_clock(known)}" if known else ", start not known"
    return f"for {format_ago(now - (begun or record.created))}{start}"


def _make_progress(record: RunRecord) -> Iterator[Line]:
    if record.progress_done is None or not record.progress_of:
        return
    share = record.progress_done / record.progress_of
    outlook = "" if record.expected_end is None else f"  {clean(format_outlook(record)).partition(' (')[0]}"
    yield _make_bar_line("progress", share, f"{share:4.0%}  {clean(format_progress(record))}{outlook}")


def _make_gauges(measured: Measured, now: float) -> Iterator[Line]:
    """Of all nodes together: the fullest counts for memory, the mean for GPUs, the sum for cores."""
    parts = [*_tell_gpus(measured.nodes), *_tell_memory(measured.nodes), *_tell_cores(measured.nodes)]
    if parts and measured.when is not None:
        yield (*parts, (f"({format_ago(now - measured.when)} ago)", "dim"))


def _tell_gpus(nodes: Sequence[NodeGauges]) -> Iterator[Part]:
    used = [one.gpu_utilisation for one in nodes if one.gpu_utilisation is not None]
    if used:
        share = sum(used) / len(used) / 100
        gpus, idle = sum(one.gpus for one in nodes), sum(one.idle_gpus for one in nodes)
        words = f" of {gpus}" if gpus > 1 else ""
        yield f"{'GPU':{_LABEL}}", "dim"
        yield draw_bar(share, _BAR), "cyan"
        yield f" {share:.0%}{words}", ""
        yield f", {idle} idle  " if idle else "  ", "bold red"


def _tell_memory(nodes: Sequence[NodeGauges]) -> Iterator[Part]:
    fullest = max((one for one in nodes if one.memory_mb), key=_fill, default=None)
    if fullest is not None and fullest.memory_mb:
        limit = f" of {_format_memory(fullest.limit_mb)}" if fullest.limit_mb else ""
        where = f" on {clean(fullest.node)}" if len(nodes) > 1 else ""
        yield f"{'memory':7}", "dim"
        yield draw_bar(_fill(fullest), _SHORT_BAR), "bold red" if _fill(fullest) > _NEARLY_FULL else "cyan"
        yield f" {_format_memory(fullest.memory_mb)}{limit}{where}  ", ""


def _tell_cores(nodes: Sequence[NodeGauges]) -> Iterator[Part]:
    cores = [one.cpus_used for one in nodes if one.cpus_used is not None]
    if cores:
        yield f"CPU {sum(cores):.1f}  ", ""


def _format_memory(megabytes: float) -> str:
    return format_gb(megabytes).replace(" ", "")


def _fill(node: NodeGauges) -> float:
    return (node.memory_mb or 0.0) / node.limit_mb if node.limit_mb else 0.0


def _make_loss(metrics: Mapping[str, Metric], now: float) -> Iterator[Line]:
    loss = find_loss(metrics)
    if loss is None or loss.last is None:
        return
    style = "" if math.isfinite(loss.last) else "bold red"
    value = f" {loss.last:.4g}"
    span = f"  from {loss.values[0]:.4g}" if len(loss.values) > 1 else ""
    age = f"  ({format_ago(now - loss.times[-1])} ago)"
    curve: Part = (draw_curve(loss.values, _CURVE), "cyan")
    yield (f"{clean(loss.name)[: _LABEL - 1]:{_LABEL}}", "dim"), curve, (value, style or "bold"), (span + age, "dim")


def _make_bar_line(label: str, share: float, words: str) -> Line:
    return (f"{label:{_LABEL}}", "dim"), (draw_bar(share, _BAR), "cyan"), (f" {words}", "")
