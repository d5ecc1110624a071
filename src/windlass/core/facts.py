"""What was seen of a site just now: the survey's answers. None means not seen, never a guess."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

_NO_LIMITS: Mapping[str, int] = MappingProxyType({})
_NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})
_NO_WORDS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class NodeShape:
    """Nodes of one partition that are alike."""

    nodes: int | None = None
    cpus: int | None = None  # as Slurm counts them: mostly hardware threads
    cores: int | None = None
    memory_mb: int | None = None
    gpus: tuple[tuple[str, int], ...] = ()  # (kind as Slurm spells it, "" when untyped; how many on one node)
    features: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SeenPartition:
    name: str
    state: str = "UP"
    is_default: bool = False
    max_time: timedelta | None = None  # None: no limit
    default_time: timedelta | None = None
    max_nodes: int | None = None
    min_nodes: int | None = None
    nodes: int | None = None
    cpus_per_node: int | None = None  # the most of one node, as memory and GPUs
    memory_mb_per_node: int | None = None
    gpus: tuple[tuple[str, int], ...] = ()  # (kind as Slurm spells it, "" when untyped; most on one node)
    shapes: tuple[NodeShape, ...] = ()  # the kinds of node in it
    whole_nodes: bool = False
    allow_accounts: tuple[str, ...] = ()  # empty: all
    deny_accounts: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    qos: str | None = None  # whose limits hold for every job in it
    allow_groups: tuple[str, ...] = ()  # of Unix; empty: all
    max_cpus_per_node: int | None = None
    max_memory_mb_per_node: int | None = None
    max_memory_mb_per_cpu: int | None = None
    default_cpus_per_gpu: int | None = None
    default_memory_mb_per_gpu: int | None = None
    preempts: bool | None = None  # its jobs may be pushed out by others
    needs_reservation: bool = False
    only_root: bool = False
    billing_weights: Mapping[str, float] = field(default_factory=lambda: _NO_WEIGHTS)  # by name; memory a GB


@dataclass(frozen=True, kw_only=True)
class Association:
    """What Slurm lets this user do with one account; limits of the accounts above it are in it.

    Limits on resources are by name: "cpu", "gres/gpu", "gres/gpu:a100", "node", "billing"; "mem" is in MB.
    """

    account: str
    parents: tuple[str, ...] = ()  # the accounts above it, the nearest first
    partition: str | None = None
    qos: tuple[str, ...] = ()
    default_qos: str | None = None
    is_default: bool = False
    max_jobs: int | None = None
    max_submit: int | None = None
    max_time: timedelta | None = None
    max_per_job: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
    group_minutes: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)  # GrpTRESMins: the budget
    group_at_once: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)  # of all jobs that run together


@dataclass(frozen=True, kw_only=True)
class SeenQos:
    name: str
    max_time: timedelta | None = None
    max_jobs: int | None = None  # of one user
    max_submit: int | None = None
    priority: int | None = None
    max_per_job: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
    min_per_job: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
    max_per_user: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
    group_minutes: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
    group_at_once: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
    denies_on_limit: bool = False  # False: a job over a limit is taken and never starts
    preempted_by: tuple[str, ...] = ()  # QOS whose jobs may push its jobs out


@dataclass(frozen=True, kw_only=True)
class Reservation:
    name: str
    starts: float  # seconds since 1970
    ends: float
    partition: str | None = None  # None: not bound to one
    nodes: int | None = None
    all_nodes: bool = False  # of the machine
    accounts: tuple[str, ...] = ()  # that may use it
    users: tuple[str, ...] = ()
    is_maintenance: bool = False
    partitions_covered: tuple[str, ...] = ()  # those that have no node outside it


@dataclass(frozen=True, kw_only=True)
class Balance:
    """What is left to one account, in the unit that was told: "core-hours", "node-hours", "billing-hours", ..."""

    account: str
    unit: str
    limit: float | None = None  # None: none was found
    used: float | None = None
    source: str = ""  # the command that told it

    @property
    def left(self) -> float | None:
        return None if self.limit is None or self.used is None else self.limit - self.used


@dataclass(frozen=True, kw_only=True)
class SeenQuota:
    """What is used of one storage area."""

    area: str  # a name of [storage.NAME], or the path where the site file has none
    path: str
    used_bytes: int | None = None
    limit_bytes: int | None = None
    used_files: int | None = None
    limit_files: int | None = None
    source: str = ""  # the command that told it
    is_shared: bool = False  # numbers of the whole file system, which others fill too: nobody's quota


@dataclass(frozen=True, kw_only=True)
class SeenSet:
    """A data set of the site's: one that was sent or packed there, or one that a name was given to."""

    name: str
    path: str
    kind: str = "packed"  # "packed", "folder", "file"; "partial": never finished; "missing": its pointer leads nowhere
    files: int | None = None  # in it, not at the site: of a packed set those are `shards` and their indexes
    bytes: int | None = None
    shards: int | None = None
    archived: int | None = None  # bytes of the shards
    classes: int | None = None
    problem: str | None = None  # why it cannot be used as it is
    owner: str | None = None
    group: str | None = None
    mode: int | None = None
    readers: str | None = None  # "all", "group" or "owner"
    oldest_use: float | None = None  # when the file that was used least recently was last used, seconds since 1970
    about: Mapping[str, str] = field(default_factory=lambda: _NO_WORDS)
    is_pointer: bool = False  # it lies elsewhere; ROOT/data only names it
    of_the_site: bool = False  # the site file names it: the centre's own


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One survey of one site for one user."""

    user: str | None = None
    groups: tuple[str, ...] | None = None  # of Unix
    home: str | None = None
    root: str | None = None  # the site's root with its variables filled in
    python_version: str | None = None  # of our own code at the login node
    scheduler_version: str | None = None
    allows_children: bool | None = None  # a partition's list of accounts admits those below them too
    partitions: tuple[SeenPartition, ...] | None = None
    associations: tuple[Association, ...] | None = None
    qos: tuple[SeenQos, ...] | None = None
    reservations: tuple[Reservation, ...] | None = None
    balances: tuple[Balance, ...] | None = None
    quotas: tuple[SeenQuota, ...] | None = None
    max_array: int | None = None
    enforces_partition_limits: bool | None = None  # False: a job over one is taken and never starts
    enforces_limits: bool | None = None  # those of accounts and QOS
    starts_only_what_is_paid: bool | None = None  # `safe`: no job starts that could use up more than is left
    memory_is_counted: bool | None = None  # False: --mem means nothing here, or is refused
    bills_the_largest: bool | None = None  # a job is charged for the largest of its weights, not for their sum
    has_accounting: bool | None = None
    free_mb: int | None = None  # where root lies
    free_files: int | None = None
    jobs_in_queue: int | None = None  # every task of an array is one
    jobs_by_account: Mapping[str, int] | None = None
    jobs_by_qos: Mapping[str, int] | None = None
    inside_job: str | None = None  # the shell that asked sits in an allocation of this number
    architecture: str | None = None  # of the login node: "x86_64"
    glibc: str | None = None  # of the login node
    data_sets: tuple[SeenSet, ...] | None = None  # those that the run names; never kept, always just looked at
    data_names: tuple[str, ...] | None = None  # of all data sets there are, as far as was looked
    taken_at: float | None = None  # seconds since 1970

    def partition(self, name: str) -> SeenPartition | None:
        return next((one for one in self.partitions or () if one.name == name), None)

    def seen_qos(self, name: str | None) -> SeenQos | None:
        return next((one for one in self.qos or () if one.name == name), None)

    def data_set(self, name: str | None) -> SeenSet | None:
        return next((one for one in self.data_sets or () if one.name == name), None)

    def balance(self, account: str | None) -> Balance | None:
        return next((one for one in self.balances or () if one.account == account), None)


NOTHING_SEEN = Facts()
