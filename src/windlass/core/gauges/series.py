"""Gauges of a run as values: what was measured, on which node, GPU or rank, and when.

A `Series` is two columns of one length. None: it was not measured then, or cannot be known (a GPU in MIG mode says
nothing of its use). All series of one node share their times; two nodes need not have the same ones. Rates
(`_mb_s`, `_s`) and `cpu_cores` are means since the row before.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Series:
    times: tuple[float, ...] = ()  # seconds since 1970, rising
    values: tuple[float | None, ...] = ()

    def __bool__(self) -> bool:
        """Something was measured."""
        return any(value is not None for value in self.values)

    @property
    def known(self) -> Iterator[float]:
        return (value for value in self.values if value is not None)

    @property
    def most(self) -> float | None:
        return max(self.known, default=None)

    @property
    def last(self) -> float | None:
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def mean(self) -> float | None:
        """Each value counts for the time since the one before it: rows lie further apart in a long run."""
        total = weight = 0.0
        before: float | None = None
        for time, value in zip(self.times, self.values, strict=True):
            if value is not None:
                lasted = max(time - before, 0.0) if before is not None else 0.0
                total, weight = total + value * lasted, weight + lasted
            before = time
        return total / weight if weight else next(self.known, None)


NOTHING = Series()


@dataclass(frozen=True, kw_only=True)
class GpuGauges:
    """One GPU of one node. The same card has the same `uuid` in every link that got it."""

    uuid: str
    name: str = ""  # "NVIDIA H200"
    memory_total_mb: float | None = None
    is_slice: bool = False  # a MIG slice: its use cannot be known
    use: Series = NOTHING  # percent of the time in which it did something
    memory_mb: Series = NOTHING
    power_w: Series = NOTHING


@dataclass(frozen=True, kw_only=True)
class RankGauges:
    """One process of the training with all its children, such as workers of a data loader."""

    rank: int
    cpu_cores: Series = NOTHING


@dataclass(frozen=True, kw_only=True)
class NodeSeries:
    """One node, as far as this job used it; what is of the whole node says so."""

    node: str
    cores: int | None = None  # that this job may use
    memory_limit_mb: float | None = None  # of the job on this node
    shared: str | None = None  # where `shared_*` come from: "nfs", "lustre"; None: this node does not tell
    gpus: tuple[GpuGauges, ...] = ()
    ranks: tuple[RankGauges, ...] = ()
    memory_mb: Series = NOTHING  # what it needs: caches of files, which give way, are not in it
    memory_peak_mb: Series = NOTHING  # the most ever, caches included, as the kernel remembers it
    oom_kills: Series = NOTHING
    cpu_cores: Series = NOTHING  # 1.0: one core was busy all the time
    full_cores: Series = NOTHING  # how many of its cores were busy nine tenths of the time
    read_mb_s: Series = NOTHING  # of the job's processes, from disks and NFS; what came from a cache is not in it
    write_mb_s: Series = NOTHING
    shared_read_mb_s: Series = NOTHING  # of the whole node
    shared_write_mb_s: Series = NOTHING
    shared_ops_s: Series = NOTHING

    @property
    def times(self) -> tuple[float, ...]:
        return self.memory_mb.times

    @property
    def seconds(self) -> float:
        """From the first row to the last."""
        return self.times[-1] - self.times[0] if self.times else 0.0


@dataclass(frozen=True, kw_only=True)
class DataWaits:
    """What the loader of one rank told in one link."""

    link: int
    rank: int
    wait_share: Series = NOTHING  # 0 to 1: how much of its time the training stood still for data
    samples_s: Series = NOTHING


@dataclass(frozen=True, kw_only=True)
class RunGauges:
    """All of them, by name and rank."""

    nodes: tuple[NodeSeries, ...] = ()
    waits: tuple[DataWaits, ...] = ()

    @property
    def gpus(self) -> tuple[tuple[NodeSeries, GpuGauges], ...]:
        return tuple((node, gpu) for node in self.nodes for gpu in node.gpus)

    @property
    def begin(self) -> float | None:
        return min((node.times[0] for node in self.nodes if node.times), default=None)

    @property
    def end(self) -> float | None:
        return max((node.times[-1] for node in self.nodes if node.times), default=None)


@dataclass(frozen=True, kw_only=True)
class NodeGauges:
    """What one node showed over some time, in a few numbers."""

    node: str
    seconds: float = 0.0  # from the first sample to the last
    memory_mb: float | None = None  # the most that was not cache
    limit_mb: float | None = None
    oom_kills: int = 0
    gpu_utilisation: float | None = None  # mean of all, in percent
    idle_gpus: int = 0  # never used at all
    gpus: int = 0
    cpus_used: float | None = None  # mean
