"""An environment: what is wanted, what was built, and how a job enters it. The catalogue is `windlass.environments`."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from windlass.core.plan import Reason
from windlass.core.run import Environment, Resources, Wheels
from windlass.core.site import Site
from windlass_job import wire

if TYPE_CHECKING:  # it needs a library that costs the start of every command
    from windlass.core.wheels.python_needed import PythonNeeded
    from windlass.core.wheels.requirements import Requirements

_NONE: Mapping[str, str] = MappingProxyType({})
_STRICT = "set -e -o pipefail"  # as the batch script is: a line that fails ends the job
_LAST_TIME = 4_000_000_000  # in the year 2096
# What a kind's `find` says before the path.
PYTHON_NOW = "windlass-python "
MADE_FOR = "windlass-made-for "
_PROTOCOL = 1  # one more when the same recipe would be built in another way


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that decides what is built. Equal recipes are one environment."""

    kind: str
    modules: tuple[str, ...] = ()  # loaded before it is built, and in every job that uses it
    purge_modules: bool = False
    files: Mapping[str, str] = field(default_factory=lambda: _NONE)  # name and text of what the build reads
    settings: Mapping[str, str] = field(default_factory=lambda: _NONE)  # in the words of its kind
    platform: str = ""  # "x86_64": of the nodes it is for
    existing: str | None = None  # a folder, image or name at the site: nothing is built
    # Where its packages come from this time: the same environment may come from elsewhere tomorrow.
    wheels: Wheels | None = field(default=None, compare=False)
    sources: tuple[str, ...] = field(default=(), compare=False)  # files of the project that it was read from
    python_needed: "PythonNeeded | None" = field(default=None, compare=False)  # by requires-python of the project
    # The list of packages with the credentials of its indexes, for pip on the laptop: no part of what is built or sent.
    read_private: "Callable[[], Requirements] | None" = field(default=None, repr=False, compare=False)

    @property
    def is_made_by_jobs(self) -> bool:
        """On the own disk of every node, at the start of every job."""
        return self.existing is not None and bool(self.files)

    @property
    def id(self) -> str:
        """Such as venv-3f2a9c1b7d."""
        parts = [_PROTOCOL, self.kind, self.modules, self.purge_modules, self.platform, self.existing]
        parts += [sorted(self.files.items()), sorted(self.settings.items())]
        return f"{self.kind}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]}"


@dataclass(frozen=True, kw_only=True)
class Built:
    """What env.json says of an environment at a site."""

    id: str
    kind: str
    path: str  # what `current` leads to; of a container the image
    python: str | None = None  # "3.11.4"
    modules: tuple[str, ...] = ()
    platform: str = ""
    glibc: str | None = None
    bytes: int = 0
    files: int = 0
    made: float = 0.0  # seconds since 1970
    packed: str | None = None  # the one file, where there is one
    source: str = ""  # of a container: where its image came from
    digest: str | None = None  # of a container's image: sha256:...
    pinned: str | None = None  # what its tag named when it was pulled: docker://NAME@sha256:...
    packages: Mapping[str, str] = field(default_factory=lambda: _NONE)  # name and version
    outer: tuple[str, ...] = ()  # names of those that modules or the system bring
    gpu_code: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # "torch": ("sm_80", ...); as they say it
    made_for: Mapping[str, str] = field(default_factory=lambda: _NONE)  # "torch": "cuda 12.4"; "": for no GPU


@dataclass(frozen=True, kw_only=True)
class Damaged:
    """An environment at a site whose card does not tell what it is."""

    id: str
    path: str  # of its folder
    problem: str


@dataclass(frozen=True, kw_only=True)
class Remains:
    """What lies at a site of an environment that is not there."""

    id: str
    path: str
    has_build: bool  # one that failed, or goes on; else only wheels that were sent for it


@dataclass(frozen=True, kw_only=True)
class Build:
    """How it is made: bash, run as a login shell in an empty folder that is named by $WINDLASS_PREFIX."""

    script: str
    files: Mapping[str, bytes] = field(default_factory=dict)  # laid beside the script, which begins there
    needs_internet: bool = False
    needs_bytes: int = 0  # free space without which it is not begun
    needs_files: int = 0  # about; 0: not known
    path: str = ""  # of what it makes, in $WINDLASS_PREFIX; default: all of it. "image.sif" of a container


@dataclass(frozen=True, kw_only=True)
class Around:
    """What of a run decides how it enters a container, and is known only when the rest is planned."""

    workdir: str
    gpus_per_node: int = 0
    gpu: str | None = None  # the kind, as the site's file or Slurm names it
    folders: tuple[str, ...] = ()  # that its command reads or writes; may hold variables of the site's and the job's


@dataclass(frozen=True, kw_only=True)
class Entering:
    """What a job does to be inside."""

    lines: tuple[str, ...] = ()  # of the batch script, after the modules
    inside: tuple[str, ...] = ()  # words before the command of every task, on every node
    env: Mapping[str, str] = field(default_factory=lambda: _NONE)
    offline_env: Mapping[str, str] = field(default_factory=lambda: _NONE)  # variables with which it has no network
    finish: "Callable[[Around], Entering] | None" = None  # what is done where the rest of the plan matters


@dataclass(frozen=True, kw_only=True)
class Place:
    """An environment that is there already, as its kind's `find` tells of it."""

    path: str
    python: str | None = None  # "3.11.4": what its bin/python is now; None: it did not say
    made_for: str | None = None  # by its own files


