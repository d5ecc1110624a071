"""`data get` of a folder or a file that is no data set: its files, links that stay inside, and empty folders."""

import os
import zlib
from pathlib import Path

from windlass.app.data.fetched import Fetched
from windlass.app.data.getting_source import Got, Listing, Source
from windlass.app.data.getting_streams import Getter, Item, Progress
from windlass.app.data.in_the_way import InTheWay
from windlass.app.data.targets import Again, check_plain_target
from windlass.edges.downloads import Target, Wanted
from windlass.errors import UsageError
from windlass_job.shards.links import stays_inside


def get_plain(
    source: Source, to: Path, state: Path, *, again: Again | None, streams: int | None, progress: Progress
) -> Got:
    """state: where it is kept what was fetched. again: None writes over what is there."""
    is_file = source.kind == "file"
    if not is_file and to.exists() and not to.is_dir():
        raise UsageError(f"{to} is there and no folder", hint="name another one", done="nothing was written")
    folder = to.parent if is_file and not to.is_dir() else to
    items = _list_items(source, to.name if is_file and not to.is_dir() else None)
    target, fetched = Target(folder), Fetched(state, source.site_name, source.base, folder)
    _check_links(source.listing, folder)
    other = InTheWay((one.wanted.name for one in items), source.listing, target, fetched)
    kept: set[str] = set()
    if again is None:
        other.check_folders()
    else:
        check_plain_target(folder, other.list_foreign(), again(to))
        there = [one for one in items if not other.covers(one.wanted.name) and _is_taken(target, one, fetched)]
        kept = {one.wanted.name for one in there if _is_equal(source, target.find(one.wanted.name), one)}
        differing = [one.wanted.name for one in there if one.wanted.name not in kept]
        links = _list_other_links(source.listing, target, fetched, other)
        check_plain_target(folder, differing + links, again(to))
    other.clear()
    wanted = [one for one in items if one.wanted.name not in kept]
    coming = [one.wanted for one in wanted]
    fetched.begin(coming, source.listing.links)
    getter = Getter(target, wanted, progress=progress, before=source.find)
    getter.get(source.open_streams(streams, max(1, len(wanted))))
    _make_the_rest(source.listing, target)
    fetched.end(coming, source.listing.links)
    return Got(
        path=folder / items[0].wanted.name if is_file else folder,
        kind=source.kind,
        files=len(items),
        bytes=sum(one.wanted.size for one in items),
        fetched_bytes=getter.fetched_bytes,
        left_out=source.listing.left_out,
    )


def _list_items(source: Source, renamed: str | None) -> list[Item]:
    return [
        Item(
            wanted=Wanted(name=renamed or one.name, size=one.size, mtime=one.mtime),
            base=source.base,
            name=one.name,
            mode=one.mode,
        )
        for one in source.listing.files
    ]


def _check_links(listing: Listing, folder: Path) -> None:
    """The site is not trusted."""
    for name, points_to in listing.links:
        if not stays_inside(os.fsencode(name), os.fsencode(points_to)):
            link = f"{name[:200]!r} to {points_to[:200]!r}"
            raise UsageError(f"the site names a link {link}, which would lead outside {folder}: refused")


def _list_other_links(listing: Listing, target: Target, fetched: Fetched, other: InTheWay) -> list[str]:
    """Names of links under which a file or another link lies here."""
    links = [(name, points_to) for name, points_to in listing.links if not other.covers(name)]
    there = [name for name, points_to in links if not fetched.may_link(target.find(name), name, points_to)]
    return [name for name in there if not fetched.is_ours(target, name)]


def _make_the_rest(listing: Listing, target: Target) -> None:
    if not listing.links and not listing.folders:
        return
    target.prepare()
    for name in listing.folders:
        target.make_folder(name)
    for name, points_to in listing.links:
        target.make_link(name, points_to)
    target.clean_up()


def _is_taken(target: Target, item: Item, fetched: Fetched) -> bool:
    """Something else than what was fetched before lies under this name."""
    name = item.wanted.name
    return os.path.lexists(target.find(name)) and not target.has(item.wanted) and not fetched.is_ours(target, name)


def _is_equal(source: Source, path: Path, item: Item) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size != item.wanted.size:
        return False
    crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            crc = zlib.crc32(block, crc)
    return crc == source.fetch_crc(item)
