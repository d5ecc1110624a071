"""The index of one shard: for each file in it the name, where its bytes are, how many, and their checksum.

On disk, little-endian: 8 bytes of magic, the length and the CRC-32 of a header in JSON, the header, then one array
after the other, each on a multiple of 8. The arrays are mapped and never copied: a million entries open at once, and
processes of one node share them.
"""

import json
import mmap
import os
import struct
import sys
import zlib
from array import array

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Optional, Tuple

MAGIC = b"WLINDEX1"
SUFFIX = ".idx"
NO_CLASS = 0xFFFFFFFF
_START = struct.Struct("<8sII")
# name -> type of the array's items. Text is two arrays: the bytes one after another, and where each ends.
_NUMBERS = (("offset", "Q"), ("size", "Q"), ("mtime_ns", "q"), ("crc", "I"), ("class", "I"), ("by_name", "I"))


class IndexDamaged(ValueError):
    """The file is no index, or not the one that was written."""


class IndexWriter:
    """Collects the entries of one shard, in the order of the shard. Some 60 bytes an entry and its name."""

    def __init__(self) -> None:
        self._numbers = {name: array(kind) for name, kind in _NUMBERS}
        wanted = ("offset", "size", "crc", "mtime_ns", "class")
        self._appends = tuple(self._numbers[name].append for name in wanted)
        self._names = bytearray()
        self._name_ends = array("Q")
        self._last_name = b""
        self._is_sorted = True  # so far: folders are packed in the order of names
        self._columns = bytearray()
        self._column_ends = array("Q")

    def __len__(self) -> int:
        return len(self._name_ends)

    def add(
        self,
        name: bytes,
        offset: int,
        size: int,
        crc: int,
        mtime_ns: int,
        label: int = NO_CLASS,
        columns: "Optional[Dict[str, Any]]" = None,
    ) -> None:
        add_offset, add_size, add_crc, add_mtime, add_class = self._appends
        add_offset(offset)
        add_size(size)
        add_crc(crc)
        add_mtime(mtime_ns)
        add_class(label)
        self._names += name
        self._name_ends.append(len(self._names))
        if name < self._last_name:
            self._is_sorted = False
        self._last_name = name
        if columns or self._column_ends:
            self._add_columns(columns or {})

    def _add_columns(self, columns: "Dict[str, Any]") -> None:
        while len(self._column_ends) < len(self) - 1:  # those before had none
            self._column_ends.append(0)
        if columns:
            self._columns += json.dumps(columns, sort_keys=True, separators=(",", ":")).encode("utf-8")
        self._column_ends.append(len(self._columns))

    def write(self, path: bytes, shard_bytes: int) -> int:
        """Aside, flushed and renamed. The checksum of the whole file comes back, for the card."""
        content = self.make(shard_bytes)
        disk.replace(path, content)
        return zlib.crc32(content)

    def make(self, shard_bytes: int) -> bytes:
        """The file's bytes; the same for the same entries."""
        sections = [(name, values) for name, values in self._numbers.items() if name != "by_name"]
        sections.append(("by_name", self._sort()))
        sections.append(("name_end", self._name_ends))
        texts = [("name", bytes(self._names))]
        if self._column_ends:
            while len(self._column_ends) < len(self):
                self._column_ends.append(len(self._columns))
            sections.append(("column_end", self._column_ends))
            texts.append(("column", bytes(self._columns)))
        places = {}  # type: Dict[str, Tuple[str, int, int]]
        body = bytearray()
        for name, values in sections:
            places[name] = (values.typecode, len(body), len(values))
            body += _as_little_endian(values)
            body += bytes(-len(body) % 8)
        for name, text in texts:
            places[name] = ("B", len(body), len(text))
            body += text
            body += bytes(-len(body) % 8)
        header = {"count": len(self), "shard_bytes": shard_bytes, "crc": zlib.crc32(body), "sections": places}
        text = json.dumps(header, sort_keys=True).encode("ascii")
        text += b" " * (-len(text) % 8)
        return _START.pack(MAGIC, len(text), zlib.crc32(text)) + text + bytes(body)

    def _sort(self) -> "array[int]":
        names, ends = bytes(self._names), self._name_ends
        if self._is_sorted:
            return array("I", range(len(ends)))
        starts = [0] + list(ends[:-1])
        return array("I", sorted(range(len(ends)), key=lambda at: names[starts[at] : ends[at]]))


