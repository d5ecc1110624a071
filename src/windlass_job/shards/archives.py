"""Archives as sources: tar, plain or compressed, and zip. Read as they are; nothing is unpacked to a disk.

What leads out of the target, and what is no plain file, is left out and told. Members stay in the archive's order
where it can be read only from its beginning to its end; else they are sorted by name, as files of a folder are.
"""

import calendar
import importlib
import io
import itertools
import json
import math
import os
import tarfile
import zipfile

from windlass_job import disk
from windlass_job.shards import layouts
from windlass_job.shards import told as words
from windlass_job.shards.cutting import Batch
from windlass_job.shards.hard_links import HardLinks
from windlass_job.shards.litter import is_litter
from windlass_job.shards.naming import make_stored_name
from windlass_job.shards.readers import Member, MemberDamaged, MemberReader, list_damages
from windlass_job.shards.sorting import Sorter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Optional, Tuple

    from windlass_job.shards.told import Told

    Found = Tuple[bytes, int, int, Any]  # name, size, mtime_ns, where

_BATCH = 2000
_PIECE = 1 << 20
_MOST_HELD = 32 << 20


class ArchiveDamaged(ValueError):
    """It is no archive, or ends in the middle."""


class _Archive:
    """What both kinds share; `_find` is theirs."""

    is_sequential = False
    classes = ()  # type: Tuple[str, ...]
    columns = ()  # type: Tuple[str, ...]
    _has_links = False  # hard ones, known when it was listed

    def __init__(self, path: bytes) -> None:
        self.path = os.path.abspath(path)
        self.words = self._shown = "the members of " + disk.as_text(os.path.basename(self.path))
        self._folders = layouts.Names()

    def iterate(self, told: "Told", known: "Tuple[str, ...]", scratch: "Optional[bytes]" = None) -> "Iterator[Batch]":
        """Its samples, with the classes that the same folder has."""
        self._folders = layouts.Names()
        batches = self._list(self._leave_litter(self._find_safely(told), told), told, scratch)
        layout = self._folders.judge()
        layout.tell(told)
        self.words = "{}: {}".format(self._shown, layout.words)
        self.classes = layouts.number_classes({disk.as_text(name) for name in layout.classes}, known)
        return batches if layout.depth is None else self._label(batches, layout.depth, told)

    def iterate_all(self, told: "Told") -> "Iterator[Batch]":
        """Every file, as unpacking gives them."""
        return self._list(self._find_safely(told), told, None)

    def _list(self, found: "Iterator[Found]", told: "Told", scratch: "Optional[bytes]") -> "Iterator[Batch]":
        members, links = Sorter(scratch), HardLinks(scratch)
        for number, (name, size, mtime, where) in enumerate(found):
            if isinstance(where, bytes):
                links.add(name, where, number)
            else:
                members.add(name, json.dumps([number, size, mtime, where]).encode("ascii"))
        self._has_links = links.count > 0
        kept = _keep_last(links.join(members, told) if self._has_links else members, told)
        return _cut(_restore_order(kept, scratch) if self.is_sequential else kept)

    def _leave_litter(self, found: "Iterator[Found]", told: "Told") -> "Iterator[Found]":
        for one in found:
            if is_litter(one[0]):
                told.add(words.LITTER, one[0])
                continue
            if os.path.basename(one[0]) in layouts.UNREAD_TABLES:
                told.add(words.UNREAD_TABLE, one[0])
                continue
            self._folders.add(one[0])
            if os.path.basename(one[0]) in layouts.TABLES:
                told.add(words.TABLE_INSIDE, one[0])
            yield one

    def _label(self, batches: "Iterator[Batch]", depth: int, told: "Told") -> "Iterator[Batch]":
        labeller = layouts.Labeller(self.classes, depth)
        for batch in batches:
            batch.labels = labeller.label(batch.names)
            yield layouts.leave_documentation(batch, told)

    def _note_folder(self, raw: bytes) -> None:
        """An empty one may be a class too."""
        name = make_stored_name(raw.rstrip(b"/"))
        if name is not None and not is_litter(name):
            self._folders.add(name + b"/")

    def _find_safely(self, told: "Told") -> "Iterator[Found]":
        try:
            for found in self._find(told):
                yield found
        except ArchiveDamaged:
            raise
        except (OSError,) + list_damages() as error:
            raise ArchiveDamaged("{} cannot be read: {}".format(disk.as_text(self.path), _describe(error)))

    def _find(self, told: "Told") -> "Iterator[Found]":
        raise NotImplementedError