@dataclass(frozen=True, kw_only=True)
class EnvironmentSeen:
    """What a run wants, and what is known of it at the site."""

    recipe: Recipe
    entering: Entering
    built: Built | None = None  # None: it is not built, or the site was not asked
    place: Place | None = None  # of one that nobody builds, where the site was asked
    is_asked: bool = False
    packed: str | None = None  # where its one file lies, or will lie, that the nodes of this run unpack
    problem: str | None = None  # what was found wrong with it at the site
    damage: str | None = None  # of its card: it is built anew
    python: str | None = None  # "3.9.18": what it would be built with, where that was asked
    other_python: str | None = None  # what to write where that one will not do
    is_left_out: bool = False  # the job runs in the environment it starts in: on one's own machine, in a rehearsal
    reasons: tuple[Reason, ...] = ()  # what was chosen for its build
    uses_outer_python: bool = False  # of its kind
    needs_bytes: int = 0  # about, where it must be built first
    needs_files: int = 0

    @property
    def is_missing(self) -> bool:
        """It must be built before a job can enter it; False also where the site was not asked."""
        return self.is_asked and self.built is None and self.recipe.existing is None and not self.is_left_out


ReadFile = Callable[[str], str | None]  # the text of a file of the project; None: there is none


@dataclass(frozen=True, kw_only=True)
class LockedText:
    """A file of the project from which the same can be built again."""

    text: str
    count: int  # of the packages in it
    left_out: tuple[str, ...] = ()  # packages that such a file cannot name


@dataclass(frozen=True, kw_only=True)
class Lock:
    """How the exact packages of what was built are written down."""

    make_script: Callable[[str], str]  # of where it lies: bash that lists them, run in a login shell
    read: Callable[[str, str], LockedText]  # what that printed, and the first line of the file
    name: Callable[[str], str]  # of the file, for a processor such as x86_64


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of environment."""

    name: str
    summary: str
    read: Callable[[Environment, Site, ReadFile], Recipe | None]  # None: the run wants none of this kind
    make_build: Callable[[Recipe, Site], Build]
    enter: Callable[[Environment, Recipe, str, Site], Entering]  # the third: where it lies, see `make_path`
    # Bash that prints a `Place`, its path last, or says why there is none.
    find: Callable[[Recipe, Site], str] | None = None
    # What others must know of it. They ask for the fact, never for the name.
    takes_wheels: bool = False  # its packages are files of a wheelhouse, an index or the laptop
    uses_outer_python: bool = False  # of the system or a module; else it brings one, whatever the modules say
    is_packable: bool = False  # many files, which work elsewhere too: a node may unpack them on its own disk
    is_image: bool = False  # one file, with a digest
    lock: Lock | None = None  # else its packages are pinned as pip does it, where it takes wheels
    is_made_on_nodes: bool = False  # where `build = "node"` asks for it


def find_contradiction(built: Built, env_id: str) -> str | None:
    """What a card says that cannot be, though it can be read. env_id: by the name of its folder."""
    if built.id != env_id:
        return f"it is the card of {built.id[:80]!r}"
    if not 0 <= built.made < _LAST_TIME:
        return f"it says that it was built {built.made:g} seconds after 1970"
    if built.files < 0 or built.bytes < 0:
        return f"it says that it has {built.files} files of {built.bytes} bytes"
    odd = next((text for text in _list_texts(built) if not text.isprintable()), None)
    return f"it says {odd[:80]!r}" if odd is not None else None


def _list_texts(built: Built) -> Iterator[str]:
    """Each a line, or a part of one, where it is shown."""
    yield from (built.kind, built.path, built.python or "", *built.modules, built.platform, built.glibc or "")
    yield from (*built.outer, built.packed or "", built.source, built.digest or "", built.pinned or "")
    yield from (text for pairs in (built.packages, built.made_for) for pair in pairs.items() for text in pair)
    yield from (text for name, code in built.gpu_code.items() for text in (name, *code))


def list_modules(environment: Environment, site: Site) -> tuple[str, ...]:
    """In the order in which they are loaded."""
    software = site.software
    runtime = (software.container_module,) if environment.container and software.container_module else ()
    return tuple(dict.fromkeys((*software.always_load, *environment.modules, *runtime)))


def choose_purge(environment: Environment, site: Site) -> bool:
    asked = environment.purge_modules
    return site.software.purge_modules if asked is None else asked


def find_platform(site: Site) -> str:
    """Of its nodes; empty where they differ: then it is the login node's, which is told after the build."""
    found = {one.architecture for one in site.node_types}
    return found.pop() if len(found) == 1 else ""


def narrow_to_nodes(site: Site, resources: Resources) -> Site:
    """With those types of nodes alone that a run gets, as far as its file names a partition or a kind of GPU."""
    partition, gpu = site.partition(resources.partition or ""), site.gpu(resources.gpu or "")
    types = [one for one in site.node_types if partition is None or one.name in partition.nodes]
    types = [one for one in types if gpu is None or one.gpu == gpu.name]
    return replace(site, node_types=tuple(types)) if types else site


def settle(entering: Entering, around: Around) -> Entering:
    """Once the rest of the plan is known."""
    return entering.finish(around) if entering.finish is not None else entering


def add_activation(entering: Entering, activate: str | None) -> Entering:
    """The user's own line comes last and inside: after a venv or conda, and in every task of a container."""
    if not activate:
        return entering
    if not entering.inside:
        return replace(entering, lines=(*entering.lines, activate))
    return replace(entering, inside=(*entering.inside, "bash", "-c", f'{_STRICT}\n{activate}\nexec "$@"', "windlass"))


def make_packed_path(recipe: Recipe, root: str) -> str:
    """Where its one file lies once it is packed."""
    return f"{root}/{wire.ENVS}/{recipe.id}/{wire.PACKED_ENV}"


def make_path(recipe: Recipe, root: str) -> str:
    """Where jobs find it; known before it is built."""
    return recipe.existing or f"{root}/{wire.ENVS}/{recipe.id}/{wire.ENV_CURRENT}"
