"""A node's gauges in a few numbers: what alarms, diagnoses and the screen look at."""

from windlass.core.gauges.idleness import is_idle
from windlass.core.gauges.lines import read_node
from windlass.core.gauges.series import NodeGauges, NodeSeries


def read_gauges(node: str, text: str) -> NodeGauges | None:
    """Of gauges/NODE.jsonl, or its end; None when it holds no rows."""
    series = read_node(node, text)
    return summarise_node(series) if series is not None else None


def summarise_node(series: NodeSeries) -> NodeGauges:
    told = [gpu for gpu in series.gpus if gpu.use]
    means = [mean for gpu in told if (mean := gpu.use.mean) is not None]
    return NodeGauges(
        node=series.node,
        seconds=series.seconds,
        memory_mb=series.memory_mb.most,
        limit_mb=series.memory_limit_mb,
        oom_kills=int(series.oom_kills.most or 0),
        gpu_utilisation=sum(means) / len(means) if means else None,
        idle_gpus=sum(1 for gpu in told if is_idle(gpu)),
        gpus=len(told),
        cpus_used=series.cpu_cores.mean,
    )
