"""The plan of a packing: every file that will go in, kept on disk and cut into shards. Memory does not grow with it."""

import marshal
import os
import tempfile

from windlass_job.shards.index import NO_CLASS
from windlass_job.shards.tarring import BLOCK, END, LONGEST_NAME, make_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

MB = 1 << 20
SMALLEST_SHARD = 256 * MB
LARGEST_SHARD = 4096 * MB
_STEP = 64 * MB
SHARDS_A_NODE = 4
MOST_FILES = 50000  # in a shard: bounds the memory of its index while it is made, and shares the work out evenly
_BATCH = 2000
_LARGE = 1 << 33  # sizes and seconds from these on need a longer header
_LATE_NS = (1 << 33) * 10**9
_LATEST_NS = ((1 << 63) - 1) // 10**9 * 10**9  # the year 2262: an index holds no later time


def find_smallest(advised_bytes: int) -> int:
    """The least that a shard should have. advised_bytes: what the site says of its files; 0: nothing."""
    return max(SMALLEST_SHARD, _round_up(advised_bytes))


def choose_shard_bytes(total_bytes: int, files: int, nodes: int, advised_bytes: int = 0) -> "Tuple[int, str]":
    """How large a shard should be, and why.

    Large, because a shared file system likes a few large files; but some for each node, so that nodes read and copy
    different ones at the same time, and a break costs a part of the way only.
    """
    smallest = find_smallest(advised_bytes)
    packed = total_bytes + files * BLOCK * 3 // 2  # a header each, and half a block that is not filled
    wished = packed // (SHARDS_A_NODE * max(nodes, 1))
    if wished < smallest or smallest >= LARGEST_SHARD:
        why = "many small files are slow on shared storage" if smallest == SMALLEST_SHARD else "the site advises it"
        return smallest, "no smaller than {} MB, because {}".format(smallest // MB, why)
    if wished > LARGEST_SHARD:
        return LARGEST_SHARD, "no larger than {} GB, because a shard is what is sent again after a break".format(
            LARGEST_SHARD // MB // 1024
        )
    return _round_up(wished), "about {} shards for each of {} nodes".format(SHARDS_A_NODE, max(nodes, 1))


def _round_up(size: int) -> int:
    return -(-size // _STEP) * _STEP


class Batch:
    """Some thousand files, as lists side by side. `wheres` and `columns` are None where no file has any."""

    __slots__ = ("columns", "labels", "mtimes_ns", "names", "sizes", "wheres")

    def __init__(
        self,
        names: "List[bytes]",
        sizes: "List[int]",
        mtimes_ns: "List[int]",
        labels: "Optional[List[int]]" = None,
        wheres: "Optional[List[Any]]" = None,
        columns: "Optional[List[Dict[str, Any]]]" = None,
    ) -> None:
        self.names = names
        self.sizes = sizes
        self.mtimes_ns = mtimes_ns
        if mtimes_ns and (max(mtimes_ns) > _LATEST_NS or min(mtimes_ns) < -_LATEST_NS):
            self.mtimes_ns = [max(min(one, _LATEST_NS), -_LATEST_NS) for one in mtimes_ns]
        self.labels = labels if labels is not None else [NO_CLASS] * len(names)
        self.wheres = wheres  # how its source finds it, when not by its name
        self.columns = columns

    def __len__(self) -> int:
        return len(self.names)

    def take(self, first: int, after: int) -> "Batch":
        if first == 0 and after >= len(self):
            return self
        return self._make([None if one is None else one[first:after] for one in self.as_lists()])

    def select(self, places: "List[int]") -> "Batch":
        return self._make([None if one is None else [one[at] for at in places] for one in self.as_lists()])

    def as_lists(self) -> "List[Any]":
        return [self.names, self.sizes, self.mtimes_ns, self.labels, self.wheres, self.columns]

    @staticmethod
    def _make(lists: "List[Any]") -> "Batch":
        return Batch(*lists)


class ShardPlan:
    """Which files: from file `first` of batch `start` on, so many."""

    def __init__(self, name: str, start: int, first: int) -> None:
        self.name = name
        self.start = start
        self.first = first
        self.files = 0
        self.bytes = len(END)  # of the archive, unless files change
        self.content_bytes = 0


class Plan:
    """Written once, then read by several processes at a time. The file has no name, so that nothing is left."""

    def __init__(self, scratch: "Optional[bytes]" = None) -> None:
        self._file = tempfile.TemporaryFile(dir=None if scratch is None else os.fsdecode(scratch))  # noqa: SIM115
        self._ends = [0]
        self.files = 0
        self.bytes = 0

    def add(self, batch: Batch, cutter: "Cutter") -> None:
        for first in range(0, len(batch), _BATCH):
            part = batch.take(first, first + _BATCH)
            cutter.add(len(self._ends) - 1, part)
            content = marshal.dumps(part.as_lists())
            self._file.write(content)
            self._ends.append(self._ends[-1] + len(content))
            self.files += len(part)
            self.bytes += sum(part.sizes)

    def flush(self) -> None:
        """Before others read."""
        self._file.flush()

    def read(self, number: int) -> Batch:
        start, end = self._ends[number], self._ends[number + 1]
        content = os.pread(self._file.fileno(), end - start, start)
        return Batch(*marshal.loads(content))

    def iterate(self) -> "Iterator[Batch]":
        for number in range(len(self._ends) - 1):
            yield self.read(number)

    def cut(self, cutter: "Cutter") -> None:
        """Once more, with another cutter."""
        for start, batch in enumerate(self.iterate()):
            cutter.add(start, batch)

    def iterate_shard(self, shard: ShardPlan) -> "Iterator[Batch]":
        left, number, first = shard.files, shard.start, shard.first
        while left:
            batch = self.read(number).take(first, first + left)
            yield batch
            left -= len(batch)
            number, first = number + 1, 0

    def close(self) -> None:
        self._file.close()


class Cutter:
    """Cuts files into shards as they come. A shard ends with the file that fills it."""

    def __init__(self, shard_bytes: int, number: int, most_files: int = MOST_FILES) -> None:
        self._shard_bytes = shard_bytes
        self._number = number  # of the first one
        self._most_files = most_files
        self._is_full = True
        self.shards = []  # type: List[ShardPlan]

    def add(self, start: int, batch: Batch) -> None:
        """start: the batch's number in the plan."""
        at = 0
        while at < len(batch):
            if self._is_full:
                self.shards.append(ShardPlan("shard-{:05}.tar".format(self._number + len(self.shards)), start, at))
            at = self._fill(self.shards[-1], batch, at)

    def _fill(self, shard: ShardPlan, batch: Batch, first: int) -> int:
        """From file `first` on; gives the one that begins the next shard. All a million files come through here."""
        total, content, limit = shard.bytes, shard.content_bytes, self._shard_bytes
        after = min(len(batch), first + self._most_files - shard.files)
        at = first
        for name, size, mtime in zip(batch.names[first:after], batch.sizes[first:after], batch.mtimes_ns[first:after]):
            at += 1
            if len(name) <= LONGEST_NAME and size < _LARGE and 0 <= mtime < _LATE_NS:
                total += BLOCK + size + -size % BLOCK
            else:
                total += len(make_header(name, size, mtime // 10**9)) + size + -size % BLOCK
            content += size
            if total >= limit:
                break
        shard.files += at - first
        shard.bytes, shard.content_bytes = total, content
        self._is_full = total >= limit or shard.files >= self._most_files
        return at

    def count_certain(self, smallest: int) -> int:
        """How many shards stay as they are although the shard size, at least `smallest`, is not decided yet: those at
        the beginning that were ended by their number of files."""
        complete = len(self.shards) - (not self._is_full)
        for number in range(complete):
            if self.shards[number].bytes >= smallest:
                return number
        return complete

    def holds_for_all(self, smallest: int) -> bool:
        """Whether any shard size from `smallest` on gives the same shards."""
        return all(shard.bytes < smallest for shard in self.shards)
