"""Runs to give advice on: an hour of one node with two GPUs, as one likes it."""

from dataclasses import dataclass, replace
from datetime import timedelta

from tests.builders import PLAN, RECORD
from windlass.core.efficiency.usage import Span, Usage
from windlass.core.gauges.series import DataWaits, GpuGauges, NodeSeries, RunGauges, Series
from windlass.core.plan import Plan
from windlass.core.record import RunState

GB = 1024
BEGIN = 5000.0
DONE = replace(RECORD, state=RunState.DONE, started=BEGIN, ended=BEGIN + 3600, project="/home/alice/digits")
RUNNING = replace(RECORD, state=RunState.RUNNING, started=BEGIN)
ASKED = replace(
    PLAN,
    gpus_per_node=2,
    cpus_per_task=12,
    memory_mb=16 * GB,
    link_time=timedelta(hours=1),
    total_time=timedelta(hours=1),
)


def flat(value: float | None, *, seconds: float = 3600.0, rows: int = 60, peak: float | None = None) -> Series:
    """The same all the time, but for one peak."""
    values = [value] * rows
    if peak is not None:
        values[rows // 2] = peak
    times = tuple(BEGIN + place * seconds / (rows - 1) for place in range(rows))
    return Series(times=times, values=tuple(values))


def gpu(use: float | None, *, memory_gb: float = 30, uuid: str = "GPU-a") -> GpuGauges:
    return GpuGauges(
        uuid=uuid, name="NVIDIA A100", memory_total_mb=40 * GB, use=flat(use), memory_mb=flat(memory_gb * GB)
    )


BUSY = (gpu(95, uuid="GPU-a"), gpu(93, uuid="GPU-b"))
NODE = NodeSeries(
    node="n1",
    cores=12,
    memory_limit_mb=16 * GB,
    gpus=BUSY,
    memory_mb=flat(12 * GB),
    cpu_cores=flat(9.0),
    oom_kills=flat(0),
)


def after(*nodes: NodeSeries, plan: Plan = ASKED, waits: tuple[DataWaits, ...] = (), ran_s: float = 3600.0) -> Usage:
    return Usage(
        record=DONE,
        now=BEGIN + ran_s,
        plan=plan,
        gauges=RunGauges(nodes=nodes, waits=waits),
        spans=(Span(begin=BEGIN, end=BEGIN + ran_s),),
    )


WELL = after(NODE)  # nothing to say of it


@dataclass(frozen=True, kw_only=True)
class Example:
    trips: Usage
    passes: Usage
    says: str
    sets: tuple[tuple[str, str], ...] = ()  # the patch to windlass.toml