class TarSource(_Archive):
    """A plain one is read at any place; a compressed one twice from its beginning: first for the plan."""

    def __init__(self, path: bytes) -> None:
        _Archive.__init__(self, path)
        try:
            tarfile.open(os.fsdecode(self.path), "r:").close()
        except tarfile.TarError:
            self.is_sequential = True

    def open_reader(self) -> MemberReader:
        return _TarStream(self.path, self._has_links) if self.is_sequential else _TarReader(self.path)

    def _find(self, told: "Told") -> "Iterator[Found]":
        for found in self._judge(iterate_members(open_tar(self.path, self.is_sequential)), told):
            yield found

    def _judge(self, members: "Iterator[Tuple[int, tarfile.TarInfo]]", told: "Told") -> "Iterator[Found]":
        for number, member in members:
            raw = member.name.encode("utf-8", "surrogateescape")
            if member.isdir():
                self._note_folder(raw)
                continue
            name = make_stored_name(raw)
            if name is None:
                told.add(words.REFUSED_NAME, raw)
            elif member.islnk() and _find_linked(member) is not None:
                yield name, 0, 0, _find_linked(member)
            elif member.issym() or member.islnk():
                told.add(words.LINK_INSIDE, raw)
            elif not member.isreg() or member.issparse():
                told.add(words.NOT_PLAIN, raw)
            else:
                where = number if self.is_sequential else [member.offset_data, member.size]  # type: Any
                yield name, member.size, _read_seconds(member.mtime), where


class ZipSource(_Archive):
    def open_reader(self) -> MemberReader:
        return _ZipReader(self.path)

    def _find(self, told: "Told") -> "Iterator[Found]":
        with zipfile.ZipFile(os.fsdecode(self.path)) as archive:
            for number, info in enumerate(archive.infolist()):
                raw = info.filename.encode("utf-8", "surrogateescape")
                if raw.endswith(b"/"):
                    self._note_folder(raw)
                    continue
                name = make_stored_name(raw)
                kind = info.external_attr >> 16 & 0o170000
                if name is None:
                    told.add(words.REFUSED_NAME, raw)
                elif kind == 0o120000:
                    told.add(words.LINK_INSIDE, raw)
                elif kind not in (0, 0o100000):
                    told.add(words.NOT_PLAIN, raw)
                else:
                    yield name, info.file_size, _read_date(info.date_time), number


class _TarReader(MemberReader):
    """Members by their place, at any time."""

    def __init__(self, path: bytes) -> None:
        self._handle = os.open(path, os.O_RDONLY)

    def open_large(self, name: bytes, where: "List[int]") -> "_Region":
        return _Region(self._handle, *where)


class _Region(Member):
    """A part of an open file, which others read as well."""

    def __init__(self, handle: int, start: int, size: int) -> None:
        self._handle = handle
        self._start = start
        self.size = self._left = size

    def readinto(self, view: memoryview) -> int:
        content = os.pread(self._handle, min(len(view), self._left), self._start)
        view[: len(content)] = content
        self._start += len(content)
        self._left -= len(content)
        return len(content)

    def close(self) -> None:
        pass


class _TarStream(MemberReader):
    """Members one after the other, in the order of the plan; with hard links one may be wanted several times."""

    def __init__(self, path: bytes, has_links: bool = False) -> None:
        self._path = path
        self._has_links = has_links
        self._begin()

    def _begin(self) -> None:
        self._archive = open_tar(self._path, True)
        self._members = iterate_members(self._archive)
        self._at = -1
        self._held = b""
        self._holds = False  # the member where it is

    def open_large(self, name: bytes, where: int) -> Member:
        if self._has_links and self._at >= where:
            if self._holds and self._at == where:
                return Member(io.BytesIO(self._held), len(self._held))
            self._begin()  # too large to be held
        member = self._find(where)
        if not self._has_links or member.size > _MOST_HELD:
            return member
        self._held = member.read_all()
        self._holds = True
        return Member(io.BytesIO(self._held), member.size)

    def _find(self, where: int) -> Member:
        self._holds = False
        try:
            for number, member in self._members:
                self._at = number
                if number == where:
                    file = self._archive.extractfile(member)
                    if file is not None:
                        return Member(file, member.size)
        except list_damages() as error:
            raise MemberDamaged(_describe(error))
        raise OSError("the archive ended before this member")


class _ZipReader(MemberReader):
    def __init__(self, path: bytes) -> None:
        self._archive = zipfile.ZipFile(os.fsdecode(path))
        self._infos = self._archive.infolist()

    def open_large(self, name: bytes, where: int) -> Member:
        info = self._infos[where]
        try:
            return Member(self._archive.open(info), info.file_size)
        except RuntimeError as error:  # encrypted, exotic
            raise OSError(_describe(error))
        except list_damages() as error:
            raise MemberDamaged(_describe(error))

    def open_checked(self, name: bytes, where: int) -> Member:
        """Its checksum comes last: it is held where that can be, and else read twice."""
        info = self._infos[where]
        if info.file_size > _MOST_HELD:
            with self.open_large(name, where) as member:
                view = memoryview(bytearray(_PIECE))
                while member.readinto(view):
                    pass
            return self.open_large(name, where)
        with self.open_large(name, where) as member:
            content = member.read_all()
        return Member(io.BytesIO(content), info.file_size)


