"""What `quota`, `lfs quota`, `mmlsquota`, `diskusage_report` and `df` print: bytes and files of storage areas."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from windlass.core.facts import SeenQuota

KIB = 1024
_SIZES = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_SIZE = re.compile(r"(?P<number>\d{1,18}(?:\.\d{1,6})?)\s*(?P<unit>[KMGTPE]?)(?P<rest>i?B?)", re.IGNORECASE)
_COUNT = re.compile(r"(?P<number>\d{1,18}(?:\.\d{1,6})?)\s*(?P<unit>[KMG]?)", re.IGNORECASE)
_LONGEST = 1_000_000


@dataclass(frozen=True, kw_only=True)
class QuotaRow:
    """One line of a report; `place` is a path, a device or a name, as it stands there."""

    place: str
    owner: str = ""  # "user alice", "group def-prof", where the report tells
    used_bytes: int | None = None
    limit_bytes: int | None = None  # None: none is set
    used_files: int | None = None
    limit_files: int | None = None

    def is_for(self, *, per_group: bool) -> bool:
        return self.owner.startswith(("group", "project") if per_group else "user")


@dataclass(frozen=True, kw_only=True)
class Disk:
    """Where a path lies, as df tells it, and the numbers of that whole file system."""

    path: str
    device: str
    mount: str
    used_bytes: int | None = None
    free_bytes: int | None = None
    used_files: int | None = None
    free_files: int | None = None


@dataclass(frozen=True, kw_only=True)
class QuotaProgram:
    """One that reports on storage; each reader gives nothing for a text that is not its own."""

    read: Callable[[str], Iterator[QuotaRow]]
    line: str | None = None  # how a new site file asks it; None: only where somebody writes it there
    only_on: str | None = None  # the kind of file system it knows, as df names it


def read_quotas(text: str, command: str = "") -> tuple[QuotaRow, ...]:
    """By the reader of the program that the command starts; by the first that knows the form where it is another."""
    text = text[:_LONGEST]
    program = QUOTA_PROGRAMS.get(_find_program(command))
    readers = [program] if program else QUOTA_PROGRAMS.values()
    return next((rows for one in readers if (rows := tuple(one.read(text)))), ())


def pick_quota(
    rows: Sequence[QuotaRow], disk: Disk, *, per_group: bool, must_be_named: bool = False
) -> QuotaRow | None:
    """The row about this path: its folder, its file system or its device is named; the only row there is, otherwise.

    None where two rows would do, as for a user of two groups: a guess could be the wrong one.
    """
    fitting = [row for row in rows if _fits(row, disk)]
    if not fitting and len(rows) == 1 and not must_be_named:
        fitting = list(rows)
    owned = [row for row in fitting if row.is_for(per_group=per_group)] or fitting
    ranked = sorted(owned, key=lambda row: _rank(row, disk))
    is_clear = len(ranked) == 1 or (len(ranked) > 1 and _rank(ranked[0], disk) < _rank(ranked[1], disk))
    return ranked[0] if is_clear else None


def make_quota(area: str, disk: Disk, row: QuotaRow | None, *, source: str) -> SeenQuota:
    """From a report, or from df: then the numbers are the whole file system's."""
    if row is None:
        limits = _sum(disk.used_bytes, disk.free_bytes), _sum(disk.used_files, disk.free_files)
        return SeenQuota(
            area=area,
            path=disk.path,
            used_bytes=disk.used_bytes,
            limit_bytes=limits[0],
            # A file system that makes inodes as it needs them shows none at all.
            used_files=disk.used_files if limits[1] else None,
            limit_files=limits[1] or None,
            source="df",
            is_shared=True,
        )
    return SeenQuota(
        area=area,
        path=disk.path,
        used_bytes=row.used_bytes,
        limit_bytes=row.limit_bytes,
        used_files=row.used_files,
        limit_files=row.limit_files,
        source=source,
    )


def read_disk(path: str, blocks: str, inodes: str) -> Disk | None:
    """`df -P -k PATH` and `df -P -i PATH`; None when the first said nothing."""
    in_blocks, in_files = _read_df(blocks), _read_df(inodes)
    if in_blocks is None:
        return None
    device, used, free, mount = in_blocks
    return Disk(
        path=path,
        device=device,
        mount=mount,
        used_bytes=_scale(used, KIB),
        free_bytes=_scale(free, KIB),
        used_files=in_files[1] if in_files else None,
        free_files=in_files[2] if in_files else None,
    )


