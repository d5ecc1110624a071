"""`data get`: a data set, a folder or a file of the site's on this laptop, going on after a cut, verified."""

import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from windlass.app.data.getting_streams import Getter, Item, Progress
from windlass.app.data.sending import find_laptop_id, is_name
from windlass.app.data.sending_ways import choose_streams, explain_failed, fetch_file, open_routes
from windlass.app.data.sets import find_set
from windlass.app.data.targets import Again, check_extract_target, check_plain_target, check_set_target
from windlass.app.data.working import translate
from windlass.app.session import Session
from windlass.core.shell import quote
from windlass.core.site import Site
from windlass.edges.channel import ChannelClosed
from windlass.edges.data_route import DataRoute
from windlass.edges.data_stream import DataStream, StreamFailed
from windlass.edges.downloads import PARTS, Part, Target, Wanted
from windlass.edges.files import save_file
from windlass.edges.host import Json
from windlass.errors import ConnectionLost, DataFailed, Interrupted, NotFound, TransferFailed, UsageError
from windlass_job import wire
from windlass_job.shards.card import CARD, Card, CardDamaged, Shard, load_card, read_card
from windlass_job.shards.index import name_index
from windlass_job.shards.verifying import verify_archive

_CLEAN_UP_S = 20.0
GOES_ON = "what came so far is kept; the same command goes on from there"


@dataclass(frozen=True, kw_only=True)
class Got:
    path: Path
    kind: str  # "set", "folder", "file"
    files: int
    bytes: int
    fetched_bytes: int


