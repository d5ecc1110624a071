"""A report as lines of text: what was asked for, what was used, and what to change."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from windlass.cli.output import make_printable
from windlass.cli.words import format_amount, format_end, format_size
from windlass.core.drawing.thinning import thin_to_bars
from windlass.core.efficiency.parts import GpuPart, NodePart, make_gpu_parts, make_node_parts
from windlass.core.finding import Advice
from windlass.core.gauges.series import Series
from windlass.core.site import CostUnit
from windlass.core.units import count_gb, format_gb, format_seconds

if TYPE_CHECKING:
    from windlass.app.reporting import Report

_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH = 24
_MOST_GPUS = 16  # that get a line each


def format_report(report: "Report", *, is_drawn: bool) -> list[str]:
    """is_drawn: with small curves, where the terminal has the letters for them."""
    lines = [format_end(report.record)]
    for name, words in list_facts(report):
        lines.append(f"  {name:<10} {words}")
        if name == "GPUs":
            lines += _format_gpus(report, is_drawn=is_drawn)
    return lines


def list_facts(report: "Report") -> list[tuple[str, str]]:
    """What is known, each with its name; what is not known is left out."""
    summary, plan = report.summary, report.usage.plan
    asked = f"{format_size(plan)}, {format_seconds(plan.total_time.total_seconds())}" if plan else ""
    told = (
        ("site", summary.site),
        ("asked for", asked),
        ("waited", format_seconds(summary.waited_s) if summary.waited_s is not None else ""),
        ("ran", _format_ran(report)),
        ("cost", _format_cost(report)),
        ("GPUs", _format_gpu_use(report)),
        *(("memory" if place == 0 else "", words) for place, words in enumerate(_format_memory(report))),
        *(("CPUs" if place == 0 else "", words) for place, words in enumerate(_format_cpus(report))),
        *(("disks" if place == 0 else "", words) for place, words in enumerate(_format_disks(report))),
        ("data", f"waited for {100 * summary.wait_share:.0f} % of the time" if summary.wait_share is not None else ""),
    )
    return [(name, make_printable(words)) for name, words in told if words]


def format_advice(advice: Advice) -> list[str]:
    """Without the change itself, which is shown as a diff."""
    early = " (so far)" if advice.is_early else ""
    lines = [f"{advice.code}  {make_printable(advice.message)}{early}"]
    lines += [f"      | {make_printable(line)}" for line in advice.evidence]
    if advice.saves:
        lines.append(f"      saves: {make_printable(advice.saves)}")
    if advice.hint:
        lines.append(f"      try: {make_printable(advice.hint)}")
    return lines


def format_advice_in_short(found: Sequence[Advice], run_id: str) -> str:
    """One line after a run."""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"advice: {make_printable(found[0].message)}{more}: windlass report {run_id}"


def name_gpu(gpu: GpuPart) -> str:
    return f"{gpu.node} GPU {gpu.place}"


def format_gpu(gpu: GpuPart) -> str:
    use = f"{gpu.use:.0f} % busy" if gpu.use is not None else "use unknown (a MIG slice)" if gpu.is_slice else ""
    memory = ""
    if gpu.memory_mb is not None:
        total = f" of {count_gb(gpu.memory_total_mb):.0f}" if gpu.memory_total_mb else ""
        memory = f"at most {count_gb(gpu.memory_mb):.1f}{total} GB"
    power = f"{gpu.power_w:.0f} W" if gpu.power_w is not None else ""
    return make_printable(", ".join(part for part in (use, memory, power, gpu.name) if part))


def draw(series: Series, *, begin: float, end: float, most: float) -> str:
    """A curve of a line's height; a gap where nothing was measured."""
    cells = [" "] * _WIDTH
    for bucket in thin_to_bars(series, begin=begin, end=end, count=_WIDTH):
        place = min(_WIDTH - 1, round((bucket.begin - begin) / max(end - begin, 1e-9) * _WIDTH))
        level = int(bucket.mean / most * len(_BLOCKS)) if most else 0
        cells[place] = _BLOCKS[max(0, min(level, len(_BLOCKS) - 1))]
    return "".join(cells)


