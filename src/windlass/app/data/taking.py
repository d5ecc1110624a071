"""`verify`, `extract` and `sample`: a data set is read, here or where it lies."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from windlass.app.data.sets import find_set
from windlass.app.data.working import Progress, say_nothing, translate, work_there
from windlass.app.session import Session
from windlass.core.shell import quote, quote_path
from windlass.core.site import Site
from windlass.edges.host import Json
from windlass.edges.site_work import fetch_root
from windlass.errors import DataNotFound, UsageError
from windlass_job import wire
from windlass_job.shards.card import CARD, Card, is_packed, load_card


@dataclass(frozen=True, kw_only=True)
class Damage:
    shard: str
    name: str | None  # of the file; None: of the shard itself, or of its index
    problem: str


@dataclass(frozen=True, kw_only=True)
class Verified:
    path: str
    files: int
    bytes: int
    damages: tuple[Damage, ...] = ()
    count: int = 0  # of all damages, of which the first thousand are named


@dataclass(frozen=True, kw_only=True)
class Written:
    """Files that were taken out of a data set."""

    path: str
    files: int
    bytes: int
    kept: int = 0  # that were there already, the same
    told: tuple[str, ...] = ()  # what was left out, and why
    damaged: tuple[str, ...] = ()  # not written, because they are not as they were packed


@dataclass(frozen=True, kw_only=True)
class Sampling:
    per_class: int = 5
    seed: int = 0
    packed: bool = False  # a small data set instead of files


def verify_here(path: Path, progress: Progress = say_nothing) -> Verified:
    """Every byte is read and compared with what was packed."""
    from windlass_job.shards.verifying import verify

    with translate("nothing was changed"):
        card = _load_packed(path)
        damages = verify(os.fsencode(path), progress)
    found = tuple(
        Damage(shard=one.shard, name=None if one.name is None else os.fsdecode(one.name), problem=one.problem)
        for one in damages
    )
    return Verified(path=str(path), files=card.files, bytes=card.bytes, damages=found, count=len(found))


def verify_there(session: Session, site: Site, path: str, progress: Progress = say_nothing) -> Verified:
    told = work_there(session, site, {"verb": "verify", "path": path}, progress)
    return Verified(
        path=path,
        files=int(told["files"]),
        bytes=int(told["bytes"]),
        damages=tuple(Damage(**one) for one in told["damages"]),
        count=int(told["count"]),
    )


def extract_here(
    path: Path, target: Path, patterns: Sequence[str] = (), *, force: bool = False, progress: Progress = say_nothing
) -> Written:
    """Plain files below the target and never outside of it."""
    from windlass_job.shards.extracting import extract

    source, into = os.fsencode(path), os.fsencode(target)
    with translate("nothing was written"):
        total = _load_packed(path).bytes
    with translate(f"what is extracted stays in {target}, and the same command goes on"):
        wanted = tuple(os.fsencode(one) for one in patterns)
        done = extract(source, into, wanted, force, lambda _, size: progress(size, total))
    told = tuple(done.told.make_lines())
    written = Written(
        path=str(target), files=done.files, bytes=done.bytes, kept=done.kept, told=told, damaged=tuple(done.damaged)
    )
    return _check_matched(written, str(path), patterns)


def extract_there(
    session: Session,
    site: Site,
    path: str,
    target: str,
    patterns: Sequence[str] = (),
    *,
    force: bool = False,
    progress: Progress = say_nothing,
) -> Written:
    into = _find_target_there(site, path, target)
    request = {"verb": "extract", "path": path, "target": into, "patterns": list(patterns), "force": force}
    return _check_matched(_read_written(work_there(session, site, request, progress)), path, patterns)


def _find_target_there(site: Site, path: str, target: str) -> str:
    """A folder of one's own machine may be named from where one is; another site has no such folder."""
    if target.startswith(("/", "~", "$")):
        return target
    if site.is_local:
        return str(Path(target).absolute())
    folder, at_site = PurePosixPath(target).name or "plain", f"--on {site.name}"
    beside = str(PurePosixPath(site.root).parent / folder)
    raise UsageError(
        f"{target[:200]!r} is no absolute folder at {site.name}",
        hint=f"windlass data extract {quote(path)} {quote(beside)} {at_site}\n"
        f"or, to have it on this machine: windlass data get {quote(path)} {quote(target)} --extract {at_site}",
        done="nothing was written",
    )


