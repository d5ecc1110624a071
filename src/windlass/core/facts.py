"""What was seen of a site just now: the survey's answers. None means not seen, never a guess."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, kw_only=True)
class SeenPartition:
    name: str
    state: str = "UP"
    is_default: bool = False
    max_time: timedelta | None = None  # None: no limit
    default_time: timedelta | None = None
    max_nodes: int | None = None
    nodes: int | None = None
    cpus_per_node: int | None = None
    memory_mb_per_node: int | None = None
    gpus: tuple[tuple[str, int], ...] = ()  # (kind as Slurm spells it, "" when untyped; most on one node)
    whole_nodes: bool = False
    allow_accounts: tuple[str, ...] = ()  # empty: all
    allow_qos: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Association:
    account: str
    partition: str | None = None
    qos: tuple[str, ...] = ()
    default_qos: str | None = None
    is_default: bool = False
    max_jobs: int | None = None
    max_submit: int | None = None
    max_time: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class SeenQos:
    name: str
    max_time: timedelta | None = None
    max_jobs: int | None = None
    max_submit: int | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One survey of one site for one user."""

    user: str | None = None
    home: str | None = None
    root: str | None = None  # the site's root with its variables filled in
    python_version: str | None = None  # of our own code at the login node
    scheduler_version: str | None = None
    partitions: tuple[SeenPartition, ...] | None = None
    associations: tuple[Association, ...] | None = None
    qos: tuple[SeenQos, ...] | None = None
    max_array: int | None = None
    has_accounting: bool | None = None
    free_mb: int | None = None  # where root lies
    jobs_in_queue: int | None = None
    taken_at: float | None = None  # seconds since 1970

    def partition(self, name: str) -> SeenPartition | None:
        return next((one for one in self.partitions or () if one.name == name), None)


NOTHING_SEEN = Facts()
