"""A packed data set as a training reads it: a sequence of files' contents, found by number or by name.

`shards[number]` is a few steps and one pread, or a slice of mapped memory: parts (runs of entries that are alive) are
found by bisection, and all that is rare - names, negative numbers, shards not yet open, errors, a new look whether to
map - is left to exceptions and a second, slow way.
"""

import bisect
import errno
import os
import threading
import weakref
import zlib

from windlass_job import disk
from windlass_job.reading import ahead, many, mapping
from windlass_job.reading.finding import find
from windlass_job.reading.handles import Handles, with_enough_handles
from windlass_job.shards.card import load_card
from windlass_job.shards.compressing import HEAD_BYTES, SUFFIX, is_ours, restore
from windlass_job.shards.folder import list_alive
from windlass_job.shards.index import NO_CLASS, Index, IndexDamaged, name_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

    # entry minus number, offsets, sizes, handle, the mapped shard, an iterator that ends when it is time to look again
    Part = Tuple[int, memoryview, memoryview, int, Optional[Any], Iterator[int]]

_pread, _seek, _bisect = os.pread, os.lseek, bisect.bisect_right


class ReadFailed(OSError):
    """A sample cannot be read; says which, and in which file it lies."""


class Shards:
    """A packed data set: `shards[7]`, `shards["train/cat/1.jpg"]`, `shards[100:200]`, `for content in shards`.

    path: its folder, or its name in the run file. Files are counted over all shards, those that were removed or
    replaced left out: 0 to len - 1.
    check: compare each content with the checksum that it was packed with (a quarter of a second a gigabyte).
    Any number of threads may read. Processes that are forked or unpickled open files of their own.
    """

    def __init__(self, path: "Union[str, bytes, os.PathLike[str]]", check: bool = False) -> None:
        self.path = find(os.fsdecode(path))
        self.check = check
        self._folder = os.path.abspath(os.fsencode(self.path))
        self.card = load_card(self._folder)
        self._is_compressed = bool(self.card.about.get("compressed"))
        self.is_plain = not (check or self._is_compressed)  # contents are the bytes of the shard, taken on trust
        shards = self.card.shards
        self._may_map = self.is_plain and sum(one.bytes for one in shards) <= mapping.LARGEST_SET
        self._handles = Handles(self._folder, [one.name for one in shards], [one.bytes for one in shards])
        self._indexes: "Dict[int, Index]" = {}
        self._lock = threading.RLock()
        self._pid = os.getpid()
        # Part k holds the numbers from _starts[k - 1] to before _starts[k]; before the first and after the last is
        # nothing, so that a number out of range finds no part.
        self._where: "List[Tuple[int, int]]" = [(0, 0)]  # of each part: its shard, and entry minus number
        self._starts = [0]
        for number, shard in enumerate(shards):
            for first, after in list_alive(shard):
                self._where.append((number, first - self._starts[-1]))
                self._starts.append(self._starts[-1] + after - first)
        self._parts: "List[Optional[Part]]" = [None] * (len(self._where) + 1)
        self.count = self._starts[-1]
        _all.add(self)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: "Any") -> "Any":
        """The content of one file, by number or by name; of a slice, a `Selection`."""
        try:
            shift, offsets, sizes, handle, mapped, looks = self._parts[_bisect(self._starts, number)]  # type: ignore[misc]
            next(looks)
            at = number + shift
            size, offset = sizes[at], offsets[at]
            # Asked each time: to touch memory behind the end of a file that was cut short is to be killed.
            if mapped is not None and _seek(handle, 0, os.SEEK_END) >= offset + size:
                return mapped[offset : offset + size]
            content = _pread(handle, size, offset)
        except (TypeError, OSError, StopIteration):
            return self._get_slowly(number)
        if len(content) == size:
            return content
        return self.read(number)

    def __iter__(self) -> "Iterator[bytes]":
        return ahead.iterate(self, range(self.count))

    def __repr__(self) -> str:
        return "Shards({!r}): {} files in {} shards".format(self.path, self.count, len(self.card.shards))

    def __reduce__(self) -> "Tuple[Any, ...]":
        return Shards, (self.path, self.check)

    def __enter__(self) -> "Shards":
        return self

    def __exit__(self, *_: "Any") -> None:
        self.close()

    # ---- contents -----------------------------------------------------------------------------------

    def read(self, number: int, check: "Optional[bool]" = None) -> bytes:
        """One content. A copy on the node that is damaged is passed over for the one at its origin."""
        shard, at = self.locate(number)
        index = self.get_index(shard)
        size, offset = index.sizes[at], index.offsets[at]
        must_match = self.check if check is None else check
        while True:
            try:
                content = self._read_whole(shard, size, offset)
            except OSError as error:
                if self._fall_back(shard):
                    continue
                raise ReadFailed(error.errno, self._describe(number, error.strerror or str(error)))
            if len(content) == size and not (must_match and zlib.crc32(content) != index.crcs[at]):
                return restore(index.get_name(at), content)[1] if self._is_compressed else content
            if not self._fall_back(shard):
                raise ReadFailed(errno.EIO, self._describe(number, "its bytes are not those that were packed"))

    def read_many(self, numbers: "Sequence[int]") -> "List[memoryview]":
        """The contents in the order asked for; read in the order of the disk, neighbours at once."""
        self._notice_fork()
        return many.read_many(self, numbers)

    def advise(self, numbers: "Sequence[int]") -> int:
        """Tell the system that these will be read soon: it fetches them meanwhile. How many bytes they have."""
        self._notice_fork()
        return many.advise(self, numbers)

    def iterate(self, numbers: "Iterable[int]", threads: int = 0) -> "Iterator[bytes]":
        """Contents one after another; what comes next is fetched ahead. threads: read ahead in so many of them.

        numbers: any, or an `Order`, whose `state_dict()` then tells what was handed out, whatever was fetched.
        """
        return ahead.iterate(self, numbers, threads)

    # ---- about the samples --------------------------------------------------------------------------

    @property
    def classes(self) -> "Tuple[str, ...]":
        """The names of the classes: that of a sample is `classes[label(number)]`."""
        return self.card.classes

    def name(self, number: int) -> str:
        """The file's path in the folder that was packed."""
        return disk.as_text(self._get_name(*self.locate(number)))

    def label(self, number: int) -> "Optional[int]":
        """The number of its class, as in `classes`; None where it has none."""
        shard, at = self.locate(number)
        found = self.get_index(shard).classes[at]
        return None if found == NO_CLASS else found

    def columns(self, number: int) -> "Dict[str, Any]":
        """What else was packed with it, such as a caption."""
        shard, at = self.locate(number)
        return self.get_index(shard).get_columns(at)

    def find(self, name: "Union[str, bytes]") -> "Optional[int]":
        """The number of the file of this name, or None."""
        wanted = name if isinstance(name, bytes) else disk.as_path(name)
        for stored in (wanted, wanted + SUFFIX) if self._is_compressed else (wanted,):
            for shard in reversed(range(len(self.card.shards))):
                at = self.get_index(shard).find(stored)
                number = None if at is None else self._count(shard, at)
                if number is not None and at is not None and self._get_name(shard, at) == wanted:
                    return number
        return None

    def select(self, numbers: "Sequence[int]") -> "Selection":
        """These samples, in this order."""
        return Selection(self, numbers)

    def under(self, prefix: "Union[str, bytes]") -> "Selection":
        """The samples whose names begin so, such as `train/`."""
        wanted = prefix if isinstance(prefix, bytes) else disk.as_path(prefix)
        found: "List[int]" = []
        for part in range(1, len(self._where)):
            shard, shift = self._where[part]
            index = self.get_index(shard)
            numbers = range(self._starts[part - 1], self._starts[part])
            found.extend(one for one in numbers if index.get_name(one + shift).startswith(wanted))
        return Selection(self, _as_range(found))

    # ---- where they lie -----------------------------------------------------------------------------

    def _get_name(self, shard: int, at: int) -> bytes:
        """As it was before it was packed; the head of a `.gz` tells whose it is."""
        index = self.get_index(shard)
        name = index.get_name(at)
        if not (self._is_compressed and name.endswith(SUFFIX)):
            return name
        try:
            head = self._read_whole(shard, min(index.sizes[at], HEAD_BYTES), index.offsets[at])
        except OSError:  # most are ours
            return name[: -len(SUFFIX)]
        return name[: -len(SUFFIX)] if is_ours(name, head) else name

    def locate(self, number: int) -> "Tuple[int, int]":
        """Which shard, and which entry of it."""
        number = self._settle(number)
        shard, shift = self._where[_bisect(self._starts, number)]
        return shard, number + shift

    def get_index(self, shard: int) -> Index:
        """Names, places and sizes of one shard's files."""
        found = self._indexes.get(shard)
        return found if found is not None else self._load_index(shard)

    def get_part(self, number: int) -> "Part":
        """What is needed to read the numbers around this one; opened when it is not yet."""
        k = _bisect(self._starts, self._settle(number))
        part = self._parts[k]
        if part is None:
            shard, shift = self._where[k]
            index = self.get_index(shard)
            handle = self._handles.get(shard)
            mapped = mapping.map_shard(handle, self.card.shards[shard].bytes) if self._may_map else None
            part = (shift, index.offsets, index.sizes, handle, mapped, iter(range(mapping.READS_BETWEEN_LOOKS)))
            if self.is_plain:  # else each content goes the slow way, where it is checked or restored
                self._parts[k] = part
        return part

    def close(self) -> None:
        """Close its files; they are opened again when something is read."""
        self._parts = [None] * len(self._parts)
        self._handles.close()

    def _get_slowly(self, number: "Any") -> "Any":
        if isinstance(number, slice):
            return Selection(self, range(self.count)[number])
        if isinstance(number, (str, bytes)):
            found = self.find(number)
            if found is None:
                raise KeyError(number)
            number = found
        number = self._settle(number)
        self._parts[_bisect(self._starts, number)] = None  # made anew, whatever was wrong with it
        try:
            self.get_part(number)
        except OSError as error:
            raise ReadFailed(error.errno, self._describe(number, error.strerror or str(error)))
        return self.read(number)

    def _settle(self, number: int) -> int:
        if number < 0:
            number += self.count
        if not 0 <= number < self.count:
            raise IndexError("there is no sample {} of {}".format(number, self.count))
        return number

    def _count(self, shard: int, at: int) -> "Optional[int]":
        """The number of an entry, None when it is dead."""
        for part, (of_shard, shift) in enumerate(self._where[1:], 1):
            if of_shard == shard and self._starts[part - 1] <= at - shift < self._starts[part]:
                return at - shift
        return None

    def _load_index(self, shard: int) -> Index:
        with self._lock:
            if shard not in self._indexes:
                about = self.card.shards[shard]
                path = os.path.join(self._folder, os.fsencode(name_index(about.name)))
                index = with_enough_handles(Index, path)
                if len(index) != about.files or (self.check and not index.is_whole()):
                    raise IndexDamaged("{} is not the index that its card tells of".format(disk.as_text(path)))
                self._indexes[shard] = index
            return self._indexes[shard]

    def _fall_back(self, shard: int) -> bool:
        """Its handle is another file then: what was mapped of the first one is forgotten."""
        if not self._handles.fall_back(shard):
            return False
        self._parts = [None] * len(self._parts)
        return True

    def _read_whole(self, shard: int, size: int, offset: int) -> bytes:
        handle = self._handles.get(shard)
        content = _pread(handle, size, offset)
        while len(content) < size:
            more = _pread(handle, size - len(content), offset + len(content))
            if not more:
                break
            content += more
        return content

    def _describe(self, number: int, problem: str) -> str:
        shard, at = self.locate(number)
        index = self.get_index(shard)
        return "sample {} ({}, byte {} of {}) cannot be read: {}".format(
            number, disk.as_text(index.get_name(at)), index.offsets[at], self._handles.name(shard), problem
        )

    def _notice_fork(self) -> None:
        if self._pid != os.getpid():
            self._start_anew()

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._parts = [None] * len(self._parts)
        self._handles.forget_after_fork()


