"""What changed since a data set was packed: by name, size, time, class and columns; by content where only the time did.

Both sides are in the order of names, so they are merged, and memory holds the changes only.
"""

import heapq
from zlib import crc32

from windlass_job.shards.card import Shard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, FrozenSet, Iterator, List, Tuple

    from windlass_job.shards.cutting import Batch
    from windlass_job.shards.folder import Folder

    Known = Tuple[bytes, int, int]  # name, number of its shard, place in it

_PIECE = 1 << 20


class Delta:
    """`select` lets through what must be packed; afterwards the rest of this is true."""

    def __init__(
        self, before: "Folder", reader: "Any", by_content: bool = True, damaged: "FrozenSet[str]" = frozenset()
    ) -> None:
        self._before = before
        self._reader = reader
        self._by_content = by_content
        self._damaged = damaged  # names of shards whose bytes are not those that were packed: none of them stays
        self._dead: "Dict[int, List[int]]" = {}
        self.dead_files = 0
        self.dead_bytes = 0

    def select(self, batches: "Iterator[Batch]") -> "Iterator[Batch]":
        """The files that are new or changed."""
        known = _iterate_by_name(self._before)
        old = next(known, None)
        for batch in batches:
            chosen = []
            for at, name in enumerate(batch.names):
                while old is not None and old[0] < name:
                    self._bury(old)
                    old = next(known, None)
                if old is None or old[0] != name:
                    chosen.append(at)
                    continue
                if not self._is_same(old, batch, at):
                    self._bury(old)
                    chosen.append(at)
                old = next(known, None)
            if chosen:
                yield batch.select(chosen)
        while old is not None:
            self._bury(old)
            old = next(known, None)

    def make_shards(self) -> "List[Shard]":
        """Those of before that stay, with what is dead in them now."""
        return [
            Shard(
                one.name,
                one.bytes,
                one.files,
                one.index_crc,
                _join_ranges(one.dead, sorted(self._dead.get(number, ()))),
            )
            for number, one in enumerate(self._before.card.shards)
            if one.name not in self._damaged
        ]

    def _bury(self, old: "Known") -> None:
        _, shard, at = old
        self._dead.setdefault(shard, []).append(at)
        self.dead_files += 1
        self.dead_bytes += self._before.get_index(shard).sizes[at]

    def _is_same(self, old: "Known", batch: "Batch", at: int) -> bool:
        name, shard, place = old
        index = self._before.get_index(shard)
        if self._before.card.shards[shard].name in self._damaged:
            return False
        if index.sizes[place] != batch.sizes[at] or index.classes[place] != batch.labels[at]:
            return False
        if index.get_columns(place) != (batch.columns[at] if batch.columns else {}):
            return False
        if index.mtimes_ns[place] == batch.mtimes_ns[at]:
            return True
        where = batch.wheres[at] if batch.wheres else None
        return self._by_content and self._compute_crc(name, where) == index.crcs[place]

    def _compute_crc(self, name: bytes, where: "Any") -> int:
        view = memoryview(bytearray(_PIECE))
        crc = 0
        try:
            file = self._reader.open_large(name, where)
        except OSError:
            return -1
        try:
            while True:
                count = file.readinto(view)
                if not count:
                    return crc
                crc = crc32(view[:count], crc)
        except OSError:
            return -1
        finally:
            file.close()


def _iterate_by_name(before: "Folder") -> "Iterator[Known]":
    """Of files that are alive."""
    return heapq.merge(*[_iterate_shard(before, number) for number in range(len(before.card.shards))])


def _iterate_shard(before: "Folder", number: int) -> "Iterator[Known]":
    index = before.get_index(number)
    dead = bytearray(len(index))
    for first, after in before.card.shards[number].dead:
        dead[first:after] = b"\1" * (after - first)
    for at in index.iterate_by_name():
        if not dead[at]:
            yield index.get_name(at), number, at


def _join_ranges(dead: "Tuple[Tuple[int, int], ...]", places: "List[int]") -> "Tuple[Tuple[int, int], ...]":
    joined = []  # type: List[List[int]]
    for first, after in heapq.merge(dead, ((at, at + 1) for at in places)):
        if joined and first <= joined[-1][1]:
            joined[-1][1] = max(after, joined[-1][1])
        else:
            joined.append([first, after])
    return tuple((first, after) for first, after in joined)
