"""`pack`: a folder, a list, a table or an archive becomes a packed data set, here or at a site."""

import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windlass.app.data.room import find_advised_bytes
from windlass.app.data.sets import find_users
from windlass.app.data.targets import suggest
from windlass.app.data.working import Progress, in_bytes, say_nothing, translate, work_there
from windlass.app.session import Session
from windlass.core.shell import quote, quote_path
from windlass.core.site import Site
from windlass.edges.host import Json
from windlass.edges.site_work import fetch_paths, fetch_root
from windlass.errors import DataInUse, UsageError, WindlassError
from windlass_job import wire
from windlass_job.shards.claiming import find_objection
from windlass_job.shards.packing import Settings, pack, plan_packing
from windlass_job.shards.sources import choose_source

if TYPE_CHECKING:
    from windlass.core.record import RunRecord

_COUNTS = ("files", "bytes", "shards", "classes", "new_files", "dead_files")


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    name: str | None = None  # default: the target's
    kind: str = "auto"  # how the source is read: folder, list, table, tar, zip
    labels: str | None = None  # a table of paths and labels about the files of a folder, where the source is
    shard_bytes: int = 0  # 0: chosen from the data and the number of nodes
    nodes: int = 1  # that will read it at once
    compress: bool = False  # where a trial shows that it pays
    follow_links: bool = False  # links to folders
    outside: bool = False  # also files that a list or a table names outside of its own folder
    verify: bool = False  # what is there is read too; files that are damaged are packed again
    anew: bool = False  # as if nothing had been packed before
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PackedSet:
    path: str
    files: int
    bytes: int
    shards: int
    classes: int
    new_files: int  # since it was packed before; the first time all
    dead_files: int  # replaced or removed since
    told: tuple[str, ...] = ()  # what was left out, and why
    advice: str | None = None
    site: str | None = None  # None: on this machine


@dataclass(frozen=True, kw_only=True)
class WouldPack:
    """A dry run: what would be made, and what would not go in."""

    files: int
    bytes: int
    shards: int
    archived: int
    classes: int
    layout: str  # how the source was read, in words
    told: tuple[str, ...] = ()


def pack_here(source: Path, target: Path, options: PackOptions, progress: Progress = say_nothing) -> PackedSet:
    _refuse_other(source, target)
    with translate("nothing was written"):
        opened = _open_source(source, options)
    goes_on = f"what is packed stays in {target}, and the same command goes on with it"
    again = f"windlass data pack {quote_path(source)} {quote_path(target)}"
    with _tell_nothing_written(target), translate(goes_on, again=again):
        target.parent.mkdir(parents=True, exist_ok=True)
        packed = pack(opened, os.fsencode(target), _make_settings(options, target.name), progress=in_bytes(progress))
    card = packed.card
    return PackedSet(
        path=str(target),
        files=card.files,
        bytes=card.bytes,
        shards=len(card.shards),
        classes=len(card.classes),
        new_files=packed.new_files,
        dead_files=packed.dead_files,
        told=tuple(packed.told.make_lines()),
        advice=packed.advice or None,
    )


@contextmanager
def _tell_nothing_written(target: Path) -> Iterator[None]:
    """A source without files, or a disk that is full, leaves no folder behind."""
    try:
        yield
    except WindlassError as problem:
        if not target.exists():
            problem.done = "nothing was written"
        raise


def try_packing(source: Path, options: PackOptions) -> WouldPack:
    """Counts and cuts; writes nothing."""
    with translate("nothing was written"):
        opened = _open_source(source, options)
        plan = plan_packing(opened, _make_settings(options, "dry-run"))
        return WouldPack(
            files=plan.files,
            bytes=plan.plan.bytes,
            shards=len(plan.shards),
            archived=plan.archive_bytes,
            classes=len(opened.classes),
            layout=str(opened.words),
            told=tuple(plan.told.make_lines()),
        )


def try_packing_there(
    session: Session, site: Site, source: str, options: PackOptions, progress: Progress = say_nothing
) -> WouldPack:
    """The same of what lies at the site, by the site itself."""
    advised = find_advised_bytes(session, site, site.root)
    request = {**_make_request(site, source, "dry-run", options, advised), "verb": "try-pack"}
    try:
        told = work_there(session, site, request, progress)
    except WindlassError as problem:
        problem.done = "nothing was written"
        raise
    told.pop("ok")
    return WouldPack(**{**told, "told": tuple(told["told"])})


