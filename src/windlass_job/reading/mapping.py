"""Which shards are read as memory instead of through the kernel: small data sets that lie in this node's memory.

A slice of mapped memory costs three quarters of a pread. But what is not in memory comes a page at a time, five times
as slowly as by pread; what is mapped counts as the memory of every process that reads it, and some sites end jobs by
that sum; and a server that goes away kills who has its files mapped. So it is for data sets of a gigabyte at most, on
the node's own disk or in its memory, and only while the system has them there.
"""

import mmap
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional

LARGEST_SET = 1 << 30
READS_BETWEEN_LOOKS = 1 << 12  # of one part: what was in memory may have had to go, or may have come
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_OF_THIS_NODE = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs"}) | _IN_MEMORY
_PLACES_LOOKED_AT = 64


def map_shard(handle: int, size: int) -> "Optional[mmap.mmap]":
    """None when it is better read."""
    try:
        kind = _find_file_system(os.fstat(handle).st_dev)
        if kind in _OF_THIS_NODE and (kind in _IN_MEMORY or is_in_memory(handle, size)):
            return mmap.mmap(handle, size, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # ValueError: an empty file, or one that is shorter
        pass
    return None


def is_in_memory(handle: int, size: int) -> bool:
    """As far as a few bytes here and there tell. False, too, where the system cannot say."""
    read, at_once = getattr(os, "preadv", None), getattr(os, "RWF_NOWAIT", None)  # Python 3.6 has neither
    if read is None or at_once is None:
        return False
    byte = [bytearray(1)]
    try:
        for offset in range(0, size, max(1, size // _PLACES_LOOKED_AT)):
            read(handle, byte, offset, at_once)
    except OSError:  # it would have had to wait for the disk
        return False
    return True


def _find_file_system(device: int) -> "Optional[str]":
    if not _kinds:
        _kinds.update(_load_kinds())
    return _kinds.get(device)


def _load_kinds() -> "Dict[int, str]":
    """By the number that `stat` gives; the last one mounted under a number counts."""
    found = {}
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            words = line.split()
            major, minor = words[2].split(b":")
            found[os.makedev(int(major), int(minor))] = words[words.index(b"-") + 1].decode("ascii", "replace")
    return found


_kinds: "Dict[int, str]" = {}