def read_linux_quota(text: str) -> Iterator[QuotaRow]:
    """`quota`, `quota -s` and `lfs quota`: Filesystem, blocks, quota, limit, grace, files, quota, limit, grace.

    A long name stands on a line of its own. Without a unit blocks are of 1 KiB. `*` marks what is over its quota,
    brackets a number that Lustre is not sure of.
    """
    owner = ""
    lines = iter(text.splitlines())
    for line in lines:
        words = line.split()
        if match := re.match(r"Disk quotas for (usr|user|grp|group|prj|project) (\S+)", line.strip()):
            owner = f"{_OWNERS[match[1]]} {match[2]}"
        elif words[:2] in (["Filesystem", "blocks"], ["Filesystem", "kbytes"], ["Filesystem", "space"], _USED):
            yield from _read_rows_below(lines, owner)


def read_mmlsquota(text: str) -> Iterator[QuotaRow]:
    """`mmlsquota` (two tables side by side, with or without filesets) and `mmlsquota -Y` (fields between colons)."""
    if "::HEADER:" in text:
        yield from _read_colons(text)
        return
    has_fileset = False
    for line in text.splitlines():
        words = line.replace("|", " | ").split()
        if words[:1] == ["Filesystem"] and "type" in (word.lower() for word in words[:3]):
            has_fileset = words[1].lower() == "fileset"
        elif "|" in words:
            start = 2 + has_fileset
            bar = words.index("|")
            left, right = words[start:bar], words[bar + 1 :]
            if bar <= start or not left or words[start - 1] not in _OWNERS:
                continue
            place = _name_gpfs(words[0], words[1] if has_fileset else "")
            used, limit = _read_size(left[0], KIB), _read_limit(left[1:3], KIB)
            files, most = (_read_count(right[0]), _read_limit(right[1:3], 1)) if right else (None, None)
            yield QuotaRow(
                place=place,
                owner=_OWNERS[words[start - 1]],
                used_bytes=used,
                limit_bytes=limit,
                used_files=files,
                limit_files=most,
            )


def read_diskusage_report(text: str) -> Iterator[QuotaRow]:
    """`/scratch (user alice)   4096 B/18 TB   1/1000k`; its GB are of 1024 each, as its sizes of known quotas show."""
    pattern = re.compile(
        r"^\s*(?P<place>/\S+)\s*\((?P<owner>(?:user|group|project) [^)\s]+)\)\s+"
        r"(?P<used>[\d.]+\s*[KMGTPE]?i?B?)\s*/\s*(?P<limit>[\d.]+\s*[KMGTPE]?i?B?)\s+"
        r"(?P<files>[\d.]+\s*[KMG]?)\s*/\s*(?P<most>[\d.]+\s*[KMG]?)\s*$",
        re.IGNORECASE,
    )
    for match in filter(None, map(pattern.match, text.splitlines())):
        yield QuotaRow(
            place=match["place"],
            owner=match["owner"],
            used_bytes=_read_size(match["used"], 1),
            limit_bytes=_read_size(match["limit"], 1) or None,
            used_files=_read_count(match["files"]),
            limit_files=_read_count(match["most"]) or None,
        )


def read_df_table(text: str) -> Iterator[QuotaRow]:
    """`df -P -k` and `df -P -i`, for file systems where df of a folder shows its quota, as CephFS does."""
    found: dict[str, QuotaRow] = {}
    counts_files = False
    for line in text.splitlines():
        if line.startswith("Filesystem"):
            counts_files = "Inodes" in line
        elif (row := _read_df(line)) is not None:
            _, used, free, mount = row
            before, scale = found.get(mount, QuotaRow(place=mount)), 1 if counts_files else KIB
            now = _scale(used, scale), _scale(_sum(used, free), scale)
            found[mount] = (
                replace(before, used_files=now[0], limit_files=now[1])
                if counts_files
                else replace(before, used_bytes=now[0], limit_bytes=now[1])
            )
    yield from found.values()


# In the order in which a new site's are looked for, and in which a text of an unknown program is tried.
QUOTA_PROGRAMS: dict[str, QuotaProgram] = {
    "diskusage_report": QuotaProgram(read=read_diskusage_report, line="diskusage_report"),
    "lfs": QuotaProgram(read=read_linux_quota, line="lfs quota -u $USER {path}", only_on="lustre"),
    "mmlsquota": QuotaProgram(read=read_mmlsquota, line="mmlsquota"),
    "quota": QuotaProgram(read=read_linux_quota, line="quota -s"),
    "df": QuotaProgram(read=read_df_table),
}

_USED = ["Filesystem", "used"]  # lfs quota -h
_OWNERS = {"usr": "user", "user": "user", "grp": "group", "group": "group", "prj": "project", "project": "project"} | {
    "USR": "user",
    "GRP": "group",
    "FILESET": "group",
}


