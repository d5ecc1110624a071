"""What a walk through storage areas has seen: large folders, and files that will be purged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windlass.core.facts import Facts
from windlass.core.seen.areas import find_area, is_under
from windlass.core.site import Area, FileTime, Site

OURS = "windlass"  # the name of the place that is the site's root
_DAY_S = 86_400.0
_USED = (FileTime.ATIME, FileTime.MTIME)  # where a site does not say by which times it goes


@dataclass(frozen=True, kw_only=True)
class Folder:
    """With all below it."""

    path: str  # below its place; empty: all of it
    files: int = 0
    bytes: int = 0
    doomed_files: int = 0  # of this user's, that will be removed within the time asked for
    doomed_bytes: int = 0
    first: float | None = None  # when the first of them goes, seconds since 1970


@dataclass(frozen=True, kw_only=True)
class Doomed:
    path: str  # absolute
    bytes: int
    at: float


@dataclass(frozen=True, kw_only=True)
class Walked:
    """One place: an area of the site's, or what Windlass itself holds there."""

    name: str
    path: str
    problem: str | None = None  # why nothing of it was seen
    whole: Folder
    biggest: tuple[Folder, ...] = ()
    doomed: tuple[Folder, ...] = ()  # the soonest first
    soonest: tuple[Doomed, ...] = ()
    unseen: int = 0  # folders that are still to be walked through
    next: tuple[str, ...] = ()  # some of them
    unreadable: int = 0
    others: int = 0  # folders of somebody else's, which were passed by
    given_up: int = 0  # folders that took too long

    @property
    def is_whole(self) -> bool:
        return self.problem is None and not (self.unseen or self.given_up)


@dataclass(frozen=True, kw_only=True)
class Walk:
    places: tuple[Walked, ...]
    within_s: float
    taken_at: float
    went_on: bool = False  # with a walk that had stopped
    # Names of those that were built; what else lies in their folder was not built to its end. None: nobody looked.
    environments: tuple[str, ...] | None = None

    @property
    def is_whole(self) -> bool:
        return all(not one.unseen for one in self.places)

    def place(self, name: str) -> Walked | None:
        return next((one for one in self.places if one.name == name), None)


def make_places(site: Site, facts: Facts, *, root: str, only_purged: bool, area: str | None) -> list[dict[str, Any]]:
    """For the request: what Windlass holds first, since it is small, then the areas, each path once."""
    own = find_area(root, site, facts)
    places = [] if area is not None else [_make_place(OURS, root, own, depth=2)]
    seen: set[str] = set()
    for one in site.storage:
        is_wanted = one.name == area if area is not None else (one.purge_days is not None or not only_purged)
        if one.on_login and is_wanted and one.path not in seen:
            seen.add(one.path)
            places.append(_make_place(one.name, one.path, one, depth=3))
    return places


def _make_place(name: str, path: str, area: Area | None, *, depth: int) -> dict[str, Any]:
    by = area.purge_by if area is not None and area.purge_by else _USED
    days = area.purge_days if area is not None else None
    purge_s = None if days is None else days * _DAY_S
    return {"name": name, "path": path, "depth": depth, "purge_s": purge_s, "by": [str(one) for one in by]}


def read_walk(result: Mapping[str, Any], within_s: float) -> Walk:
    """What is no number or no list there is nothing here."""
    places = [_read_place(one) for one in result.get("places") or () if isinstance(one, Mapping)]
    return Walk(
        places=tuple(_add_ours(places)),
        within_s=within_s,
        taken_at=_number(result.get("time")),
        went_on=bool(result.get("went_on")),
    )


def _add_ours(places: Sequence[Walked]) -> Iterator[Walked]:
    """What Windlass holds was walked by itself: it counts in every area it lies in."""
    ours = next((one for one in places if one.name == OURS), None)
    for one in places:
        is_above = ours is not None and one is not ours and is_under(ours.path, one.path)
        yield _with_ours(one, ours) if ours is not None and is_above else one


def _with_ours(area: Walked, ours: Walked) -> Walked:
    moved = replace(ours.whole, path=ours.path[len(area.path.rstrip("/")) :].strip("/"))
    return replace(
        area,
        whole=_sum(area.whole, ours.whole),
        biggest=tuple(sorted((*area.biggest, moved), key=lambda folder: -folder.bytes)),
        doomed=_in_order((*area.doomed, moved) if moved.doomed_files else area.doomed),
        soonest=tuple(sorted((*area.soonest, *ours.soonest), key=lambda file: file.at)),
    )


def _sum(one: Folder, other: Folder) -> Folder:
    moments = [moment for moment in (one.first, other.first) if moment is not None]
    return Folder(
        path=one.path,
        files=one.files + other.files,
        bytes=one.bytes + other.bytes,
        doomed_files=one.doomed_files + other.doomed_files,
        doomed_bytes=one.doomed_bytes + other.doomed_bytes,
        first=min(moments, default=None),
    )


def _in_order(folders: Sequence[Folder]) -> tuple[Folder, ...]:
    return tuple(sorted(folders, key=lambda one: (one.first or 0.0, one.path)))


def _read_place(told: Mapping[str, Any]) -> Walked:
    counts = told.get("counts") if isinstance(told.get("counts"), Mapping) else {}
    return Walked(
        name=str(told.get("name") or ""),
        path=str(told.get("path") or ""),
        problem=str(told["problem"]) if told.get("problem") else None,
        whole=_read_folder(["", *(told.get("whole") or ())]),
        biggest=tuple(map(_read_folder, told.get("biggest") or ())),
        doomed=tuple(map(_read_folder, told.get("doomed") or ())),
        soonest=tuple(
            Doomed(path=str(path), bytes=int(_number(size)), at=_number(moment))
            for moment, path, size in (one for one in told.get("soonest") or () if len(one) == 3)
        ),
        unseen=int(_number(told.get("waiting"))),
        next=tuple(str(one) for one in told.get("next") or ()),
        **{name: int(_number((counts or {}).get(name))) for name in ("unreadable", "others", "given_up")},
    )


def _read_folder(row: Sequence[Any]) -> Folder:
    path, files, size, doomed, doomed_size, first = (*row, *([None] * 6))[:6]
    return Folder(
        path=str(path or ""),
        files=int(_number(files)),
        bytes=int(_number(size)),
        doomed_files=int(_number(doomed)),
        doomed_bytes=int(_number(doomed_size)),
        first=None if first is None else _number(first),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