def pack_there(
    session: Session, site: Site, source: str, name: str, options: PackOptions, progress: Progress = say_nothing
) -> PackedSet:
    """What lies at the site becomes the data set ROOT/data/NAME there."""
    _refuse_read(session, site, name, options)
    again = f"windlass data pack {quote(source)} --name {name} --on {site.name}"
    advised = find_advised_bytes(session, site, site.root)
    told = work_there(session, site, _make_request(site, source, name, options, advised), progress, again=again)
    numbers = {name: int(told[name]) for name in _COUNTS}
    words = tuple(told["told"])
    return PackedSet(path=str(told["path"]), told=words, advice=told.get("advice") or None, site=site.name, **numbers)


def pack_as_job(
    session: Session, site: Site, source: str, name: str, options: PackOptions, *, time_limit: str
) -> "RunRecord":
    """The same as an ordinary run, for what is too much for a login node. It is in the queue when this returns."""
    from windlass.app.planning import Wanted, plan_run
    from windlass.app.running import start_run
    from windlass.core.toml.layers import Flag

    _refuse_read(session, site, name, options)
    # As the login node means them: in a job $SCRATCH may be another folder, or none.
    host = session.host(site)
    source, *labels = fetch_paths(host, [source, *([options.labels] if options.labels else [])])
    advised = find_advised_bytes(session, site, site.root)
    meant = replace(options, labels=labels[0] if labels else None)
    at_root = replace(site, root=fetch_root(host, site))
    request = shlex.quote(json.dumps(_make_request(at_root, source, name, meant, advised), sort_keys=True))
    zipped = f'"${wire.ENV_RUN_DIR}/{wire.JOB_ZIP}"'
    command = f"{site.software.python} -I {zipped} {wire.WORK_VERB} --request {request}"
    settings = {"run.name": f"pack-{name}", "run.command": command, "resources.time": time_limit}
    flags = tuple(Flag(key=key, value=value, option=key) for key, value in settings.items())
    with tempfile.TemporaryDirectory(prefix="windlass-pack-") as project:
        wanted = Wanted(project=Path(project), site=site.name, flags=flags, enters=False)
        return start_run(session, plan_run(session, wanted))


def _refuse_read(session: Session, site: Site, name: str, options: PackOptions) -> None:
    """Shards that go must not be read by anybody; the packer looks again for those that run by then."""
    if not options.anew:
        return
    users = find_users(session, site, name, f"{site.root}/{wire.DATA}/{name}")
    if users:
        raise DataInUse(
            f"{name} is read by {', '.join(users)}, and what it reads would be removed",
            hint=f"windlass wait {users[0]}, or pack it under another --name",
            done="nothing was packed",
        )


def _make_request(site: Site, source: str, name: str, options: PackOptions, advised_bytes: int) -> Json:
    return {
        "verb": "pack",
        "source": source,
        "target": f"{site.root}/{wire.DATA}/{name}",
        "kind": options.kind,
        "follow": options.follow_links,
        "outside": options.outside,
        "labels": options.labels,
        "settings": {
            "name": name,
            "nodes": options.nodes,
            "shard_bytes": options.shard_bytes,
            "advised_bytes": advised_bytes,
            "compress": options.compress,
            "anew": options.anew,
            "verify": options.verify,
            "about": dict(options.about),
            "may_be_empty": False,
        },
    }


def _make_settings(options: PackOptions, name: str) -> Settings:
    return Settings(
        name=options.name or name,
        nodes=options.nodes,
        shard_bytes=options.shard_bytes,
        compress=options.compress,
        anew=options.anew,
        verify=options.verify,
        about=dict(options.about),
        may_be_empty=False,
    )


def _open_source(source: Path, options: PackOptions) -> Any:
    labels = os.fsencode(Path(options.labels).expanduser()) if options.labels else None
    return choose_source(os.fsencode(source), options.kind, options.follow_links, labels, options.outside)


def _refuse_other(source: Path, target: Path) -> None:
    """A folder that is no data set is nobody's to write into; and what is packed does not go into itself."""
    inside = source.resolve()
    if source.is_dir() and (target.resolve() == inside or inside in target.resolve().parents):
        raise UsageError(f"{target} lies in {source}, which is to be packed", hint="name a folder outside of it")
    objection = find_objection(os.fsencode(target))
    if objection is not None:
        hint = f"windlass data pack {quote_path(source)} {quote_path(suggest(target))}"
        raise UsageError(objection, hint=hint, done="nothing was written")
