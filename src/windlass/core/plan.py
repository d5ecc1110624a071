"""What will be submitted: every gap of the run file filled with the site's facts, each choice with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from windlass.core.cost import Cost
from windlass.core.run import Staging
from windlass.core.site import ChainStyle, GpuDialect
from windlass.core.size import Size
from windlass.core.spending.limit import OwnLimit

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a value was chosen; shown by `windlass plan`."""

    field: str
    value: str
    why: str
    is_cut: bool = False  # less than was asked for


@dataclass(frozen=True, kw_only=True)
class RunnerUp:
    """The place that came second."""

    partition: str
    qos: str | None = None
    why_not: str = ""


@dataclass(frozen=True, kw_only=True)
class PlannedData:
    """One [data.NAME]: where it lies, and where the job reads it."""

    name: str
    source: str  # as the run file has it
    path: str  # at the site; may hold variables of the site's
    stage: Staging  # auto: the job decides by what it finds
    extract: bool = False
    bytes: int | None = None
    files: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Complete and deterministic: the script and its cost follow from it alone."""

    run_id: str
    number: int = 1  # of this submission of the run; a resume is one more
    site: str
    folder: str  # of the run, at the site, absolute
    command: str
    workdir: str = "."
    launcher: str = "single"
    argv: tuple[str, ...] = ()  # what the agent runs on the first node
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    reservation: str | None = None
    dependency: str | None = None
    mail: str | None = None  # whom Slurm itself writes to
    constraint: str | None = None
    exclude: str | None = None
    nodes: int = 1
    tasks_per_node: int = 1  # that srun starts
    processes_per_node: int = 1  # of the training, whoever starts them
    cpus_per_task: int = 1
    threads: int = 1  # of one process: OMP_NUM_THREADS
    gpus_per_node: int = 0
    gpu_spelled: str | None = None
    gpu_dialect: GpuDialect = GpuDialect.NONE
    memory_mb: int | None = None  # a node; 0: all of it; None: not asked
    exclusive: bool = False
    requeue: bool = False
    first_link: int = 1  # a resumed run goes on counting
    links: int = 1  # how many this submission holds
    links_before: int = 0  # of the same chain, in submissions of their own
    links_after: int = 0
    link_time: timedelta = timedelta(hours=1)
    link_limit: timedelta | None = None  # the longest one job may be here; a resume is cut by it too
    total_time: timedelta = timedelta(hours=1)
    chain: ChainStyle = ChainStyle.ARRAY
    stop_signal: str = "TERM"
    notice: timedelta = timedelta(seconds=120)
    checkpoint_folder: str | None = None
    done_file: str | None = None
    done_pattern: str | None = None
    restart: bool = False  # a command that broke down after saving is started again in the same job
    network_test: bool = False
    replace_nodes: bool = False
    interface: str | None = None  # the network interface for NCCL and Gloo
    data: tuple[PlannedData, ...] = ()
    data_in_memory_gb: float = 10.0  # up to so much goes into memory where the job decides
    data_on_node_gb: float = 100.0  # and so much onto the node's own disk
    local_scratch: str = "$SLURM_TMPDIR"
    bring_back: tuple[str, ...] = ()
    bring_back_every: timedelta | None = None
    modules: tuple[str, ...] = ()
    purge_modules: bool = False
    login_shell: bool = False  # `module` exists only in a login shell
    environment: str | None = None  # the id of what was built for it
    environment_left_out: str | None = None  # of what it asks for and is not built on one's own machine
    image: str | None = None  # what the tag of its container named when it was pulled: docker://NAME@sha256:...
    activate: tuple[str, ...] = ()  # shell lines that set up the environment
    packed: str | None = None  # the one file of the environment, which every node unpacks for itself
    inside: tuple[str, ...] = ()  # words before the command of every task: a container
    env: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    offline_env: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # caches of libraries, and not to ask
    kept: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # folders of the workdir that lie elsewhere
    network_env: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    launch_env: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # what the launcher wants set
    host_suffix: str = ""
    python: str = "python3"
    slurm_path: str | None = None
    cost: Cost
    size: Size | None = None  # of one job, as the site counts it
    limits: tuple[OwnLimit, ...] = ()  # hours that the user does not want to pass
    allowed_s: int | None = None  # how long all jobs of the run may last together, by its own limit
    reasons: tuple[Reason, ...] = ()
    runner_up: RunnerUp | None = None

    @property
    def is_array(self) -> bool:
        return self.links > 1 and self.chain is ChainStyle.ARRAY

    @property
    def jobs(self) -> int:
        """In the queue at the same time; where links are starts of one job it is one."""
        return 1 if self.chain is ChainStyle.REQUEUE else self.links

    @property
    def last_link(self) -> int:
        return self.first_link - 1 + self.links + self.links_after

    @property
    def tasks(self) -> int:
        return self.nodes * self.tasks_per_node

    @property
    def processes(self) -> int:
        return self.nodes * self.processes_per_node

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node
