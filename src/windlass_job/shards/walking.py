"""All files below a folder, in the order of their names' bytes, with size and time; memory does not grow with them.

A folder's name is compared with a slash at its end, so the whole walk is in the order of the full names: what was
packed before is compared by merging. Within a folder files are asked for size and time in the order of their inodes:
on a cold disk that is some ten times as fast as in the order of names.
"""

import itertools
import os
import stat

from windlass_job import disk
from windlass_job.shards import told as words
from windlass_job.shards.litter import is_litter_file, is_litter_folder
from windlass_job.shards.sorting import LARGEST_RUN, Sorter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, List, Optional, Tuple

    from windlass_job.shards.told import Told

    # names, sizes, mtimes_ns: as lists, because a million small objects a second is all that Python makes.
    Files = Tuple[List[bytes], List[int], List[int]]

_FOLDER = b"d"
_BATCH = 2000
_LOOKED_AT_ONCE = 20000  # what the system says of an entry takes half a kilobyte


class NoFolder(ValueError):
    """There is nothing to walk."""


def walk(
    top: bytes,
    told: "Told",
    follow_folders: bool = False,
    scratch: "Optional[bytes]" = None,
    largest_run: int = LARGEST_RUN,
) -> "Iterator[Files]":
    """Names relative to `top`, some thousand at a time. Links to files count as files."""
    if not os.path.isdir(top):
        raise NoFolder("{} is no folder".format(disk.as_text(top)))
    walker = _Walker(top, told, follow_folders, scratch, largest_run)
    return walker.walk()


class _Walker:
    def __init__(
        self, top: bytes, told: "Told", follow_folders: bool, scratch: "Optional[bytes]", largest_run: int
    ) -> None:
        self._top = top
        self._told = told
        self._follow = follow_folders
        self._scratch = scratch
        self._largest = largest_run

    def walk(self) -> "Iterator[Files]":
        """A stack of half-read folders instead of calls within calls: trees may be deeper than Python's own stack."""
        stack = [self._list(b"")]
        names, sizes, mtimes = [], [], []  # type: List[bytes], List[int], List[int]
        while stack:
            for name, size, mtime in stack[-1]:
                if size is None:
                    stack.append(self._list(name))
                    break
                names.append(name)
                sizes.append(size)
                mtimes.append(mtime)
            else:
                stack.pop()
            if len(names) >= _BATCH:
                yield names, sizes, mtimes
                names, sizes, mtimes = [], [], []
        if names:
            yield names, sizes, mtimes

    def _list(self, folder: bytes) -> "Iterator[Tuple[bytes, Optional[int], int]]":
        """(name, size, mtime) of its files, (name with a slash, None, 0) of its folders, in order."""
        try:
            entries = os.scandir(os.path.join(self._top, folder))
        except OSError:
            self._told.add(words.UNREADABLE, folder)
            return iter(())
        found, sorter = [], None  # type: List[Tuple[bytes, Optional[int], int]], Optional[Sorter]
        with entries:
            for batch in _cut(entries):
                self._look(batch, folder, found)
                if len(found) >= self._largest:
                    sorter = sorter or Sorter(self._scratch, self._largest)
                    _set_aside(found, sorter)
                    found = []
        if sorter:
            _set_aside(found, sorter)
            return _read_sorted(sorter)
        found.sort()
        return iter(found)

    def _look(
        self,
        batch: "List[os.DirEntry[bytes]]",
        folder: bytes,
        found: "List[Tuple[bytes, Optional[int], int]]",
    ) -> None:
        batch.sort(key=os.DirEntry.inode)
        for entry in batch:
            try:
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                self._told.add(words.VANISHED, folder + entry.name)
                continue
            mode = seen.st_mode
            if is_litter_folder(entry.name) if stat.S_ISDIR(mode) else is_litter_file(entry.name):
                self._told.add(words.LITTER, folder + entry.name)
            elif stat.S_ISREG(mode):
                found.append((folder + entry.name, seen.st_size, seen.st_mtime_ns))
            elif stat.S_ISDIR(mode):
                found.append((folder + entry.name + b"/", None, 0))
            elif stat.S_ISLNK(mode):
                self._look_through(entry, folder, found)
            else:
                self._told.add(words.DEVICE, folder + entry.name)

    def _look_through(
        self, entry: "os.DirEntry[bytes]", folder: bytes, found: "List[Tuple[bytes, Optional[int], int]]"
    ) -> None:
        name = folder + entry.name
        try:
            seen = entry.stat()
        except OSError:  # also a link to itself
            self._told.add(words.BROKEN_LINK, name)
            return
        if stat.S_ISREG(seen.st_mode):
            found.append((name, seen.st_size, seen.st_mtime_ns))
        elif not stat.S_ISDIR(seen.st_mode):
            self._told.add(words.DEVICE, name)
        elif self._follow and not self._leads_up(name, seen):
            found.append((name + b"/", None, 0))
        else:
            self._told.add(words.FOLDER_LINK, name)

    def _leads_up(self, name: bytes, seen: os.stat_result) -> bool:
        """Whether a folder above is the same one: that way there would be no end."""
        while name:
            name = os.path.dirname(name)
            above = os.stat(os.path.join(self._top, name))
            if (above.st_dev, above.st_ino) == (seen.st_dev, seen.st_ino):
                return True
        return False


def _cut(entries: "Iterator[os.DirEntry[bytes]]") -> "Iterator[List[os.DirEntry[bytes]]]":
    while True:
        batch = list(itertools.islice(entries, _LOOKED_AT_ONCE))
        if not batch:
            return
        yield batch


def _set_aside(found: "List[Tuple[bytes, Optional[int], int]]", sorter: Sorter) -> None:
    """A folder of millions: its entries wait in sorted runs on the disk."""
    for name, size, mtime in found:
        sorter.add(name, _FOLDER if size is None else b"%d %d" % (size, mtime))


def _read_sorted(sorter: Sorter) -> "Iterator[Tuple[bytes, Optional[int], int]]":
    for name, value in sorter.iterate():
        if value == _FOLDER:
            yield name, None, 0
        else:
            size, mtime = value.split()
            yield name, int(size), int(mtime)
