"""What GPUs, cores and memory of all nodes did, as charts: one for each kind of gauge, all over one time."""

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
    list: Callable[[NodeSeries], _Named]  # what it draws of a node, by name
    of: str = "GPUs"  # what has a line each
    scale: float = 1.0  # from what was measured to what is shown

    def write(self, value: float) -> str:
        return f"{value:.3g} {self.unit}"


def _each_gpu(pick: Callable[[GpuGauges], Series]) -> Callable[[NodeSeries], _Named]:
    """By `NODE GPU NUMBER`."""
    return lambda node: ((f"{node.node} GPU {number}", pick(gpu)) for number, gpu in enumerate(node.gpus))


def _whole(pick: Callable[[NodeSeries], Series]) -> Callable[[NodeSeries], _Named]:
    return lambda node: iter(((node.node, pick(node)),))


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
    )
}


def list_series(gauges: RunGauges, kind: GaugeKind) -> tuple[tuple[str, Series], ...]:
    """In the unit of the chart; GPUs and nodes of which this was never measured are left out."""
    found = (named for node in gauges.nodes for named in kind.list(node))
    return tuple((name, _rescale(series, kind.scale)) for name, series in found if series)


def _rescale(series: Series, scale: float) -> Series:
    if scale == 1.0:
        return series
    values = tuple(None if value is None else value * scale for value in series.values)
    return Series(times=series.times, values=values)