def sample_here(path: Path, target: Path, sampling: Sampling, progress: Progress = say_nothing) -> Written:
    """Some files of each class, as files or as a small data set with the same classes."""
    from windlass_job.shards.sampling import sample

    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already", hint="name a new folder", done="nothing was written")
    source, into = os.fsencode(path), os.fsencode(target)
    with translate("nothing was written"):
        _load_packed(path)
    with translate(f"what was taken is in {target}"):
        files, size = sample(source, into, sampling.per_class, sampling.seed, sampling.packed, progress)
    return Written(path=str(target), files=files, bytes=size)


def sample_there(session: Session, site: Site, path: str, sampling: Sampling) -> Written:
    """As a small data set at the site, to be fetched: its path there."""
    root = fetch_root(session.transfer_host(site), site)
    name = f"{PurePosixPath(path).name}-{sampling.per_class}-{sampling.seed}"
    request = {
        "verb": "sample",
        "path": path,
        "target": f"{root}/{wire.WORK}/{wire.SAMPLES}/{name}",
        "per_class": sampling.per_class,
        "seed": sampling.seed,
    }
    return _read_written(work_there(session, site, request))


def _load_packed(path: Path) -> Card:
    """Its card; plain files are told from a data set that is damaged."""
    if path.exists() and not is_packed(os.fsencode(path)):
        raise make_not_packed(str(path), _make_pack_command(str(path)))
    return load_card(os.fsencode(path))


def find_packed(session: Session, site: Site, what: str) -> str:
    """Where it lies at the site. A folder on this machine, or one that was only given a name, is told as such."""
    try:
        known = find_set(session, site, what).set
    except DataNotFound:
        if Path(what).exists():
            raise make_not_packed(what, _make_pack_command(what)) from None
        raise
    if known.kind in ("folder", "file"):
        command = f"windlass data pack {quote(known.path)} --name {PurePosixPath(known.path).name}-packed"
        raise make_not_packed(f"{what} ({known.path} at {site.name})", f"{command} --on {site.name}")
    if known.kind == "partial":
        place = f"--name {what}" if wire.is_data_name(what) else f"--to {quote(what)}"
        raise DataNotFound(
            f"{what} is not whole at {site.name}: {known.problem}",
            hint=f"windlass data send SOURCE {place} --on {site.name}   # goes on where it stopped",
            done="nothing was changed",
        )
    return known.path


def _make_pack_command(path: str) -> str:
    return f"windlass data pack {quote_path(path)} {quote_path(f'{path}-packed')}"


def make_not_packed(what: str, hint: str) -> DataNotFound:
    return DataNotFound(f"{what} is not packed: there is no {CARD} of Windlass in it, and no checksums", hint=hint)


def _check_matched(written: Written, what: str, patterns: Sequence[str]) -> Written:
    if patterns and not (written.files or written.kept or written.told or written.damaged):
        shown = ", ".join(repr(one) for one in patterns[:5])
        raise DataNotFound(
            f"no file of {what} is like {shown}",
            hint="patterns are about whole names, such as 'train/cat/*' or '*.jpg'",
            done="nothing was extracted",
        )
    return written


def _read_written(told: Json) -> Written:
    return Written(
        path=str(told["path"]),
        files=int(told["files"]),
        bytes=int(told["bytes"]),
        kept=int(told.get("kept") or 0),
        told=tuple(told.get("told") or ()),
        damaged=tuple(told.get("damaged") or ()),
    )
