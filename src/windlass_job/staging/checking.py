"""Checks of bytes on their way to a node: the files of a shard against its index, an index against the card."""

import zlib
from typing import Callable, Optional

from windlass_job import disk
from windlass_job.shards.index import Index, IndexDamaged


class Damaged(Exception):
    """The bytes are not those that were packed."""


class Check:
    """Bytes are fed in order. This one is content with everything."""

    def feed(self, data: memoryview) -> None:
        """May raise Damaged."""

    def end(self) -> None:
        """All has been fed. May raise Damaged."""


def check_nothing() -> Check:
    return Check()


class SumCheck(Check):
    """A whole file has this CRC-32."""

    def __init__(self, name: str, expected: int) -> None:
        self._name = name
        self._expected = expected
        self._sum = 0

    def feed(self, data: memoryview) -> None:
        self._sum = zlib.crc32(data, self._sum)

    def end(self) -> None:
        if self._sum != self._expected:
            raise Damaged("{} is damaged".format(self._name))


class ShardCheck(Check):
    """Every file of a shard has the CRC-32 that its index tells."""

    def __init__(self, name: str, index: Index) -> None:
        self._name = name
        self._index = index
        self._at = 0  # the file whose bytes come next
        self._offset = 0  # of the next byte
        self._sum = 0

    def feed(self, data: memoryview) -> None:
        offsets, sizes, crcs = self._index.offsets, self._index.sizes, self._index.crcs
        begin, end = self._offset, self._offset + len(data)
        at, count = self._at, len(self._index)
        while at < count and offsets[at] < end:
            first, after = offsets[at], offsets[at] + sizes[at]
            self._sum = zlib.crc32(data[max(first, begin) - begin : min(after, end) - begin], self._sum)
            if after > end:
                break
            if self._sum != crcs[at]:
                raise Damaged("{} in {} is damaged".format(disk.as_text(self._index.get_name(at)), self._name))
            self._sum, at = 0, at + 1
        self._at, self._offset = at, end

    def end(self) -> None:
        count = len(self._index)
        # Empty files at the very end begin where nothing is fed any more.
        while self._at < count and not self._index.sizes[self._at]:
            self._at += 1
        is_whole = self._at == count
        self._index.close()
        if not is_whole:
            raise Damaged("{} is cut short".format(self._name))


def make_sum_check(name: str, expected: int) -> Callable[[], Check]:
    return lambda: SumCheck(name, expected)


def make_shard_check(name: str, index: bytes) -> Callable[[], Check]:
    """The index is read when the first byte comes: it arrives just before its shard."""

    def make() -> Check:
        try:
            return ShardCheck(name, Index(index))
        except (IndexDamaged, OSError) as error:
            raise Damaged(str(error))

    return make


def find_damage(path: bytes, check: Check, buffer: bytearray) -> Optional[str]:
    """Of a file that lies on this node; None where it is as it should be. May raise OSError."""
    view = memoryview(buffer)
    try:
        with open(path, "rb", 0) as file:
            while True:
                count = file.readinto(view)
                if not count:
                    break
                check.feed(view[:count])
        check.end()
    except Damaged as problem:
        return str(problem)
    return None
