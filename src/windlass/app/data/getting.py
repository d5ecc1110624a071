"""`data get`: a data set, a folder or a file of the site's on this laptop, going on after a cut, verified."""

import os
import shutil
import zlib
from pathlib import Path

from windlass.app.data.getting_plain import get_plain
from windlass.app.data.getting_source import Got, Source, open_source
from windlass.app.data.getting_streams import Getter, Item, Progress
from windlass.app.data.sending import is_name
from windlass.app.data.sets import find_set
from windlass.app.data.targets import Again, check_extract_target, check_set_target
from windlass.app.data.working import translate
from windlass.app.session import Session
from windlass.core.shell import quote, quote_path
from windlass.core.site import Site
from windlass.edges.downloads import PARTS, Part, Target, Wanted
from windlass.edges.files import save_file
from windlass.errors import ConnectionLost, DataFailed, Interrupted, NotFound, TransferFailed, UsageError
from windlass_job import wire
from windlass_job.shards.card import CARD, Card, CardDamaged, Shard, load_card, read_card
from windlass_job.shards.index import name_index
from windlass_job.shards.verifying import verify_archive

GOES_ON = "what came so far is kept; the same command goes on from there"


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
    into = _Into(to, again=_make_again(what, site), extract=extract, force=force)
    try:
        if not is_name(what):
            return _get_from(session, site, what, into, streams=streams, progress=progress)
        try:
            place = f"{site.root}/{wire.DATA}/{what}"
            return _get_from(session, site, place, into, streams=streams, progress=progress)
        except NotFound:
            known = find_set(session, site, what).set  # says which name was meant
            if not known.of_the_site:
                raise
        return _get_from(session, site, known.path, into, streams=streams, progress=progress)
    except ConnectionLost as lost:
        raise ConnectionLost(lost.message, said=lost.said, hint=lost.hint, done=GOES_ON) from lost
    except KeyboardInterrupt:
        raise Interrupted("interrupted", done=GOES_ON) from None


def _get_from(
    session: Session, site: Site, place: str, into: "_Into", *, streams: int | None, progress: Progress
) -> Got:
    with open_source(session, site, place) as source:
        if source.kind == "set":
            return _get_set(source, into, streams=streams, progress=progress)
        if into.extract:
            raise UsageError(f"{place} at {site.name} is no packed data set: there is nothing to extract")
        again = None if into.force else into.again
        return get_plain(source, into.wished, session.folders.state, again=again, streams=streams, progress=progress)


def _make_again(what: str, site: Site) -> Again:
    """The same command with another target."""
    return lambda to: f"windlass data get {quote(what)} {quote_path(to)} --on {site.name}"


# ---- a data set


class _Into:
    """Where a data set is written, and how."""

    def __init__(self, to: Path, *, again: Again, extract: bool, force: bool) -> None:
        self.wished = to
        self.to = to = to if to.name else to.absolute()  # "." has no name, and the folder has one
        self.extract = extract
        self.force = force
        self.again = again
        self.folder = to.with_name(f".{to.name}.windlass-get") if extract else to

    def check(self, card: Card) -> None:
        if self.to.exists() and not self.to.is_dir():
            raise UsageError(f"{self.to} is there and no folder", hint="name another one")
        if not self.extract:
            check_set_target(self.to, card, self.again)
        elif not self.force:
            check_extract_target(self.to, self.folder, self.again)

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
                    hint=f"all of them are in the packed copy: windlass data extract {quote_path(self.folder)} FOLDER",
                    done=f"{done.files + done.kept} files are in {self.to}",
                )
            shutil.rmtree(self.folder)


def _get_set(source: Source, into: _Into, *, streams: int | None, progress: Progress) -> Got:
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

    times = {one.name: one.mtime for one in source.listing.files}
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


def _fetch_card(source: Source) -> tuple[Card, bytes]:
    content = source.fetch_small(CARD)
    try:
        return read_card(content), content
    except CardDamaged as problem:
        raise TransferFailed(f"{source.base}/{CARD}: {problem}") from problem


def _fetch_index(source: Source, shard: Shard, folder: Path) -> None:
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
