"""What each node and GPU of a run did, in a few numbers each. None: not known."""

from dataclasses import dataclass

from windlass.core.gauges.series import GpuGauges, NodeSeries, RunGauges


@dataclass(frozen=True, kw_only=True)
class GpuPart:
    node: str
    place: int  # among the job's own of this node, from 0
    uuid: str
    name: str
    is_slice: bool
    use: float | None  # mean, in percent
    most_use: float | None
    memory_mb: float | None  # the most
    memory_total_mb: float | None
    power_w: float | None  # mean


@dataclass(frozen=True, kw_only=True)
class NodePart:
    node: str
    seconds: float  # that were looked at
    cores: int | None
    cpu_cores: float | None  # mean, busy
    full_cores: float | None  # mean, busy nine tenths of the time
    memory_mb: float | None  # the most that was needed
    memory_peak_mb: float | None  # the same with caches of files
    memory_limit_mb: float | None
    oom_kills: int
    read_mb_s: float | None  # means, of the job
    write_mb_s: float | None
    shared: str | None  # which client tells the rest, of the whole node
    shared_read_mb_s: float | None
    shared_write_mb_s: float | None
    shared_ops_s: float | None


def make_gpu_parts(gauges: RunGauges) -> tuple[GpuPart, ...]:
    return tuple(_make_gpu(node, place, gpu) for node in gauges.nodes for place, gpu in enumerate(node.gpus))


def make_node_parts(gauges: RunGauges) -> tuple[NodePart, ...]:
    return tuple(_make_node(node) for node in gauges.nodes)


def _make_gpu(node: NodeSeries, place: int, gpu: GpuGauges) -> GpuPart:
    return GpuPart(
        node=node.node,
        place=place,
        uuid=gpu.uuid,
        name=gpu.name,
        is_slice=gpu.is_slice,
        use=gpu.use.mean,
        most_use=gpu.use.most,
        memory_mb=gpu.memory_mb.most,
        memory_total_mb=gpu.memory_total_mb,
        power_w=gpu.power_w.mean,
    )


def _make_node(node: NodeSeries) -> NodePart:
    return NodePart(
        node=node.node,
        seconds=node.seconds,
        cores=node.cores,
        cpu_cores=node.cpu_cores.mean,
        full_cores=node.full_cores.mean,
        memory_mb=node.memory_mb.most,
        memory_peak_mb=node.memory_peak_mb.most,
        memory_limit_mb=node.memory_limit_mb,
        oom_kills=int(node.oom_kills.most or 0),
        read_mb_s=node.read_mb_s.mean,
        write_mb_s=node.write_mb_s.mean,
        shared=node.shared,
        shared_read_mb_s=node.shared_read_mb_s.mean,
        shared_write_mb_s=node.shared_write_mb_s.mean,
        shared_ops_s=node.shared_ops_s.mean,
    )
