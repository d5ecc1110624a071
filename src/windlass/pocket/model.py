"""What a job is: what was asked for, what it was given, and how it went."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    NODE_FAIL = "NODE_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    REQUEUED = "REQUEUED"  # only in the history of a job

    @property
    def is_final(self) -> bool:
        return self not in (State.PENDING, State.RUNNING)

    @property
    def short(self) -> str:
        return SHORT_STATES[self]


SHORT_STATES = {
    State.PENDING: "PD",
    State.RUNNING: "R",
    State.COMPLETED: "CD",
    State.FAILED: "F",
    State.TIMEOUT: "TO",
    State.CANCELLED: "CA",
    State.NODE_FAIL: "NF",
    State.OUT_OF_MEMORY: "OOM",
    State.REQUEUED: "RQ",
}


class Kind(StrEnum):
    BATCH = "batch"  # a script, run by a supervisor of its own
    ALLOCATION = "allocation"  # salloc or srun: the program itself is the supervisor


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for; written once, at submission."""

    kind: Kind = Kind.BATCH
    name: str
    user: str
    uid: int
    partition: str
    chdir: str
    submit_dir: str
    submit_host: str
    command: str = ""
    script_args: tuple[str, ...] = ()
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    output: str = ""
    error: str = ""
    input: str = ""
    open_mode: str = ""
    min_nodes: int | None = None
    max_nodes: int | None = None
    ntasks: int | None = None
    ntasks_per_node: int | None = None
    cpus_per_task: int | None = None
    cpus_per_gpu: int | None = None
    min_cpus: int | None = None
    gpu_type: str = ""
    gpus: int | None = None
    gpus_per_node: int | None = None
    gpus_per_task: int | None = None
    memory_mb: int | None = None  # a node; 0 is all of it
    memory_per_cpu_mb: int | None = None
    memory_per_gpu_mb: int | None = None
    is_exclusive: bool = False
    overcommits: bool = False
    dependency: str = ""
    kills_on_invalid_dependency: bool = False
    may_requeue: bool = True
    signal: str = ""
    array_indices: tuple[int, ...] = ()
    export: str = "ALL"
    node_pattern: str = "pocket{}"  # how the pretended nodes are called


@dataclass(frozen=True, kw_only=True)
class Share:
    """What a job has of one pretended node."""

    tasks: int
    cpus: int
    memory_mb: int = 0  # 0: neither counted nor limited
    gpus: int = 0


@dataclass(frozen=True, kw_only=True)
class Job:
    """One row of the queue; of an array, one task."""

    id: int
    array_id: int | None = None
    array_index: int | None = None
    array_limit: int | None = None
    name: str
    request: Request
    layout: tuple[Share, ...]
    state: State = State.PENDING
    reason: str = "None"
    is_held: bool = False
    comment: str = ""
    submit_at: float
    begin_at: float | None = None
    start_at: float | None = None
    end_at: float | None = None
    time_limit_s: int | None = None
    restarts: int = 0
    exit_code: int = 0
    exit_signal: int = 0
    gpus: tuple[tuple[int, ...], ...] = ()
    token: str = ""  # of this launch; a supervisor with another one may not touch the job
    supervisor_pid: int | None = None
    cancelled_by: int | None = None
    max_rss_kb: int = 0

    @property
    def display_id(self) -> str:
        return str(self.id) if self.array_id is None else f"{self.array_id}_{self.array_index}"

    @property
    def cpus(self) -> int:
        return sum(share.cpus for share in self.layout)

    @property
    def tasks(self) -> int:
        return sum(share.tasks for share in self.layout)

    @property
    def memory_mb(self) -> int:
        return sum(share.memory_mb for share in self.layout)

    @property
    def gpu_count(self) -> int:
        return sum(share.gpus for share in self.layout)

    @property
    def node_names(self) -> tuple[str, ...]:
        return node_names(len(self.layout), self.request.node_pattern)


@dataclass(frozen=True, kw_only=True)
class Step:
    """The batch script (`batch`) or one srun (`0`, `1`, …) of one run of a job."""

    job_id: int
    restarts: int
    step: str
    name: str
    state: State = State.RUNNING
    start_at: float
    end_at: float | None = None
    exit_code: int = 0
    exit_signal: int = 0
    nodes: int = 1
    tasks: int = 1
    cpus: int = 1
    is_shared: bool = False  # --overlap: takes no CPUs away from other steps
    pid: int = 0
    max_rss_kb: int = 0


class OrderKind(StrEnum):
    SIGNAL = "signal"
    CANCEL = "cancel"
    REQUEUE = "requeue"


@dataclass(frozen=True, kw_only=True)
class Order:
    """What somebody wants of a running job; its supervisor carries it out."""

    id: int
    job_id: int
    kind: OrderKind
    signal: int = 0
    scope: str = "steps"  # steps, batch, full, or a step's number
    uid: int = 0


def node_names(count: int, pattern: str = "pocket{}") -> tuple[str, ...]:
    """The pretended nodes of a job. Every job's first node is pocket1: they are all this machine."""
    return tuple(pattern.format(number) for number in range(1, count + 1))
