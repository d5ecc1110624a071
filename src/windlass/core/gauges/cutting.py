"""The part of gauges that lies between two moments, such as one link of a chain."""

from dataclasses import fields, replace
from typing import Any, TypeVar

from windlass.core.gauges.series import DataWaits, GpuGauges, NodeSeries, RankGauges, RunGauges, Series

_Part = TypeVar("_Part", NodeSeries, GpuGauges, RankGauges, DataWaits)


def cut(gauges: RunGauges, begin: float, end: float) -> RunGauges:
    """Nodes and ranks that told nothing in that time are left out."""
    nodes = (_cut_node(node, begin, end) for node in gauges.nodes)
    waits = (_cut_part(one, begin, end) for one in gauges.waits)
    return RunGauges(
        nodes=tuple(node for node in nodes if node.times),
        waits=tuple(one for one in waits if one.wait_share.times),
    )


def cut_end(gauges: RunGauges, seconds: float) -> RunGauges:
    """The last part of it, as long as this."""
    return RunGauges() if gauges.end is None else cut(gauges, gauges.end - seconds, gauges.end)


def cut_series(series: Series, begin: float, end: float) -> Series:
    kept = [place for place, time in enumerate(series.times) if begin <= time <= end]
    return Series(
        times=tuple(series.times[place] for place in kept), values=tuple(series.values[place] for place in kept)
    )


def _cut_node(node: NodeSeries, begin: float, end: float) -> NodeSeries:
    gpus = (_cut_part(gpu, begin, end) for gpu in node.gpus)
    ranks = (_cut_part(rank, begin, end) for rank in node.ranks)
    return replace(
        _cut_part(node, begin, end),
        gpus=tuple(gpu for gpu in gpus if gpu.use or gpu.memory_mb),
        ranks=tuple(rank for rank in ranks if rank.cpu_cores),
    )


def _cut_part(part: _Part, begin: float, end: float) -> _Part:
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    shorter: dict[str, Any] = {
        name: cut_series(value, begin, end) for name, value in values.items() if isinstance(value, Series)
    }
    return replace(part, **shorter)