def _format_gpus(report: "Report", *, is_drawn: bool) -> Iterator[str]:
    gauges = report.usage.last
    parts = make_gpu_parts(gauges)
    for part, (_, gpu) in list(zip(parts, gauges.gpus, strict=True))[:_MOST_GPUS]:
        curve = ""
        if is_drawn and gpu.use and gauges.begin is not None and gauges.end is not None:
            curve = f"  {draw(gpu.use, begin=gauges.begin, end=gauges.end, most=100.0)}"
        yield f"    {make_printable(name_gpu(part)):<14}{curve}  {format_gpu(part)}"
    if len(parts) > _MOST_GPUS:
        yield f"    and {len(parts) - _MOST_GPUS} more: --json and --html have all of them"


def _format_ran(report: "Report") -> str:
    summary = report.summary
    if summary.ran_s is None:
        return ""
    links = f" in {len(report.usage.spans)} links" if len(report.usage.spans) > 1 else ""
    share = (
        f", {100 * summary.ran_s / summary.asked.time_s:.0f} % of what was asked for" if summary.asked.time_s else ""
    )
    where = f" on {report.record.nodes}" if report.record.nodes else ""
    return f"{format_seconds(summary.ran_s)}{links}{share}{where}"


def _format_cost(report: "Report") -> str:
    summary, plan = report.summary, report.usage.plan
    if summary.cost_unit is CostUnit.NONE:
        return "nothing is charged here"
    if summary.cost is None or summary.cost_unit is CostUnit.UNKNOWN or plan is None:
        return ""
    return f"{format_amount(summary.cost)} {summary.cost_unit} of at most {format_amount(plan.cost.whole)}"


def _format_gpu_use(report: "Report") -> str:
    summary = report.summary
    if summary.gpu_use is None:
        count = len(report.usage.gpus)
        return f"{count} seen, their use is unknown" if count else ""
    power = f", {summary.power_w:.0f} W together" if summary.power_w else ""
    return f"{summary.gpu_use:.0f} % busy on average{power}"


def _format_memory(report: "Report") -> Iterator[str]:
    for node in make_node_parts(report.usage.last):
        if node.memory_mb is None:
            continue
        limit = node.memory_limit_mb
        of = f" of {format_gb(limit)} ({100 * node.memory_mb / limit:.0f} %)" if limit else ""
        caches = f"; with caches of files {format_gb(node.memory_peak_mb)}" if node.memory_peak_mb else ""
        killed = f"; {node.oom_kills} processes were killed for it" if node.oom_kills else ""
        yield f"{node.node}: at most {format_gb(node.memory_mb)}{of}{caches}{killed}"


def _format_cpus(report: "Report") -> Iterator[str]:
    for node in make_node_parts(report.usage.last):
        if node.cpu_cores is not None:
            full = f", {node.full_cores:.0f} of them all the time" if (node.full_cores or 0) >= 0.5 else ""
            yield f"{node.node}: {node.cpu_cores:.1f} of {node.cores} cores busy on average{full}"


def _format_disks(report: "Report") -> Iterator[str]:
    for node in make_node_parts(report.usage.last):
        own = _rates(node.read_mb_s, node.write_mb_s)
        shared = _format_shared(node)
        if own or shared:
            yield f"{node.node}: {'; '.join(part for part in (own, shared) if part)}"


def _format_shared(node: NodePart) -> str:
    if node.shared is None:
        return ""
    asked = f", asked {node.shared_ops_s:,.0f} times a second" if node.shared_ops_s is not None else ""
    return f"{node.shared} of the whole node: {_rates(node.shared_read_mb_s, node.shared_write_mb_s)}{asked}"


def _rates(read: float | None, written: float | None) -> str:
    if read is None and written is None:
        return ""
    return f"{read or 0:.1f} MB/s read, {written or 0:.1f} MB/s written"