class Index:
    """What an IndexWriter wrote. `offsets`, `sizes`, `crcs`, `mtimes_ns` and `classes` are sequences of numbers."""

    def __init__(self, path: bytes) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # mmap's word for an empty file
            raise IndexDamaged("{} is empty".format(disk.as_text(path)))
        try:
            header, start = self._read_header()
            self.count = int(header["count"])
            self.shard_bytes = int(header["shard_bytes"])
            self._crc = int(header["crc"])
            self._body = memoryview(self._map)[start:]
            self._sections = header["sections"]
            self.offsets = self._numbers("offset")
            self.sizes = self._numbers("size")
            self.crcs = self._numbers("crc")
            self.mtimes_ns = self._numbers("mtime_ns")
            self.classes = self._numbers("class")
            self._by_name = self._numbers("by_name")
            self._name_ends = self._numbers("name_end")
            self._names = self._numbers("name")
            has_columns = "column_end" in self._sections
            self._column_ends = self._numbers("column_end") if has_columns else None
            self._columns = self._numbers("column") if has_columns else None
            self._check_lengths()
        except (KeyError, TypeError, ValueError, OverflowError, struct.error) as error:
            raise IndexDamaged("{} is no index: {}".format(disk.as_text(path), error))

    def _read_header(self) -> "Tuple[Dict[str, Any], int]":
        magic, size, crc = _START.unpack_from(self._map, 0)
        text = self._map[_START.size : _START.size + size]
        if magic != MAGIC or len(text) != size or zlib.crc32(text) != crc:
            raise ValueError("its head is not as it was written")
        if sys.byteorder != "little":
            raise ValueError("this machine counts bytes the other way round")
        return json.loads(text.decode("ascii")), _START.size + size

    def _check_lengths(self) -> None:
        """So that no place below `count` is looked for in vain."""
        arrays = [self.offsets, self.sizes, self.crcs, self.mtimes_ns, self.classes, self._by_name, self._name_ends]
        arrays += [self._column_ends] if self._column_ends is not None else []
        if any(len(one) != self.count for one in arrays):
            raise ValueError("its parts are of different lengths")

    def _numbers(self, name: str) -> "memoryview":
        kind, at, count = self._sections[name]
        width = struct.calcsize(kind)
        piece = self._body[at : at + count * width]
        if len(piece) != count * width:
            raise ValueError("it is cut off")
        return piece.cast(kind)

    def __len__(self) -> int:
        return self.count

    def get_name(self, at: int) -> bytes:
        return bytes(self._names[self._name_ends[at - 1] if at else 0 : self._name_ends[at]])

    def get_columns(self, at: int) -> "Dict[str, Any]":
        if self._column_ends is None or self._columns is None:
            return {}
        text = bytes(self._columns[self._column_ends[at - 1] if at else 0 : self._column_ends[at]])
        return dict(json.loads(text.decode("utf-8"))) if text else {}

    def iterate_names(self) -> "Iterator[bytes]":
        start = 0
        for end in self._name_ends:
            yield bytes(self._names[start:end])
            start = end

    def iterate_by_name(self) -> "Iterator[int]":
        """Where the files are, in the order of their names."""
        return iter(self._by_name)

    def find(self, name: bytes) -> "Optional[int]":
        """Where the file of this name is; of several the last, because later ones take the place of earlier ones."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.get_name(self._by_name[middle]) <= name:
                low = middle + 1
            else:
                high = middle
        if low and self.get_name(self._by_name[low - 1]) == name:
            return int(self._by_name[low - 1])
        return None

    def compute_crc(self) -> int:
        """Of the whole file, as the card tells it."""
        return zlib.crc32(self._map)

    def is_whole(self) -> bool:
        """Whether all of it is as it was written."""
        return zlib.crc32(self._body) == self._crc

    def close(self) -> None:
        for name in ("offsets", "sizes", "crcs", "mtimes_ns", "classes", "_by_name", "_name_ends", "_names"):
            getattr(self, name).release()
        for view in (self._column_ends, self._columns, self._body):
            if view is not None:
                view.release()
        self._map.close()


def name_index(shard: str) -> str:
    """shard-00000.tar -> shard-00000.idx"""
    return os.path.splitext(shard)[0] + SUFFIX


def _as_little_endian(values: "array[int]") -> bytes:
    if sys.byteorder != "little":
        values = values[:]
        values.byteswap()
    return values.tobytes()
