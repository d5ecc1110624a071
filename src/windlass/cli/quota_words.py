"""Storage as people read it: bars of areas, large folders, what will be purged, what Windlass holds."""

from collections.abc import Iterator
from pathlib import Path

from windlass.app.record_words import format_ago
from windlass.app.storage.quota import AreaUse, Quotas
from windlass.cli.budget_words import format_bar, format_day
from windlass.cli.output import Output
from windlass.cli.site_page import format_purge
from windlass.core.seen.holdings import Holding
from windlass.core.seen.walked import OURS, Walk, Walked
from windlass.core.units import format_bytes

_AREAS_HEAD = ("AREA", "", "USED", "LIMIT", "LEFT", "FILES", "LIMIT", "PURGE", "PATH")
_BIG_HEAD = ("BYTES", "FILES", "FOLDER")
_DOOMED_HEAD = ("FROM", "FILES", "BYTES", "FOLDER")
_OURS_HEAD = ("WINDLASS HOLDS", "BYTES", "FILES", "PURGED FROM", "TO REMOVE IT")
_MUCH = 0.9


def show_quotas(
    output: Output, found: Quotas, now: float, *, file: Path, count: int, with_purged: bool, with_biggest: bool
) -> None:
    """file: of the user's, about this site; it need not be there."""
    if found.areas:
        output.show_table(_AREAS_HEAD, [_make_area(one) for one in found.areas])
    else:
        _tell_how_to_name_areas(output, found.site, file)
    for line in _list_remarks(found, now):
        output.tell(line)
    walk = found.walk
    if walk is None:
        output.tell(
            "more: --within 14d shows what will be purged, --biggest the largest folders, and what Windlass holds"
        )
        return
    if with_purged:
        _show_purged(output, walk, count)
    if with_biggest:
        _show_biggest(output, walk, count)
    _show_ours(output, found.holdings, count)
    for line in _list_unseen(walk, now):
        output.tell(line)


def _tell_how_to_name_areas(output: Output, site: str, file: Path) -> None:
    extends = "" if file.exists() else f'  extends = "{site}"\n'
    output.tell(f"nobody has named the storage of {site}. Write into {file}:")
    output.tell(f'{extends}  [storage.home]\n  path = "$HOME"')


def _make_area(one: AreaUse) -> tuple[str, ...]:
    quota, area = one.quota, one.area
    if quota is None:
        return area.name, "", "unknown", "", "", "", "", format_purge(area), area.path
    used, limit = quota.used_bytes, quota.limit_bytes
    share = used / limit if used is not None and limit else None
    return (
        area.name,
        f"{format_bar(share, width=10)} {share:4.0%}" if share is not None else "",
        _size(used),
        _size(limit) or "none",
        _size(limit - used if limit is not None and used is not None else None),
        "" if quota.used_files is None else f"{quota.used_files:,}",
        "" if quota.limit_files is None else f"{quota.limit_files:,}",
        format_purge(area),
        quota.path,
    )


def _list_remarks(found: Quotas, now: float) -> Iterator[str]:
    if found.note:
        yield f"note: {found.note}"
    if found.taken_at is not None and now - found.taken_at > 5:
        yield f"note: these numbers are {format_ago(now - found.taken_at)} old"
    for one in found.areas:
        quota = one.quota
        if quota is None:
            continue
        if quota.is_shared:
            yield f"note: {one.area.name}: all of the file system, which others fill too; your own quota was not told"
        for what, used, limit in (
            ("bytes", quota.used_bytes, quota.limit_bytes),
            ("files", quota.used_files, quota.limit_files),
        ):
            if used is not None and limit and used >= _MUCH * limit:
                yield f"warning: {one.area.name} is {used / limit:.0%} full, in {what}"


def _show_purged(output: Output, walk: Walk, count: int) -> None:
    days = walk.within_s / 86_400
    for place in walk.places:
        if not place.whole.doomed_files or place.name == OURS:
            continue
        first = format_day(place.whole.first) if place.whole.first is not None else "?"
        output.show("")
        output.show(
            f"{place.name}: {place.whole.doomed_files:,} files of yours, {format_bytes(place.whole.doomed_bytes)}, "
            f"will be purged within {days:.0f} days, from {first}"
        )
        rows = [
            (
                format_day(one.first) if one.first is not None else "",
                f"{one.doomed_files:,}",
                format_bytes(one.doomed_bytes),
                one.path,
            )
            for one in place.doomed[:count]
        ]
        if rows:
            output.show_table(_DOOMED_HEAD, rows)
        else:
            output.show_table(
                _DOOMED_HEAD,
                [(format_day(one.at), "1", format_bytes(one.bytes), one.path) for one in place.soonest[:count]],
            )
    if not any(place.whole.doomed_files for place in walk.places):
        output.show(f"nothing of yours that was seen will be purged within {days:.0f} days")


def _show_biggest(output: Output, walk: Walk, count: int) -> None:
    for place in walk.places:
        if place.name == OURS or not place.whole.files:
            continue
        output.show("")
        output.show(f"{place.name}: {place.whole.files:,} files, {format_bytes(place.whole.bytes)} in {place.path}")
        rows = [(format_bytes(one.bytes), f"{one.files:,}", one.path) for one in place.biggest[:count]]
        if rows:
            output.show_table(_BIG_HEAD, rows)


def _show_ours(output: Output, holdings: tuple[Holding, ...], count: int) -> None:
    if not holdings:
        return
    output.show("")
    output.show_table(_OURS_HEAD, [_make_holding(one) for one in holdings[:count]])
    if len(holdings) > count:
        rest = holdings[count:]
        output.tell(f"and {len(rest)} more, {format_bytes(sum(one.bytes for one in rest))}")
    told: set[str] = set()
    for one in holdings:
        if one.doomed_files and one.lost and one.kind not in told:
            told.add(one.kind)
            output.tell(f"when a {one.words} is purged: {one.lost}" if one.name else f"{one.words}, purged: {one.lost}")


def _make_holding(one: Holding) -> tuple[str, ...]:
    name = f"{one.words} {one.name}" if one.name else one.words
    remove = "in use: it waits or runs" if one.is_needed else one.remove or ""
    first = format_day(one.first) if one.doomed_files and one.first is not None else ""
    return name, format_bytes(one.bytes), f"{one.files:,}", first, remove


def _list_unseen(walk: Walk, now: float) -> Iterator[str]:
    if now - walk.taken_at > 60:
        yield f"note: the walk was {format_ago(now - walk.taken_at)} ago"
    for place in walk.places:
        yield from _tell_unseen(place)


def _tell_unseen(place: Walked) -> Iterator[str]:
    if place.problem:
        yield f"note: {place.name} was not seen: {place.problem}"
    if place.unseen:
        some = f", such as {place.next[0]}" if place.next else ""
        yield f"note: {place.unseen:,} folders of {place.name} were not seen yet{some}: the same command goes on there"
    for count, words in (
        (place.given_up, "took too long and were left out"),
        (place.unreadable, "could not be read"),
        (place.others, "are somebody else's and were passed by"),
    ):
        if count:
            yield f"note: {count:,} folders or files of {place.name} {words}"


def _size(count: int | None) -> str:
    return "" if count is None else format_bytes(max(0, count))
