"""What GPUs, cores, memory and disks of all nodes did, and how long ranks waited: a chart for each, over one time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windlass.core.gauges.series import GpuGauges, NodeSeries, RunGauges, Series
from windlass.core.units import count_gb

_Named = Iterator[tuple[str, Series]]


@dataclass(frozen=True, kw_only=True)
class GaugeKind:
    name: str  # in addresses
    title: str
    unit: str
    list: Callable[[RunGauges], _Named]  # what it draws, by name
    of: str = "GPUs"  # what has a line each
    scale: float = 1.0  # from what was measured to what is shown
    is_a_rate: bool = False  # which says nothing where it was never more than 0

    def write(self, value: float) -> str:
        return f"{value:.3g} {self.unit}"


def _each_gpu(pick: Callable[[GpuGauges], Series]) -> Callable[[RunGauges], _Named]:
    """By `NODE GPU NUMBER`."""

    def list_gpus(gauges: RunGauges) -> _Named:
        return (
            (f"{node.node} GPU {number}", pick(gpu)) for node in gauges.nodes for number, gpu in enumerate(node.gpus)
        )

    return list_gpus


def _whole(pick: Callable[[NodeSeries], Series]) -> Callable[[RunGauges], _Named]:
    return lambda gauges: ((node.node, pick(node)) for node in gauges.nodes)


def _list_waits(gauges: RunGauges) -> _Named:
    """A rank is one line, through all links."""
    for rank in sorted({one.rank for one in gauges.waits}):
        parts = [one.wait_share for one in gauges.waits if one.rank == rank]
        told = dict(pair for one in parts for pair in zip(one.times, one.values, strict=True))
        times = tuple(sorted(told))
        yield f"rank {rank}", Series(times=times, values=tuple(told[time] for time in times))


def _make_rate(name: str, title: str, pick: Callable[[NodeSeries], Series]) -> GaugeKind:
    return GaugeKind(name=name, title=title, unit="MB/s", list=_whole(pick), of="nodes", is_a_rate=True)


_GB = count_gb(1.0)
_CORES = _whole(lambda node: node.cpu_cores)
_MEMORY = _whole(lambda node: node.memory_mb)
KINDS = {
    kind.name: kind
    for kind in (
        GaugeKind(name="use", title="GPU utilisation", unit="%", list=_each_gpu(lambda gpu: gpu.use)),
        GaugeKind(name="memory", title="GPU memory", unit="GB", list=_each_gpu(lambda gpu: gpu.memory_mb), scale=_GB),
        GaugeKind(name="power", title="GPU power", unit="W", list=_each_gpu(lambda gpu: gpu.power_w)),
        GaugeKind(name="cores", title="Busy CPU cores", unit="cores", list=_CORES, of="nodes"),
        GaugeKind(name="ram", title="Memory of the node", unit="GB", list=_MEMORY, of="nodes", scale=_GB),
        GaugeKind(name="waits", title="Waited for data", unit="%", list=_list_waits, of="ranks", scale=100.0),
        _make_rate("disk-read", "Read from disk", lambda node: node.read_mb_s),
        _make_rate("disk-write", "Written to disk", lambda node: node.write_mb_s),
        _make_rate("shared-read", "Read from shared storage by the node", lambda node: node.shared_read_mb_s),
        _make_rate("shared-write", "Written to shared storage by the node", lambda node: node.shared_write_mb_s),
    )
}


def list_series(gauges: RunGauges, kind: GaugeKind) -> tuple[tuple[str, Series], ...]:
    """In the unit of the chart; GPUs and nodes of which this was never measured are left out."""
    found = tuple((name, _rescale(series, kind.scale)) for name, series in kind.list(gauges) if series)
    return () if kind.is_a_rate and not any(series.most for _, series in found) else found


def _rescale(series: Series, scale: float) -> Series:
    if scale == 1.0:
        return series
    values = tuple(None if value is None else value * scale for value in series.values)
    return Series(times=series.times, values=values)
