"""What the user wants: the sections of windlass.toml as typed values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from windlass.core.site import ChainStyle
from windlass.core.spending.amounts import Amount
from windlass.core.sweep.wish import Sweep

_EMPTY: Mapping[str, str] = MappingProxyType({})


SET = "set:"  # begins a source that is the name of a data set at the site, and no path


class Staging(StrEnum):
    AUTO = "auto"  # by the size of the data and the site's disks
    MEMORY = "memory"  # into the node's memory
    NODE = "node"  # onto the node's own disk
    SHARED = "shared"  # left where it is


@dataclass(frozen=True, kw_only=True)
class Resources:
    """[resources]; None means: choose for me, and say why."""

    nodes: int | None = None  # default: as few as hold the GPUs
    gpus: int | None = None  # of the whole run; exclusive with gpus_per_node
    gpus_per_node: int | None = None  # exclusive with gpus
    gpu: str | None = None  # a kind the site knows, such as "a100"
    processes_per_node: int | None = None  # of your training; default: one for each GPU, or one
    cpus: int | None = (
        None  # for each task: one a process; torchrun, accelerate, deepspeed: one a node, for all of them
    )
    memory_mb: int | None = None  # for each node; written as "64G" in the file
    time: timedelta | None = None  # the whole training
    link_time: timedelta | None = None  # at most this much in one job; default: the site's limit
    exclusive: bool | None = None  # whole nodes, shared with nobody
    constraint: str | None = None  # features of the nodes, in Slurm's words
    reservation: str | None = None  # one that the site gave you
    dependency: str | None = None  # start after other jobs, in Slurm's words: "afterok:4711"
    exclude: str | None = None  # nodes not to be used, in Slurm's words: "node[3,7-9]"
    account: str | None = None  # who pays
    partition: str | None = None  # default: the one that fits best
    qos: str | None = None  # quality of service


# What of [resources] only the batch system of a centre can understand; sbatch's options are called alike.
WORDS_OF_A_CENTRE = ("account", "partition", "qos", "constraint", "reservation", "dependency", "exclude")


class Wheels(StrEnum):
    """Where the packages of a venv come from."""

    AUTO = "auto"  # the site's wheelhouse where it has one, else PyPI where the login node reaches it, else the laptop
    WHEELHOUSE = "wheelhouse"
    PYPI = "pypi"
    LAPTOP = "laptop"  # downloaded here for the site's platform, and sent


class BuildPlace(StrEnum):
    """Where an environment is built."""

    LOGIN = "login"
    JOB = "job"  # a short one of its own
    NODE = "node"  # on the own disk of every node, at the start of every job


# Kinds of environments, by their keys of [environment]: a run is in one of them.
KINDS_OF_ENVIRONMENT = ("venv", "conda", "container")


@dataclass(frozen=True, kw_only=True)
class Environment:
    """[environment]: what must be there before the command runs."""

    modules: tuple[str, ...] = ()  # what `module load` gets, in this order
    purge_modules: bool | None = None  # None: as the site advises
    venv: str | None = None  # requirements.txt, pyproject.toml, uv.lock, or a folder at the site
    wheels: Wheels = Wheels.AUTO  # where the packages of a venv come from
    python: str | None = None  # the version it must have, as "3.11"
    system_packages: bool | None = None  # a venv sees the packages of the modules; default: when there are modules
    conda: str | None = None  # environment.yml, a lock file, pixi.toml, or the name or folder of an environment
    container: str | None = None  # docker://IMAGE, a .sif or .def, or a folder at the site
    binds: tuple[str, ...] = ()  # folders that the container sees besides those it needs, as FROM or FROM:TO
    build: BuildPlace = BuildPlace.LOGIN  # where it is built
    build_time: timedelta | None = None  # of the job that builds it; default: an hour
    pack: bool = False  # as one file, which every node unpacks on its own disk
    activate: str | None = None  # a shell line of your own, run last and inside of what stands above

    @property
    def entered(self) -> dict[str, str]:
        """What a job enters, by key: it may hold paths of the site."""
        found = {name: getattr(self, name) for name in (*KINDS_OF_ENVIRONMENT, "activate")}
        return {name: value for name, value in found.items() if value}


class PrefetchPlace(StrEnum):
    """Where weights and data sets are fetched for nodes without internet."""

    LOGIN = "login"
    TRANSFER = "transfer"
    LAPTOP = "laptop"  # fetched here, and sent


@dataclass(frozen=True, kw_only=True)
class Prefetch:
    """[prefetch]: what must be fetched before a job can run on nodes without internet."""

    command: str | None = None  # what fetches it; default: the training itself, stopped before its first step
    where: PrefetchPlace | None = None  # default: the login node where it reaches the internet, else the laptop
    paths: tuple[str, ...] = ()  # folders of the working folder that it fills: every run finds them there
    verify: str | None = None  # loads all of it with the network off; default: the training, up to its first step
    limit: timedelta = timedelta(minutes=30)  # how long each of them may take


@dataclass(frozen=True, kw_only=True)
class Data:
    """[data.NAME]"""

    source: str = ""  # a path, or "set:NAME": a data set of the site's (`windlass data ls`); default: set: and NAME
    stage: Staging = Staging.AUTO  # where jobs read it
    extract: bool = False  # unpacked on the node, for programs that need plain files

    @property
    def set_name(self) -> str | None:
        """Of the data set at the site, where the source is no path."""
        return self.source.removeprefix(SET) if self.source.startswith(SET) else None


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """[checkpoint]"""

    folder: str | None = None  # relative to the working folder; without one a job gets its notice only at the very end
    signal: str = "TERM"  # what the command gets when the time is nearly up
    notice: timedelta | None = None  # how long before the end; default: two minutes, of a short job less; see folder
    max_links: int | None = None  # refuse to plan more jobs than this
    done_file: str | None = None  # relative to the working folder; the training is done only when it is there
    done_pattern: str | None = None  # a regular expression: the training is done only when it printed such a line
    restart: bool | None = None  # start a command again that broke down after saving; default: where a folder is named
    chain: ChainStyle | None = None  # how links follow one another; default: as the site prefers


class OverBudget(StrEnum):
    """What becomes of a run that could use more than is left."""

    REFUSE = "refuse"
    WARN = "warn"  # it is sent all the same, and stops by itself at the limit


@dataclass(frozen=True, kw_only=True)
class Budget:
    """[budget]: hours that you do not want to pass. What has used them up is stopped, with its work saved."""

    run: Amount | None = (
        None  # one run, with all its links and resumes; it stops by itself, also while the laptop sleeps
    )
    month: Amount | None = None  # all runs of this name at the site in a calendar month
    site: Amount | None = None  # all your jobs at the site in its accounting period, or in a calendar month
    over: OverBudget = OverBudget.REFUSE  # what becomes of a run that could use more than is left


@dataclass(frozen=True, kw_only=True)
class Farm:
    """[farm]: what one task of `windlass farm` takes, and how often and how long it is tried."""

    cpus: int = 1  # of one task
    gpus: int = 0  # of one task
    memory_mb: int = 0  # of one task, written as "4G" in the file; 0: not counted
    share: int = 1  # tasks on one GPU at the same time
    retries: int = 0  # how often a task that failed is tried again
    time: timedelta | None = None  # how long one takes: none is started when less is left of a job
    limit: timedelta | None = None  # a task that takes longer is ended
    linger: timedelta = timedelta()  # pilots without tasks wait so long for more
    pilots: int | None = None  # how many jobs; default: as few as are useful, by the site's limits
    pilot_time: timedelta | None = None  # how long each pilot may work, all its links; default: as tasks need


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The whole run file, after site overrides, WINDLASS_* and flags were applied."""

    name: str  # default: the folder's name
    command: str  # what starts your training: a line for bash
    workdir: str = "."  # relative to the project
    site: str | None = None  # where to run when the command line does not say
    launcher: str | None = None  # how processes start; default: seen from the code
    network_test: bool | None = None  # nodes talk to each other before the training starts; default: with several nodes
    replace_nodes: bool = True  # a node that cannot talk is left out, and the job submitted again
    include: tuple[str, ...] = ()  # patterns of files to send that git ignores
    exclude: tuple[str, ...] = ()  # patterns of files not to send
    max_mb: int = 200  # the code may be this large; data does not travel with it
    max_files: int = 10_000  # the code may have this many files
    results: tuple[str, ...] = ()  # patterns of what `windlass fetch` brings home
    bring_back: tuple[str, ...] = ()  # patterns of what comes back from $WINDLASS_NODE_DIR, the node's own disk
    bring_back_every: timedelta | None = None  # also while the training runs; default: at its end only
    env: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # variables of the command
    secrets: Mapping[str, str] = field(default_factory=lambda: _EMPTY)  # NAME -> "env:X" | "file:PATH" | "command:..."
    resources: Resources = field(default_factory=Resources)
    environment: Environment = field(default_factory=Environment)
    data: Mapping[str, Data] = field(default_factory=lambda: MappingProxyType({}))
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    budget: Budget = field(default_factory=Budget)
    farm: Farm = field(default_factory=Farm)
    prefetch: Prefetch | None = None  # None: the file does not speak of it
    sweep: Sweep | None = None  # the same
