"""What all long work on data sets shares: a worker at the site that we follow, and errors for people."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.host import Json
from windlass.edges.site_work import SiteWork, fetch_root
from windlass.errors import DataDamaged, DataFailed, DataNotFound, DiskFull, Interrupted, WindlassError
from windlass_job.shards.card import CardDamaged
from windlass_job.shards.extracting import ExtractFailed
from windlass_job.shards.folder import FileDamaged
from windlass_job.shards.index import IndexDamaged
from windlass_job.shards.writing import PackFailed

Progress = Callable[[int, int], None]  # bytes done, of all

_NO_SPACE = ("no space left on device", "disk quota exceeded")
_KINDS: dict[str, type[WindlassError]] = {
    "not-found": DataNotFound,
    "no-space": DiskFull,
    "damaged": DataDamaged,
    "stopped": Interrupted,
}


def say_nothing(done: int, total: int) -> None:
    """Nobody looks."""


def work_there(session: Session, site: Site, request: Json, progress: Progress = say_nothing) -> Json:
    """Until it is done; its answer. Ctrl-C stops it there too, a lost connection does not."""
    host = session.transfer_host(site)  # centres want no long work on login nodes
    work = SiteWork(host, site, fetch_root(host, site), request)
    result: Json = {}
    try:
        if work.start() == "running":
            session.tell(f"this very work is going on at {site.name} already: looking on")
        for look in work.follow():
            if len(look.done) == 2:
                progress(*look.done)
            result = look.result or {}
    except KeyboardInterrupt:
        with suppress(WindlassError):  # the connection may be what was interrupted
            work.stop()
        done = f"{request['verb']} was stopped at {site.name}; the same command goes on with it"
        raise Interrupted("interrupted", done=done) from None
    if not result.get("ok"):
        kind = _KINDS.get(str(result.get("kind")), DataFailed)
        raise kind(f"{site.name}: {result.get('problem')}", done="the same command goes on where it stopped")
    return result


def in_bytes(progress: Progress) -> Callable[[int, int, int, int], None]:
    """As the packer tells it."""

    def tell(done_files: int, done_bytes: int, all_files: int, all_bytes: int) -> None:
        progress(done_bytes, all_bytes)

    return tell


@contextmanager
def translate(done: str) -> Iterator[None]:
    """What the format's own code says, as errors for people. done: what was and was not done."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted", done=done) from None
    except (CardDamaged, FileDamaged, IndexDamaged) as problem:
        is_none = "is no packed data set" in str(problem)
        raise (DataNotFound if is_none else DataDamaged)(str(problem), done=done) from problem
    except OSError as problem:
        words = (problem.strerror or str(problem)).lower()
        place = f"{os.fsdecode(problem.filename)}: " if problem.filename else ""
        is_gone = isinstance(problem, FileNotFoundError)
        raise _pick_kind(words, is_gone=is_gone)(f"{place}{words}", done=done) from problem
    except (PackFailed, ExtractFailed) as problem:
        raise (DiskFull if problem.is_full else DataFailed)(str(problem), done=done) from problem
    except ValueError as problem:  # the packer's own words about a source
        raise DataFailed(str(problem), done=done) from problem


def _pick_kind(words: str, *, is_gone: bool) -> type[WindlassError]:
    if words in _NO_SPACE:
        return DiskFull
    return DataNotFound if is_gone else DataFailed
