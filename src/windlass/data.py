"""The verbs of `windlass data` as functions on typed values. No printing.

    import windlass

    windlass.data.send("~/imagenet", "imagenet", on="narval")
    for one in windlass.data.ls(on="narval"):
        print(one.name, one.set.files, one.set.path)

Without `on=` a data set is named by its path on this machine, where the function has a choice. Every function that
speaks to a site takes `session=` to share one connection between calls.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from windlass.api import HERE, use_session
from windlass.app.data import getting, packing, sampling, sending, taking
from windlass.app.data.advice import Advice
from windlass.app.data.advice import advise as advise_on
from windlass.app.data.converting import Converted, ConvertOptions
from windlass.app.data.converting import convert as convert_set
from windlass.app.data.getting_source import Got
from windlass.app.data.info import SetInfo, fetch_info, load_info
from windlass.app.data.packing import PackedSet, PackOptions
from windlass.app.data.sending import SendOptions, Sent
from windlass.app.data.sets import (
    KnownSet,
    Removed,
    Shared,
    Sharing,
    look_before_removing,
    register_set,
    remove_set,
    share_set,
    unregister_set,
)
from windlass.app.data.sets import list_sets as list_known
from windlass.app.data.taking import Sampling, Verified, Written
from windlass.app.session import Session

__all__ = [
    "Advice",
    "ConvertOptions",
    "Converted",
    "Got",
    "KnownSet",
    "PackOptions",
    "PackedSet",
    "Removed",
    "SendOptions",
    "Sent",
    "SetInfo",
    "Shared",
    "Sharing",
    "Verified",
    "Written",
    "advise",
    "convert",
    "extract",
    "get",
    "info",
    "ls",
    "pack",
    "pack_at",
    "register",
    "rm",
    "sample",
    "send",
    "share",
    "unregister",
    "verify",
]

Progress = Callable[[int, int], None]  # bytes done, of all
_AS_IT_IS = PackOptions()
_PLAIN = SendOptions()


def _keep_quiet(done: int, total: int) -> None:
    """Nobody looks."""


def pack(
    source: str | Path, target: str | Path, options: PackOptions = _AS_IT_IS, *, progress: Progress = _keep_quiet
) -> PackedSet:
    """A folder, a list, a table or an archive on this machine as a data set; again, only what changed is added."""
    return packing.pack_here(_find(source), _find(target), options, progress)


def pack_at(
    site: str,
    source: str,
    name: str,
    options: PackOptions = _AS_IT_IS,
    *,
    progress: Progress = _keep_quiet,
    session: Session | None = None,
) -> PackedSet:
    """What lies at a site already, packed there."""
    with use_session(session) as used:
        return packing.pack_there(used, used.site(site), source, name, options, progress)


def send(
    source: str | Path,
    name: str,
    *,
    on: str = HERE,
    options: SendOptions = _PLAIN,
    progress: Progress = _keep_quiet,
    session: Session | None = None,
) -> Sent:
    """Packed on its way to a site; again, only what changed travels."""
    with use_session(session) as used:
        return sending.send(used, used.site(on), _find(source), name, options=options, progress=progress)


def get(
    what: str,
    to: str | Path,
    *,
    on: str = HERE,
    extract: bool = False,
    force: bool = False,
    progress: Progress = _keep_quiet,
    session: Session | None = None,
) -> Got:
    """A data set of a site, or a path there, brought here: into a folder that is new, empty, or holds it already."""
    with use_session(session) as used:
        return getting.get(used, used.site(on), what, _find(to), extract=extract, force=force, progress=progress)


def ls(*, on: str = HERE, session: Session | None = None) -> tuple[KnownSet, ...]:
    """The data sets of a site."""
    with use_session(session) as used:
        return list_known(used, used.site(on)).sets


def info(what: str | Path, *, on: str | None = None, session: Session | None = None) -> SetInfo:
    """All about one."""
    if on is None:
        return load_info(_find(what))
    with use_session(session) as used:
        return fetch_info(used, used.site(on), str(what))


def verify(
    what: str | Path, *, on: str | None = None, progress: Progress = _keep_quiet, session: Session | None = None
) -> Verified:
    """Every byte read; its `damages` name each file that is not as it was packed."""
    if on is None:
        return taking.verify_here(_find(what), progress)
    with use_session(session) as used:
        site = used.site(on)
        return taking.verify_there(used, site, taking.find_packed(used, site, str(what)), progress)


def extract(
    what: str | Path, to: str | Path, *, only: Sequence[str] = (), force: bool = False, progress: Progress = _keep_quiet
) -> Written:
    """A data set on this machine, or those of its files that match, as plain files."""
    return taking.extract_here(_find(what), _find(to), only, force=force, progress=progress)


def sample(
    what: str | Path,
    to: str | Path,
    *,
    per_class: int = 5,
    seed: int = 0,
    packed: bool = False,
    on: str | None = None,
    session: Session | None = None,
) -> Written:
    """Some files of each class, as files or as a small data set."""
    wanted = Sampling(per_class=per_class, seed=seed, packed=packed)
    if on is None:
        return taking.sample_here(_find(what), _find(to), wanted)
    with use_session(session) as used:
        return sampling.fetch_sample(used, used.site(on), str(what), _find(to), wanted)


def convert(source: str | Path, target: str | Path, *, to: str, options: ConvertOptions | None = None) -> Converted:
    """Into another format, or from another format into a data set (`to="windlass"`)."""
    return convert_set(_find(source), _find(target), to=to, options=options or ConvertOptions())


def advise(
    what: str | Path, *, on: str = HERE, memory_mb: int | None = None, nodes: int = 1, session: Session | None = None
) -> Advice:
    """Where jobs should read it, and what the quota says before and after packing."""
    with use_session(session) as used:
        return advise_on(used, used.site(on), str(what), memory_mb=memory_mb, nodes=nodes)


def share(name: str, sharing: Sharing, *, on: str = HERE, session: Session | None = None) -> Shared:
    """Group and modes; with `Sharing(apply=False)` only what would change."""
    with use_session(session) as used:
        return share_set(used, used.site(on), name, sharing)


def register(
    name: str,
    path: str,
    *,
    on: str = HERE,
    description: str | None = None,
    replace: bool = False,
    session: Session | None = None,
) -> KnownSet:
    """A name for what lies elsewhere at the site."""
    with use_session(session) as used:
        return register_set(used, used.site(on), name, path, description=description, replace=replace)


def unregister(name: str, *, on: str = HERE, session: Session | None = None) -> str | None:
    """The name goes; where it led stays."""
    with use_session(session) as used:
        return unregister_set(used, used.site(on), name)


def rm(name: str, *, on: str = HERE, session: Session | None = None) -> Removed:
    """A data set of the site's. Raises DataInUse when a run that lives reads it."""
    with use_session(session) as used:
        site = used.site(on)
        found = look_before_removing(used, site, name)
        remove_set(used, site, found)
        return found


def _find(path: str | Path) -> Path:
    return Path(path).expanduser()
