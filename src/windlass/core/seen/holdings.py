"""What Windlass itself holds at a site: runs, data sets, environments, contents; and what removes each."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from windlass.core.record import RunRecord
from windlass.core.seen.walked import OURS, Folder, Walk
from windlass_job import wire


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One folder of the site's root."""

    words: str
    remove: str | None = None  # the command; `{name}` is the folder in it. None: nobody needs to
    lost: str = ""  # what becomes of it when the site purges it


@dataclass(frozen=True, kw_only=True)
class Holding:
    kind: str  # the folder's name: "runs"
    words: str
    name: str = ""  # of one thing in it; empty: all of it
    files: int
    bytes: int
    doomed_files: int = 0
    first: float | None = None
    remove: str | None = None
    is_needed: bool = False  # a run that waits or runs
    lost: str = ""


# folder of the root -> what it is
KINDS: Mapping[str, Kind] = {
    wire.RUNS: Kind(
        words="run",
        remove="windlass rm {name}",
        lost="its results and checkpoints are gone: windlass fetch {name} brings them home",
    ),
    wire.DATA: Kind(
        words="data set",
        remove="windlass data rm {name} --on {site}",
        lost="runs that read it are refused until it is sent again: windlass data verify {name} --on {site} looks",
    ),
    wire.ENVS: Kind(
        words="environment",
        remove="windlass env rm {name} --on {site}",
        lost="it is built again by the next run that wants it",
    ),
    wire.BLOBS: Kind(words="contents of files that were sent", lost="what is missing is sent again by the next run"),
    wire.CACHES: Kind(
        words="weights and data sets of hubs", lost="windlass prefetch --on {site} fetches what is missing again"
    ),
    wire.WHEELS: Kind(
        words="wheels sent for",
        remove="windlass env rm {name} --wheels --on {site}",
        lost="they are sent again by the next build",
    ),
    wire.IMAGES: Kind(words="layers of images", remove="windlass container clean --on {site}"),
    wire.WORK: Kind(words="notes of long work"),
    wire.TOOLS: Kind(words="our own programs", lost="they are sent again when they are needed"),
    wire.CONTAINER_HOME: Kind(words="home of containers"),
}
_ONE_BY_ONE = (wire.RUNS, wire.DATA, wire.ENVS, wire.WHEELS)
_NOT_BUILT = Kind(words="remains of the build of", remove="windlass env rm {name} --on {site}")


def list_holdings(walk: Walk, site: str, find_run: Callable[[str], RunRecord | None]) -> tuple[Holding, ...]:
    """The largest first: runs, data sets, environments and their wheels one by one, the rest by kind."""
    ours = walk.place(OURS)
    if ours is None:
        return ()
    built = frozenset(walk.environments) if walk.environments is not None else None
    found = [one for folder in ours.biggest for one in _make_holding(folder, site, find_run, built)]
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.kind, one.name)))


def _make_holding(
    folder: Folder, site: str, find_run: Callable[[str], RunRecord | None], built: frozenset[str] | None
) -> Iterator[Holding]:
    """built: environments; None: it is not known which they are."""
    kind, _, name = folder.path.partition("/")
    about = KINDS.get(kind)
    # A name with a dot is how we keep house there: locks, and what is just being removed.
    if about is None or bool(name) != (kind in _ONE_BY_ONE) or name.startswith("."):
        return
    if kind == wire.ENVS and built is not None and name not in built:
        about = _NOT_BUILT
    run = find_run(name) if kind == wire.RUNS else None
    is_needed = run is not None and not run.state.is_final
    yield Holding(
        kind=kind,
        words=about.words,
        name=name,
        files=folder.files,
        bytes=folder.bytes,
        doomed_files=folder.doomed_files,
        first=folder.first,
        remove=about.remove.format(name=name, site=site) if about.remove and not is_needed else None,
        is_needed=is_needed,
        lost=about.lost.format(name=name, site=site),
    )
