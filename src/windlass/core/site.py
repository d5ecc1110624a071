"""What a supercomputer is: the facts of one site file as typed values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

_EMPTY: Mapping[str, str] = MappingProxyType({})


class Scheduler(StrEnum):
    SLURM = "slurm"


class GpuDialect(StrEnum):
    """How this site wants GPUs to be asked for."""

    GRES = "gres"  # --gres=gpu:a100:4
    GPUS_PER_NODE = "gpus-per-node"  # --gpus-per-node=a100:4
    CONSTRAINT = "constraint"  # --constraint=gpu, the whole node comes with its GPUs
    NONE = "none"


class CostUnit(StrEnum):
    CORE_HOURS = "core-hours"
    NODE_HOURS = "node-hours"
    GPU_HOURS = "gpu-hours"
    BILLING = "billing-hours"  # Slurm's own weights of CPUs, memory and GPUs
    NONE = "none"  # nothing is charged
    UNKNOWN = "unknown"


class ModuleSystem(StrEnum):
    LMOD = "lmod"
    TCL = "tcl"
    NONE = "none"


class FileTime(StrEnum):
    """The times that a file system keeps of a file."""

    ATIME = "atime"  # when it was read last
    MTIME = "mtime"  # when it was written last
    CTIME = "ctime"  # when it was written, renamed or given other rights last


class ChainStyle(StrEnum):
    ARRAY = "array"  # --array=1-N%1
    DEPENDENCY = "dependency"  # --dependency=afterany
    REQUEUE = "requeue"


@dataclass(frozen=True, kw_only=True)
class Login:
    """[login]; host None means this very machine."""

    host: str | None = None  # as you give it to ssh; none: this very machine
    user: str | None = None  # your name there, when it differs
    port: int | None = None  # when it is not 22
    jump: tuple[str, ...] = ()  # hosts on the way, the first first
    transfer_host: str | None = None  # for large data
    transfer_root: str | None = None  # a folder there where data lands, when only the login node can write to `root`
    options: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # ssh -o NAME=value
    login_shell: bool = False  # Slurm or variables such as $SCRATCH are there only in a login shell
    vpn: str | None = None  # what to connect to first, in words
    globus: str | None = None  # the name of the endpoint for large data
    globus_after: timedelta | None = None  # the site wants transfers that take longer to go by Globus
    transfer_note: str | None = None  # what else to know about moving data, in words


@dataclass(frozen=True, kw_only=True)
class Machine:
    """[machine]: the whole of it, for people."""

    nodes: int | None = None  # of all kinds
    cores: int | None = None  # of all nodes
    gpus: int | None = None  # of all nodes
    memory_tb: float | None = None  # of all nodes
    petaflops: float | None = None  # as the centre tells it
    network: str | None = None  # between the nodes, in words
    processor: str | None = None  # of most nodes, in words


@dataclass(frozen=True, kw_only=True)
class Area:
    """[storage.NAME]: one place for files."""

    name: str
    path: str  # may hold variables of the site, such as $SCRATCH
    quota_gb: float | None = None  # for each user, or for each group
    quota_files: int | None = None  # how many files
    per_group: bool = False  # the quota is the group's
    purge_days: int | None = None  # files unused for so long are removed
    purge_by: tuple[FileTime, ...] = ()  # by the newest of these times; default: atime and mtime
    backed_up: bool | None = None  # copies are kept elsewhere
    in_jobs: bool = True  # compute nodes see it
    on_login: bool = True  # login nodes see it
    blocks_jobs: bool = False  # over its quota no job is taken
    advised_file_mb: float | None = None  # smaller files are unwelcome: pack them; no shard is meant to be smaller
    purpose: str | None = None  # what it is for, in words
    quota_command: str | None = None  # "diskusage_report", "lfs quota -u $USER /project"


@dataclass(frozen=True, kw_only=True)
class GpuKind:
    """[gpu.NAME]"""

    name: str
    spelled: str | None = None  # what Slurm calls it; default: the name
    memory_gb: float | None = None  # of one
    capability: str | None = None  # "8.0"
    wheels: str | None = None  # where builds for it are, when the usual ones dropped its capability
    cuda_cores: int | None = None  # of one
    link: str | None = None  # how those of a node are joined: "NVLink", "PCIe"


@dataclass(frozen=True, kw_only=True)
class NodeType:
    """[node.NAME]"""

    name: str
    count: int | None = None  # how many there are
    cores: int | None = None  # of one node
    threads_per_core: int = 1  # hardware threads
    memory_gb: float | None = None  # what jobs may have of one node
    gpu: str | None = None  # the kind, a name of [gpu.NAME]
    gpus: int = 0  # in one node
    architecture: str = "x86_64"  # or aarch64
    local_disk_gb: float | None = None  # disk of the node's own
    features: tuple[str, ...] = ()  # for resources.constraint
    cpus_per_gpu: int | None = None  # the site's advice; default: cores / gpus
    memory_per_gpu_gb: float | None = None  # the site's advice
    processor: str | None = None  # in words


@dataclass(frozen=True, kw_only=True)
class Partition:
    """[partition.NAME]"""

    name: str
    nodes: tuple[str, ...] = ()  # names of node types
    max_time: timedelta | None = None  # longest job
    default_time: timedelta | None = None  # of a job that does not ask
    max_nodes: int | None = None  # largest job
    min_nodes: int = 1  # smallest job
    whole_nodes: bool | None = None  # None: as the site
    accounts: tuple[str, ...] = ()  # empty: all
    qos: tuple[str, ...] = ()  # those allowed here
    is_default: bool = False  # jobs that name none go here
    for_tests: bool = False  # short limit, quick start
    category: str | None = None  # for projects of this category only
    forbidden: str | None = None  # why users may not use it
    default_cpus_per_gpu: int | None = None  # what a job gets that does not ask
    default_memory_per_gpu_gb: float | None = None  # what a job gets that does not ask
    purpose: str | None = None  # what it is for, in words


@dataclass(frozen=True, kw_only=True)
class Qos:
    """[qos.NAME]"""

    name: str
    max_time: timedelta | None = None  # longest job
    max_running: int | None = None  # jobs of yours at once
    max_submitted: int | None = None  # jobs of yours in the queue
    max_gpus: int | None = None  # GPUs of yours at once
    priority: int | None = None  # as Slurm counts it
    is_default: bool = False  # jobs that name none have it
    hidden: bool = False  # not to be offered
    for_tests: bool = False  # short limit, quick start
    purpose: str | None = None  # what it is for, in words


@dataclass(frozen=True, kw_only=True)
class Accounting:
    """[accounting]"""

    unit: CostUnit = CostUnit.UNKNOWN  # what is counted
    period: str | None = None  # "quarter", "year"
    charged_cores_per_node: int | None = None  # where a node costs more cores than it has
    balance_command: str | None = None  # tells what is left
    unit_name: str | None = None  # what the centre calls the unit, where it has a name of its own
    shared_by: str | None = None  # whose budget it is: "lab", "project"; empty: yours alone
    balance_page: str | None = None  # where a browser shows what is left
    account_command: str | None = None  # lists the accounts you may name
    account_prefixes: tuple[str, ...] = ()  # how names of accounts begin
    account_rule: str | None = None  # how accounts are named, in words


@dataclass(frozen=True, kw_only=True)
class Rules:
    """[rules]: what this centre wants, expects or forbids."""

    needs_account: bool = False  # every job must name one
    needs_time: bool = False  # every job must ask for one
    whole_nodes: bool = False  # jobs get nodes whole
    jobs_from_home: bool = True  # jobs may lie in and write to home
    compute_internet: bool | None = None  # compute nodes reach the internet
    memory_can_be_asked: bool = True  # jobs may use --mem
    gpu_dialect: GpuDialect = GpuDialect.GRES  # how jobs ask for GPUs
    typed_gpus: bool = True  # a request may name the kind
    needs_gpu_type: bool = False  # a request must name the kind
    chain: ChainStyle = ChainStyle.ARRAY  # how links follow one another
    jobs_submit_jobs: bool | None = None  # jobs may call sbatch themselves; unknown: they try
    requeue: bool = False  # False: --no-requeue, a lost node must not start the training twice
    max_submitted: int | None = None  # jobs of yours in the queue
    max_array: int | None = None  # largest index of an array
    min_job_time: timedelta | None = None  # shorter jobs are unwelcome
    cuts_to_fit: bool = False  # what is not there is left out, with a word: for trying things out
    slurm_mail: bool | None = None  # mail that Slurm sends (--mail-user) arrives; unknown: it is not asked for
    poll_s: int = 30  # seconds between two questions to Slurm; up to 30, who looks once (`ps`) may ask after 10
    interactive: bool | None = None  # jobs that one types into are welcome: a shell, a notebook
    max_nodes_interactive: int | None = None  # of such a job, also by salloc
    login_services: bool | None = None  # small servers such as TensorBoard may run on login nodes
    max_time: timedelta | None = None  # for all partitions
    names_partition: bool = True  # False: the site chooses by time and size, and jobs name none
    advised_link_time: timedelta | None = None  # shorter links start sooner here
    time_bins: tuple[timedelta, ...] = ()  # limits by which the site sorts its nodes
    tmp_in_memory: bool | None = None  # /tmp counts against the job's memory
    one_gpu_kind: bool = False  # a job cannot have GPUs of two kinds
    min_test_time: timedelta | None = None  # a test may be this short where min_job_time is longer
    login_gpus: bool | None = None  # login nodes have GPUs
    login_internet: bool | None = None  # login nodes reach the internet
    login_for: str | None = None  # what login nodes are for, in words
    data_in_memory_gb: float | None = None  # the site advises to keep data up to this in memory
    data_on_node_gb: float | None = None  # the site advises to copy data up to this to the node's own disk


@dataclass(frozen=True, kw_only=True)
class Software:
    """[software]"""

    modules: ModuleSystem = ModuleSystem.NONE  # which module system
    purge_modules: bool = False  # `module purge` first
    python: str = "python3"  # for our own code on the login node and in jobs
    slurm_path: str | None = None  # a folder to put in front of PATH; "@pocket" is ours
    wheelhouse: str | None = None  # a folder with the site's own Python wheels
    container: str | None = None  # "apptainer", "singularity"
    container_module: str | None = None  # what to load for it
    container_cache: str | None = None  # a folder for images, where home is too small
    container_home: str | None = None  # what takes the place of home inside, where jobs cannot see home
    conda: str | None = None  # "mamba", "/opt/miniforge3/bin/conda": which client of conda's; default: the first found
    always_load: tuple[str, ...] = ()  # modules everything else needs ("Stages/2024", "daint-gpu")
    modules_on_login: bool = True  # False: `module` exists only in jobs
    operating_system: str | None = None  # in words
    driver: str | None = None  # of the GPUs, as nvidia-smi tells it
    cuda: str | None = None  # the newest that the driver runs
    wheel_command: str | None = None  # finds wheels in the wheelhouse


@dataclass(frozen=True, kw_only=True)
class Network:
    """[network]: for launchers."""

    host_suffix: str = ""  # JSC: "i" names the fabric's interface
    interface: str | None = None  # the fast one, for NCCL and Gloo
    env: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # variables every job gets


@dataclass(frozen=True, kw_only=True)
class Site:
    """One supercomputer, or this machine."""

    name: str  # default: the name of the file
    title: str = ""  # in words
    country: str | None = None  # where it stands
    category: str | None = None  # of your project, where queues are for some categories only
    replaced_by: str | None = None  # what took its place, where it is being switched off
    machine: Machine = field(default_factory=Machine)
    scheduler: Scheduler = Scheduler.SLURM  # only slurm so far
    root: str = "$HOME/windlass"  # where run folders live; variables of the site allowed
    local_scratch: str = "$SLURM_TMPDIR"  # a node's own disk, inside jobs
    login: Login = field(default_factory=Login)
    storage: tuple[Area, ...] = ()
    gpus: tuple[GpuKind, ...] = ()
    node_types: tuple[NodeType, ...] = ()
    partitions: tuple[Partition, ...] = ()
    qos: tuple[Qos, ...] = ()
    accounting: Accounting = field(default_factory=Accounting)
    rules: Rules = field(default_factory=Rules)
    software: Software = field(default_factory=Software)
    network: Network = field(default_factory=Network)
    support: str | None = None  # where to ask for help
    documentation: str | None = None  # the centre's own pages
    notes: tuple[str, ...] = ()  # shown by `windlass site show`
    onboarding: tuple[str, ...] = ()  # the steps to get an account
    links: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # "jupyter" -> address
    datasets: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # shared data that is there already
    sources: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # dotted key -> where the fact is from
    decisions: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # documents disagree: what was taken, why

    @property
    def is_local(self) -> bool:
        return self.login.host is None

    def find_closed(self, partition: Partition) -> str | None:
        """Why this user's jobs do not go there, in words; None where they may."""
        if partition.forbidden is None and partition.category not in (None, self.category):
            return f'it is for {partition.category} projects only; category = "{partition.category}" in the site file'
        return partition.forbidden

    def list_partitions(self, category: str | None) -> tuple[Partition, ...]:
        """What a project of this category may use."""
        return tuple(one for one in self.partitions if one.category in (None, category) and one.forbidden is None)

    def partition(self, name: str) -> Partition | None:
        return next((one for one in self.partitions if one.name == name), None)

    def area(self, name: str) -> Area | None:
        return next((one for one in self.storage if one.name == name), None)

    def node_type(self, name: str) -> NodeType | None:
        return next((one for one in self.node_types if one.name == name), None)

    def gpu(self, name: str) -> GpuKind | None:
        return next((one for one in self.gpus if name in (one.name, one.spelled)), None)