def get(
    session: Session,
    site: Site,
    what: str,
    to: Path,
    *,
    extract: bool = False,
    force: bool = False,
    streams: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Got:
    """what: the name of a data set, or a path at the site. extract: the set's files, and not the set.

    Into a folder that is new, empty, or holds this data set; with force its files also among others. Plain files are
    not written over others of the same name, unless with force.
    """
    place = f"{site.root}/{wire.DATA}/{what}" if is_name(what) else what
    try:
        with _open(session, site, place) as source:
            if source.kind == "set":
                into = _Into(to, again=_make_again(what, site), extract=extract, force=force)
                return _get_set(source, into, streams=streams, progress=progress)
            if extract:
                raise UsageError(f"{what} at {site.name} is no packed data set: there is nothing to extract")
            again = None if force else _make_again(what, site)
            return _get_plain(source, to, again=again, streams=streams, progress=progress)
    except ConnectionLost as lost:
        raise ConnectionLost(lost.message, said=lost.said, hint=lost.hint, done=GOES_ON) from lost
    except KeyboardInterrupt:
        raise Interrupted("interrupted", done=GOES_ON) from None
    except NotFound:
        if is_name(what):
            find_set(session, site, what)  # says which name was meant
        raise


def _make_again(what: str, site: Site) -> Again:
    """The same command with another target."""
    return lambda to: f"windlass data get {quote(what)} {quote(str(to))} --on {site.name}"


class _Source:
    """`control` sees what is to be fetched; `giver` is what it is fetched from: often the same."""

    def __init__(self, control: DataStream, route: DataRoute, looked: Json, files: "Sequence[_Listed]") -> None:
        self.kind = str(looked["kind"])
        self.base = str(looked["path"])
        self.files = files
        self._control = control
        self._route = route
        self._landing: str | None = None
        self._giver = control

    def land_in(self, landing: str) -> None:
        """Two hops: the login node copies each file to a place that the transfer host sees."""
        self._landing = landing
        self._giver = self._route.open()

    def fetch_small(self, name: str) -> bytes:
        return fetch_file(self._control, self.base, name)

    def fetch_crc(self, item: Item) -> int:
        """Of the whole file, without its bytes."""
        size = item.wanted.size
        reply = self._control.call("give", base=item.base, name=item.name, start=size, end=size)
        return int(reply.values["crc"])

    def find(self, item: Item) -> str:
        if self._landing is None:
            return item.base
        reply = self._control.call("land", base=item.base, name=item.name, landing=self._landing)
        return str(reply.values["base"])

    def open_streams(self, count: int | None, most: int) -> list[DataStream]:
        wished = max(1, min(count or choose_streams(self._giver), most))
        return [self._giver, *self._route.open_more(wished - 1)]

    def clean_up(self) -> None:
        """Also after a failure, where the site still answers: copies take room, and are of no use to anybody."""
        if self._landing is not None:
            with suppress(StreamFailed, ChannelClosed, TimeoutError):
                self._control.call("remove_landing", timeout_s=_CLEAN_UP_S, path=self._landing)


@contextmanager
def _open(session: Session, site: Site, place: str) -> Iterator[_Source]:
    routes = open_routes(session, site)
    try:
        control = routes[-1].open()
        looked = control.call("look", what=place)
        source = _Source(control, routes[0], looked.values, _read_files(looked.payload))
        if site.login.transfer_root:
            source.land_in(f"{site.login.transfer_root}/{_name_landing(session, place)}")
        try:
            yield source
        finally:
            source.clean_up()
    except StreamFailed as failed:
        raise explain_failed(failed, site, place) from failed
    except ChannelClosed as closed:
        raise routes[0].explain(closed) from closed
    finally:
        for route in routes:
            route.close()


def _name_landing(session: Session, place: str) -> str:
    """The same for the same command again, and no other's: whoever is done removes it."""
    whose = hashlib.sha256(f"{find_laptop_id(session)}\0{place}".encode("utf-8", "surrogateescape"))
    return f"{wire.LANDING}get-{whose.hexdigest()[:16]}"


@dataclass(frozen=True, kw_only=True)
class _Listed:
    name: str
    size: int
    mtime: float
    mode: int


def _read_files(payload: bytes) -> list[_Listed]:
    rows = json.loads(payload) if payload else []
    return [
        _Listed(name=str(name), size=int(size), mtime=int(mtime_ns) / 1e9, mode=int(mode))
        for name, size, mtime_ns, mode in rows
    ]


# ---- a data set


class _Into:
    """Where a data set is written, and how."""

    def __init__(self, to: Path, *, again: Again, extract: bool, force: bool) -> None:
        to = to if to.name else to.absolute()  # "." has no name, and the folder has one
        self.to = to
        self.extract = extract
        self.force = force
        self._again = again
        self.folder = to.with_name(f".{to.name}.windlass-get") if extract else to

    def check(self, card: Card) -> None:
        if self.to.exists() and not self.to.is_dir():
            raise UsageError(f"{self.to} is there and no folder", hint="name another one")
        if not self.extract:
            check_set_target(self.to, card, self._again)
        elif not self.force:
            check_extract_target(self.to, self.folder, self._again)

    def finish(self) -> None:
        from windlass_job.shards.extracting import extract

        if self.extract:
            with translate(f"what is extracted stays in {self.to}, and the same command goes on"):
                done = extract(os.fsencode(self.folder), os.fsencode(self.to), force=self.force)
            left_out = [*done.damaged, *done.told.make_lines()]
            if left_out:
                raise DataFailed(
                    f"not all files could be written to {self.to}: {left_out[0]}",
                    details=left_out[1:],
                    hint=f"all of them are in the packed copy: windlass data extract {quote(str(self.folder))} FOLDER",
                    done=f"{done.files + done.kept} files are in {self.to}",
                )
            shutil.rmtree(self.folder)


def _get_set(source: _Source, into: _Into, *, streams: int | None, progress: Progress) -> Got:
    folder = into.folder
    card, content = _fetch_card(source)
    into.check(card)
    target = Target(folder)
    target.prepare()
    for shard in card.shards:
        _fetch_index(source, shard, folder)
    shards = {one.name: one for one in card.shards}

    def check(item: Item, part: Part) -> str | None:
        shard = shards[item.wanted.name]
        index = os.fsencode(folder / name_index(shard.name))
        damage = next(iter(verify_archive(os.fsencode(part.path), index, shard)), None)
        return f"it is damaged at the site: {damage.make_line()}" if damage else None

    times = {one.name: one.mtime for one in source.files}
    items = [
        Item(
            wanted=Wanted(name=one.name, size=one.bytes, mtime=times.get(one.name, 0.0)),
            base=source.base,
            name=one.name,
        )
        for one in card.shards
    ]
    getter = Getter(
        target, [one for one in items if not _has(folder, one)], progress=progress, check=check, before=source.find
    )
    getter.get(source.open_streams(streams, len(items)))
    before = _list_named(folder)
    save_file(folder / CARD, content, mode=0o644)
    for name in before - {name for one in card.shards for name in (one.name, name_index(one.name))}:
        (folder / name).unlink(missing_ok=True)  # of the same data set, as it was
    into.finish()
    return Got(path=into.to, kind="set", files=card.files, bytes=card.bytes, fetched_bytes=getter.fetched_bytes)


def _list_named(folder: Path) -> set[str]:
    """The files of the data set that is there."""
    try:
        card = load_card(os.fsencode(folder))
    except (CardDamaged, OSError):
        return set()
    return {name for one in card.shards for name in (one.name, name_index(one.name))}


def _fetch_card(source: _Source) -> tuple[Card, bytes]:
    content = source.fetch_small(CARD)
    try:
        return read_card(content), content
    except CardDamaged as problem:
        raise TransferFailed(f"{source.base}/{CARD}: {problem}") from problem


def _fetch_index(source: _Source, shard: Shard, folder: Path) -> None:
    path = folder / name_index(shard.name)
    if path.exists() and zlib.crc32(path.read_bytes()) == shard.index_crc:
        return
    content = source.fetch_small(path.name)
    if zlib.crc32(content) != shard.index_crc:
        raise TransferFailed(f"{source.base}/{path.name} is not the index that was packed", hint="windlass data verify")
    # A shard of this name belongs to another index, where it was packed anew: it goes before that index does, so that
    # whoever goes on after a break does not take it for the new one.
    aside = folder / PARTS / path.name
    save_file(aside, content, mode=0o644)
    kept = folder / shard.name
    if kept.exists() and any(verify_archive(os.fsencode(kept), os.fsencode(aside), shard)):
        kept.unlink()
    aside.replace(path)


def _has(folder: Path, item: Item) -> bool:
    """Verified before it took its name, and again when its index was another: its size is enough."""
    try:
        return (folder / item.wanted.name).stat().st_size == item.wanted.size
    except OSError:
        return False


# ---- plain files


def _get_plain(source: _Source, to: Path, *, again: Again | None, streams: int | None, progress: Progress) -> Got:
    """again: None writes over what is there."""
    is_file = source.kind == "file"
    if not is_file and to.exists() and not to.is_dir():
        raise UsageError(f"{to} is there and no folder", hint="name another one", done="nothing was written")
    folder = to.parent if is_file and not to.is_dir() else to
    renamed = to.name if is_file and not to.is_dir() else None
    items = [
        Item(
            wanted=Wanted(name=renamed or one.name, size=one.size, mtime=one.mtime),
            base=source.base,
            name=one.name,
            mode=one.mode,
        )
        for one in source.files
    ]
    target = Target(folder)
    kept: set[str] = set()
    if again is not None:
        there = [one for one in items if _is_taken(target, one)]
        kept = {one.wanted.name for one in there if _is_equal(source, target.find(one.wanted.name), one)}
        differing = [one.wanted.name for one in there if one.wanted.name not in kept]
        check_plain_target(folder, differing, again(to))
    wanted = [one for one in items if one.wanted.name not in kept]
    getter = Getter(target, wanted, progress=progress, before=source.find)
    getter.get(source.open_streams(streams, max(1, len(wanted))))
    return Got(
        path=folder / items[0].wanted.name if is_file else folder,
        kind=source.kind,
        files=len(items),
        bytes=sum(one.size for one in source.files),
        fetched_bytes=getter.fetched_bytes,
    )


def _is_taken(target: Target, item: Item) -> bool:
    """Something else than what was fetched before lies under this name."""
    return os.path.lexists(target.find(item.wanted.name)) and not target.has(item.wanted)


def _is_equal(source: _Source, path: Path, item: Item) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size != item.wanted.size:
        return False
    crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            crc = zlib.crc32(block, crc)
    return crc == source.fetch_crc(item)
