"""A data set on a disk: its card, and one file after another out of its shards. The plain way, for tools.

Trainings read through `reading/`, which is fast; both see the same files in the same order.
"""

import bisect
import os
import zlib

from windlass_job import disk
from windlass_job.shards.card import load_card
from windlass_job.shards.index import NO_CLASS, Index, IndexDamaged, name_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    from windlass_job.shards.card import Shard


class FileDamaged(ValueError):
    """A file's bytes are not those that were packed."""


class Entry:
    """One file of a data set, without its bytes."""

    __slots__ = ("at", "crc", "mtime_ns", "name", "offset", "shard", "size")

    def __init__(self, name: bytes, shard: int, at: int, offset: int, size: int, crc: int, mtime_ns: int) -> None:
        self.name = name
        self.shard = shard  # its number
        self.at = at  # in the shard's index
        self.offset = offset
        self.size = size
        self.crc = crc
        self.mtime_ns = mtime_ns


class Folder:
    """Files are counted over all shards, dead ones left out: 0 to len - 1."""

    def __init__(self, path: bytes) -> None:
        self.path = path
        self.card = load_card(path)
        self._indexes = {}  # type: Dict[int, Index]
        self._handles = {}  # type: Dict[int, int]
        self._alive = [list_alive(shard) for shard in self.card.shards]
        self._ends = []  # type: List[int]
        for shard in self.card.shards:
            self._ends.append((self._ends[-1] if self._ends else 0) + shard.alive)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: "Any") -> None:
        self.close()

    def locate(self, number: int) -> "Tuple[int, int]":
        """Which shard, and which entry of it."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        shard = bisect.bisect_right(self._ends, number)
        left = number - (self._ends[shard - 1] if shard else 0)
        for first, after in self._alive[shard]:
            if left < after - first:
                return shard, first + left
            left -= after - first
        raise IndexError(number)

    def get_entry(self, number: int) -> Entry:
        return self._make_entry(*self.locate(number))

    def find(self, name: bytes) -> "Optional[Entry]":
        """The file of this name that is alive, or None."""
        for shard in reversed(range(len(self.card.shards))):
            at = self.get_index(shard).find(name)
            if at is not None and any(first <= at < after for first, after in self._alive[shard]):
                return self._make_entry(shard, at)
        return None

    def iterate(self) -> "Iterator[Entry]":
        """In the order of their numbers."""
        for shard in range(len(self.card.shards)):
            for first, after in self._alive[shard]:
                for at in range(first, after):
                    yield self._make_entry(shard, at)

    def get_class(self, entry: Entry) -> "Optional[str]":
        number = self.get_index(entry.shard).classes[entry.at]
        if number != NO_CLASS and number >= len(self.card.classes):
            words = "{} is of class {} by its index, and the card names {}"
            raise IndexDamaged(words.format(disk.as_text(entry.name), number, len(self.card.classes)))
        return None if number == NO_CLASS else self.card.classes[number]

    def get_columns(self, entry: Entry) -> "Dict[str, Any]":
        return self.get_index(entry.shard).get_columns(entry.at)

    def read(self, entry: Entry, check: bool = True) -> bytes:
        handle = self._open(entry.shard)
        self._check_bounds(entry)
        content = os.pread(handle, entry.size, entry.offset)
        while len(content) < entry.size:
            more = os.pread(handle, entry.size - len(content), entry.offset + len(content))
            if not more:
                break
            content += more
        if len(content) != entry.size or (check and zlib.crc32(content) != entry.crc):
            raise self._make_damage(entry)
        return content

    def iterate_pieces(self, entry: Entry, piece_bytes: int) -> "Iterator[memoryview]":
        """For files that are too large for memory. Whether they are whole is known, and told, at the end."""
        handle, done, crc = self._open(entry.shard), 0, 0
        self._check_bounds(entry)
        while done < entry.size:
            piece = os.pread(handle, min(piece_bytes, entry.size - done), entry.offset + done)
            if not piece:
                break
            crc = zlib.crc32(piece, crc)
            done += len(piece)
            yield memoryview(piece)
        if done != entry.size or crc != entry.crc:
            raise self._make_damage(entry)

    def _check_bounds(self, entry: Entry) -> None:
        """Nothing is asked for that the shard cannot hold: an index that lies would ask for all memory."""
        if entry.offset + entry.size > self.card.shards[entry.shard].bytes:
            raise self._make_damage(entry)

    def _make_damage(self, entry: Entry) -> FileDamaged:
        return FileDamaged(
            "{} in {} is damaged: byte {} and the {} that follow are not as they were packed".format(
                disk.as_text(entry.name), self.card.shards[entry.shard].name, entry.offset, entry.size
            )
        )

    def get_index(self, shard: int) -> Index:
        if shard not in self._indexes:
            about = self.card.shards[shard]
            path = os.path.join(self.path, os.fsencode(name_index(about.name)))
            index = _open_index(path)
            count, crc = len(index), index.compute_crc()
            if count != about.files or crc != about.index_crc:
                index.close()
                if crc == about.index_crc:
                    raise IndexDamaged("{} has {} files, its card {}".format(disk.as_text(path), count, about.files))
                raise IndexDamaged("{} is not as it was written: its checksum is another".format(disk.as_text(path)))
            self._indexes[shard] = index
        return self._indexes[shard]

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)
        for index in self._indexes.values():
            index.close()
        self._handles, self._indexes = {}, {}

    def _make_entry(self, shard: int, at: int) -> Entry:
        index = self.get_index(shard)
        return Entry(
            index.get_name(at), shard, at, index.offsets[at], index.sizes[at], index.crcs[at], index.mtimes_ns[at]
        )

    def _open(self, shard: int) -> int:
        if shard not in self._handles:
            path = os.path.join(self.path, os.fsencode(self.card.shards[shard].name))
            try:
                self._handles[shard] = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                raise FileDamaged("{} is missing, and with it its files".format(disk.as_text(path)))
        return self._handles[shard]


def _open_index(path: bytes) -> Index:
    try:
        return Index(path)
    except FileNotFoundError:
        raise IndexDamaged("{} is missing".format(disk.as_text(path)))


def list_alive(shard: "Shard") -> "List[Tuple[int, int]]":
    """The ranges between the dead ones."""
    ranges, start = [], 0
    for first, after in shard.dead:
        if first > start:
            ranges.append((start, first))
        start = after
    if shard.files > start:
        ranges.append((start, shard.files))
    return ranges