class _Header(tarfile.TarInfo):
    """tarfile takes a header that it cannot read for the end of the archive: this remembers why it stopped."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> "_Header":
        try:
            return super(_Header, cls).fromtarfile(archive)
        except tarfile.HeaderError as error:
            archive.windlass_end = type(error).__name__  # type: ignore[attr-defined]
            raise


def open_tar(path: bytes, is_sequential: bool) -> tarfile.TarFile:
    """For `iterate_members`, which notices where it was cut off or damaged."""
    name = os.fsdecode(path)
    if not is_sequential:
        return tarfile.open(name, "r:", tarinfo=_Header, encoding="utf-8", errors="surrogateescape")
    with open(path, "rb") as file:
        start = file.read(6)
    for magic, module in ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "lzma")):
        if start.startswith(magic):
            # Opened by ourselves, because tarfile's own way does not notice that a compressed file is cut off.
            file = importlib.import_module(module).open(name)
            archive = tarfile.TarFile.open(
                fileobj=file, mode="r|", tarinfo=_Header, encoding="utf-8", errors="surrogateescape"
            )
            archive.windlass_file = file  # type: ignore[attr-defined]
            return archive
    raise ArchiveDamaged("{} is no tar, nor one compressed by gzip, bzip2 or xz".format(disk.as_text(path)))


def iterate_members(archive: tarfile.TarFile) -> "Iterator[Tuple[int, tarfile.TarInfo]]":
    for number, member in enumerate(archive):
        archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
        yield number, member
    if getattr(archive, "windlass_end", "") != "EOFHeaderError":
        raise tarfile.ReadError("it ends in the middle")
    # The checksum of a compressed file comes after the archive's own end.
    file = getattr(archive, "windlass_file", None)
    while file is not None and file.read(_PIECE):
        pass


def _find_linked(member: tarfile.TarInfo) -> "Optional[bytes]":
    """The name of the member that a hard link is a name of; None where it leads out of the archive."""
    return make_stored_name(member.linkname.encode("utf-8", "surrogateescape"))


def _describe(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "a name in it is no UTF-8, though it says so"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) or "it is damaged"


def _keep_last(members: Sorter, told: "Told") -> "Iterator[Tuple[int, Found]]":
    """As unpacking would: of several members of one name the last one stays."""
    before = None  # type: Optional[Tuple[bytes, List[Any]]]
    for name, value in members.iterate():
        now = json.loads(value.decode("ascii"))
        if before is not None:
            if before[0] == name:
                told.add(words.TWICE, name)
                now = max(before[1], now, key=_get_number)  # a hard link stands after what it is a name of
            else:
                yield _make_found(*before)
        before = (name, now)
    if before is not None:
        yield _make_found(*before)


def _get_number(values: "List[Any]") -> int:
    return int(values[0])


def _make_found(name: bytes, values: "List[Any]") -> "Tuple[int, Found]":
    return values[0], (name, values[1], values[2], values[3])


def _restore_order(found: "Iterator[Tuple[int, Found]]", scratch: "Optional[bytes]") -> "Iterator[Tuple[int, Found]]":
    """Of members, and behind each its further names."""
    sorter = Sorter(scratch)
    for number, (name, size, mtime, where) in found:
        sorter.add(
            b"%020d%020d" % (where, number), json.dumps([disk.as_text(name), size, mtime, where]).encode("ascii")
        )
    for key, value in sorter.iterate():
        name_text, size, mtime, where = json.loads(value.decode("ascii"))
        yield int(key[20:]), (disk.as_path(name_text), size, mtime, where)


def _cut(found: "Iterator[Tuple[int, Found]]") -> "Iterator[Batch]":
    while True:
        part = [one for _, one in itertools.islice(found, _BATCH)]
        if not part:
            return
        names, sizes, mtimes, wheres = (list(values) for values in zip(*part))
        yield Batch(names, sizes, mtimes, wheres=wheres)


def _read_seconds(seconds: float) -> int:
    """Of a time as somebody wrote it, which need not be one."""
    return int(seconds) * 10**9 if math.isfinite(seconds) else 0


def _read_date(date: "Tuple[int, ...]") -> int:
    """Zip knows no time zone, so none is assumed: the same archive gives the same bytes everywhere."""
    try:
        return calendar.timegm(date[:6] + (0, 0, 0)) * 10**9
    except (ValueError, OverflowError):
        return 0