def _find_program(command: str) -> str:
    """`lfs` of `LANG=C /usr/bin/lfs quota -u $USER /project | tail`."""
    words = (word for word in command.split() if not re.match(r"\w+=", word))
    return next(words, "").rpartition("/")[2]


def _read_rows_below(lines: Iterator[str], owner: str) -> Iterator[QuotaRow]:
    place = ""
    for line in lines:
        words = line.replace("*", " ").split()
        if not words or not (line[:1].isspace() or words[0].startswith(("/", "none")) or ":" in words[0]):
            return
        if len(words) == 1:  # a long name
            place = words[0]
            continue
        if place:
            words.insert(0, place)
            place = ""
        numbers = _drop_graces(words[1:])
        if len(numbers) >= 6:
            yield QuotaRow(
                place=words[0],
                owner=owner,
                used_bytes=_read_size(numbers[0], KIB),
                limit_bytes=_read_limit(numbers[1:3], KIB),
                used_files=_read_count(numbers[3]),
                limit_files=_read_limit(numbers[4:6], 1),
            )


def _drop_graces(words: Sequence[str]) -> list[str]:
    """Graces (`6days`, `-`, `none`, `6d23h`) stand only after what is over: so they are told by what they are."""
    kept = [word.strip("[]") for word in words]
    return [word for word in kept if _SIZE.fullmatch(word) or _COUNT.fullmatch(word)]


def _read_colons(text: str) -> Iterator[QuotaRow]:
    names: list[str] = []
    for line in text.splitlines():
        cells = line.split(":")
        if cells[2:3] == ["HEADER"]:
            names = cells
        elif names and len(cells) >= len(names) - 1:
            row = dict(zip(names, cells, strict=False))
            # Blocks of -Y are always of 1 KiB.
            yield QuotaRow(
                place=_name_gpfs(row.get("filesystemName", ""), row.get("filesetname", "")),
                owner=f"{_OWNERS.get(row.get('quotaType', ''), '')} {row.get('name', '')}".strip(),
                used_bytes=_read_size(row.get("blockUsage", ""), KIB),
                limit_bytes=_read_limit([row.get("blockQuota", ""), row.get("blockLimit", "")], KIB),
                used_files=_read_count(row.get("filesUsage", "")),
                limit_files=_read_limit([row.get("filesQuota", ""), row.get("filesLimit", "")], 1),
            )


def _name_gpfs(system: str, fileset: str) -> str:
    return system if fileset in ("", "root") else fileset


def _read_df(text: str) -> tuple[str, int | None, int | None, str] | None:
    """Device, used, free and mount of the last line: `df -P` writes one a file system."""
    line = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    match = re.fullmatch(r"(\S.*?)\s+(\d+|-)\s+(\d+|-)\s+(-?\d+|-)\s+(\d+%|-)\s+(/.*)", line.strip())
    if match is None:
        return None
    used, free = (None if word == "-" else max(0, int(word[:18])) for word in (match[3], match[4]))
    return match[1], used, free, match[6]


def _read_size(word: str, scale: int) -> int | None:
    """`1234` in blocks of `scale`, `1.5T`, `280 kB`."""
    match = _SIZE.fullmatch(word.strip())
    if match is None:
        return None
    has_unit = bool(match["unit"] or match["rest"])
    return int(float(match["number"]) * (KIB ** _SIZES[match["unit"].upper()] if has_unit else scale))


def _read_count(word: str) -> int | None:
    match = _COUNT.fullmatch(word.strip())
    return None if match is None else int(float(match["number"]) * 1000 ** _SIZES[match["unit"].upper()])


def _read_limit(words: Sequence[str], scale: int) -> int | None:
    """The hard one, where writing ends; the soft one where it stands alone. 0 is none."""
    read = (_read_count(word) if scale == 1 else _read_size(word, scale) for word in reversed(words))
    return next((value for value in read if value), None)


def _fits(row: QuotaRow, disk: Disk) -> bool:
    is_folder = row.place.startswith("/") and f"{disk.path}/".startswith(f"{row.place.rstrip('/')}/")
    is_mount = row.place.rstrip("/") == disk.mount.rstrip("/") or row.place == disk.device
    # GPFS names its file systems without a path.
    return is_folder or is_mount or row.place == disk.device.rsplit("/", 1)[-1]


def _rank(row: QuotaRow, disk: Disk) -> tuple[int, int]:
    """The longest place first; then the owner whose name stands first in the path, as in /project/GROUP/USER."""
    parts = disk.path.split("/")
    name = row.owner.split(" ")[-1]
    return -len(row.place), parts.index(name) if name and name in parts else len(parts)


def _scale(count: int | None, scale: int) -> int | None:
    return None if count is None else count * scale


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
