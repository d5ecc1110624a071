"""What all long work on data sets shares: a worker at the site that we follow, and errors for people."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from windlass.app.session import Session
from windlass.app.working import LongWork, follow_there
from windlass.core.site import Site
from windlass.edges.host import Json
from windlass.edges.site_work import Look
from windlass.errors import DataDamaged, DataFailed, DataInUse, DataNotFound, DiskFull, Interrupted, WindlassError
from windlass_job.shards.card import CardDamaged
from windlass_job.shards.extracting import ExtractFailed
from windlass_job.shards.folder import FileDamaged
from windlass_job.shards.index import IndexDamaged
from windlass_job.shards.writing import PackFailed

Progress = Callable[[int, int], None]  # bytes done, of all

_AS_JOB = "windlass data pack SOURCE --as-job gives it a job of its own"
_READ_ONLY = ("verify", "try-pack")
_NO_SPACE = ("no space left on device", "disk quota exceeded")
_KINDS: dict[str, type[WindlassError]] = {
    "not-found": DataNotFound,
    "no-space": DiskFull,
    "damaged": DataDamaged,
    "stopped": Interrupted,
    "in-use": DataInUse,
}


def say_nothing(done: int, total: int) -> None:
    """Nobody looks."""


def work_there(
    session: Session, site: Site, request: Json, progress: Progress = say_nothing, *, again: str | None = None
) -> Json:
    """Until it is done; its answer. Ctrl-C stops it there too, a lost connection does not.

    again: the command, to which an option may be added that would do it.
    """

    def show(look: Look) -> None:
        if len(look.done) == 2:
            progress(*look.done)

    # Centres want no long work on login nodes.
    work = LongWork(host=session.transfer_host(site), request=request, show=show, killed=DataFailed, hint=_AS_JOB)
    result = follow_there(session, site, work)
    if not result.get("ok"):
        kind = _KINDS.get(str(result.get("kind")), DataFailed)
        option = result.get("option")
        raise kind(
            f"{site.name}: {result.get('problem')}",
            hint=f"{again} {option}" if again and option else None,
            done=_tell_done(request, result, kind),
        )
    return result


def _tell_done(request: Json, result: Json, kind: type[WindlassError]) -> str:
    """What is refused, or read only, has changed nothing; what is damaged stops the same command again."""
    if kind is DataInUse or result.get("is_refusal") or request["verb"] in _READ_ONLY:
        return "nothing was changed"
    return "the data set is as it was" if kind is DataDamaged else "the same command goes on where it stopped"


def in_bytes(progress: Progress) -> Callable[[int, int, int, int], None]:
    """As the packer tells it."""

    def tell(done_files: int, done_bytes: int, all_files: int, all_bytes: int) -> None:
        progress(done_bytes, all_bytes)

    return tell


@contextmanager
def translate(done: str, *, again: str | None = None) -> Iterator[None]:
    """What the format's own code says, as errors for people. done: what was and was not done; again: the command."""
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
    except PackFailed as problem:
        hint = f"{again} {problem.option}" if again and problem.option else None
        done = "nothing was changed" if problem.is_refusal else done
        raise (DiskFull if problem.is_full else DataFailed)(str(problem), hint=hint, done=done) from problem
    except ExtractFailed as problem:
        raise (DiskFull if problem.is_full else DataFailed)(str(problem), done=done) from problem
    except ValueError as problem:  # the packer's own words about a source
        raise DataFailed(str(problem), done=done) from problem


def _pick_kind(words: str, *, is_gone: bool) -> type[WindlassError]:
    if words in _NO_SPACE:
        return DiskFull
    return DataNotFound if is_gone else DataFailed
