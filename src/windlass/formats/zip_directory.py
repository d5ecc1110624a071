"""The directory at the end of a zip, entry by entry, and the file that an entry tells of.

By hand, because Python's zipfile keeps all entries in memory, a gigabyte for a million, and is slow for small files.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = struct.Struct("<4s22xHH")
_END = struct.Struct("<4s4xHHIIH")
_LOCATOR64 = struct.Struct("<4s4xQ4x")
_END64 = struct.Struct("<4s20xQQQQ")
_FULL, _FULL16 = 0xFFFFFFFF, 0xFFFF
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_BUFFER = 1 << 20


class Damaged(ValueError):
    """It is no zip archive, or not a whole one."""


class Entry(NamedTuple):
    name: bytes
    comment: bytes
    flags: int
    method: int
    crc: int
    packed_size: int
    size: int
    offset: int
    mode: int  # as Unix has it, 0 where the archive was made elsewhere


class Directory:
    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._size = os.fstat(self._handle).st_size
            self.count, self._at, self._shift = self._find()
        except BaseException as error:  # Ctrl-C too: the handle is closed
            os.close(self._handle)
            raise Damaged(str(error)) if isinstance(error, struct.error) else error from None

    def close(self) -> None:
        os.close(self._handle)

    def iterate(self) -> Iterator[Entry]:
        with open(self._path, "rb", buffering=_BUFFER) as file:
            file.seek(self._at)
            for number in range(self.count):
                try:
                    yield _read_entry(file, self._shift)
                except struct.error as error:
                    raise Damaged(f"its directory ends after {number} of {self.count} files") from error

    def read(self, entry: Entry) -> bytes:
        handle = self._handle
        head = os.pread(handle, _LOCAL.size, entry.offset)
        if len(head) < _LOCAL.size or head[:4] != b"PK\3\4":
            raise Damaged("where it should begin is something else")
        _, name_size, extra_size = _LOCAL.unpack(head)
        content = _read(handle, entry.packed_size, entry.offset + _LOCAL.size + name_size + extra_size)
        if entry.flags & _ENCRYPTED:
            raise Damaged("it is encrypted")
        if entry.method == _DEFLATED:
            content = _inflate(content, entry.size)
        elif entry.method != _STORED:
            raise Damaged(f"it is compressed by method {entry.method}, which is not known here")
        if len(content) != entry.size or zlib.crc32(content) != entry.crc:
            raise Damaged("it does not fit its checksum")
        return content

    def _find(self) -> tuple[int, int, int]:
        """How many files, where the directory begins, and what lies before the archive in the file."""
        length = min(self._size, _END.size + _FULL16)
        tail = os.pread(self._handle, length, self._size - length)
        at = tail.rfind(b"PK\5\6")
        if at < 0:
            raise Damaged("its directory is missing")
        end = self._size - length + at
        _, _, count, size, offset, _ = _END.unpack_from(tail, at)
        if _FULL16 in (count,) or _FULL in (size, offset):
            found = self._find_large(end)
            if found is not None:
                count, size, offset, end = found
        shift = end - size - offset
        if shift < 0:
            raise Damaged("it is cut off")
        return count, offset + shift, shift

    def _find_large(self, end: int) -> tuple[int, int, int, int] | None:
        """From the records of large archives, which lie before the end; None where there are none."""
        handle = self._handle
        locator = os.pread(handle, _LOCATOR64.size, max(0, end - _LOCATOR64.size))
        if locator[:4] != b"PK\6\7":
            return None
        at = end - _LOCATOR64.size - _END64.size  # where it is unless it has been extended
        found = os.pread(handle, _END64.size, at)
        if found[:4] != b"PK\6\6":
            at = _LOCATOR64.unpack(locator)[1]
            found = os.pread(handle, _END64.size, at)
        mark, _, count, size, offset = _END64.unpack(found)
        if mark != b"PK\6\6":
            raise Damaged("the end of its directory is missing")
        return count, size, offset, at


def _read_entry(file: "IO[bytes]", shift: int) -> Entry:
    found = _ENTRY.unpack(file.read(_ENTRY.size))
    if found[0] != b"PK\1\2":
        raise Damaged("its directory is damaged")
    _, made_by, _, flags, method, _, _, crc, packed_size, size, name_size, extra_size, comment_size = found[:13]
    attributes, offset = found[15:]
    text = file.read(name_size + extra_size + comment_size)
    if len(text) < name_size + extra_size + comment_size:
        raise struct.error("cut off")
    if _FULL in (packed_size, size, offset):
        extra = text[name_size : name_size + extra_size]
        size, packed_size, offset = _widen(extra, [size, packed_size, offset])
    mode = attributes >> 16 if made_by >> 8 == 3 else 0
    comment = text[name_size + extra_size :]
    return Entry(text[:name_size], comment, flags, method, crc, packed_size, size, offset + shift, mode)


def _widen(extra: bytes, values: list[int]) -> list[int]:
    """Those that do not fit into 32 bits stand in the extra field, in this order."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            wide = iter(struct.unpack_from(f"<{size // 8}Q", extra, at + 4))
            return [next(wide, value) if value == _FULL else value for value in values]
        at += 4 + size
    return values


def _inflate(content: bytes, size: int) -> bytes:
    """No more than promised: an archive of some kilobytes may hold terabytes of zeros."""
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, size + 1)
    except zlib.error as error:
        raise Damaged(str(error)) from error


def _read(handle: int, size: int, at: int) -> bytes:
    content = os.pread(handle, size, at)
    while len(content) < size:
        more = os.pread(handle, size - len(content), at + len(content))
        if not more:
            raise Damaged("the archive ends in the middle of it")
        content += more
    return content