class Selection:
    """Some samples of a data set, in an order of one's own; its methods are those of `Shards`."""

    def __init__(self, shards: Shards, numbers: "Sequence[int]") -> None:
        self.shards = shards
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: "Any") -> "Any":
        if isinstance(at, slice):
            return Selection(self.shards, self.numbers[at])
        return self.shards[self.numbers[at]]

    def __iter__(self) -> "Iterator[bytes]":
        return self.iterate(range(len(self)))

    def __repr__(self) -> str:
        return "{} of {!r}".format(len(self), self.shards)

    @property
    def classes(self) -> "Tuple[str, ...]":
        return self.shards.classes

    def read(self, at: int, check: "Optional[bool]" = None) -> bytes:
        return self.shards.read(self.numbers[at], check)

    def read_many(self, ats: "Sequence[int]") -> "List[memoryview]":
        return self.shards.read_many([self.numbers[at] for at in ats])

    def advise(self, ats: "Sequence[int]") -> int:
        return self.shards.advise([self.numbers[at] for at in ats])

    def iterate(self, ats: "Iterable[int]", threads: int = 0) -> "Iterator[bytes]":
        return ahead.iterate(self, ats, threads)

    def name(self, at: int) -> str:
        return self.shards.name(self.numbers[at])

    def label(self, at: int) -> "Optional[int]":
        return self.shards.label(self.numbers[at])

    def columns(self, at: int) -> "Dict[str, Any]":
        return self.shards.columns(self.numbers[at])


def _as_range(numbers: "List[int]") -> "Sequence[int]":
    """A folder's files usually lie one after another: then two numbers say it all."""
    if numbers and numbers[-1] - numbers[0] == len(numbers) - 1:
        return range(numbers[0], numbers[-1] + 1)
    return numbers


_all: "weakref.WeakSet[Shards]" = weakref.WeakSet()


def _start_all_anew() -> None:
    for shards in list(_all):
        shards._start_anew()


_register = getattr(os, "register_at_fork", None)  # Python 3.6 has none: there read_many notices it
if _register is not None:
    _register(after_in_child=_start_all_anew)
