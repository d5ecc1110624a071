"""Many samples at once: in the order of the disk, neighbours in one read, and a word to the system before."""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Sequence, Tuple

    from windlass_job.reading.shards import Shards

GAP = 4096  # between two files that are read at once: a header and what fills its block up
LONGEST = 1 << 20  # of one read: views keep all of it in memory
SLOW_S = 40e-6  # a file: what comes from memory takes a fifth of it
_SOON = getattr(os, "POSIX_FADV_WILLNEED", None)
_advise = getattr(os, "posix_fadvise", None)
_pread = os.pread
_LARGE = 24 << 20


def keep_memory() -> None:
    """Let the C library keep what is freed, for the next batch, instead of giving it back to the system.

    Given back, every page of every batch is a fault again: four fifths of the time of a read from memory. glibc raises
    its limits (mmap, trim) by itself when a large piece is freed, up to 32 MB; other libraries take no notice.
    """
    bytes(_LARGE)


keep_memory()


def read_many(shards: "Shards", numbers: "Sequence[int]") -> "List[memoryview]":
    places = _locate(shards, numbers)
    if not shards.is_plain or places is None:
        return [memoryview(shards.read(number)) for number in numbers]
    found = [_NOTHING] * len(numbers)
    runs = _join(sorted(places))
    if shards.__dict__.get("_is_cold", True) and len(places) > 1:
        _tell(runs)
    began = time.perf_counter()
    for handle, first, after, members in runs:
        _read_run(handle, first, after, members, found)
    # What was slow is told ahead the next time. With threads a read also waits for the interpreter: it errs to cold.
    shards.__dict__["_is_cold"] = time.perf_counter() - began > SLOW_S * len(places)
    for at, content in enumerate(found):
        if content is _NOTHING:  # an error, or the end of the file: told by name, or read elsewhere
            found[at] = memoryview(shards.read(numbers[at]))
    return found


def advise(shards: "Shards", numbers: "Sequence[int]") -> int:
    """How many bytes were told."""
    places = _locate(shards, numbers)
    if not places:
        return 0
    _tell(_join(sorted(places)))
    return sum(size for _, _, size, _ in places)


def _locate(shards: "Shards", numbers: "Sequence[int]") -> "Any":
    """(handle, offset, size, which of the numbers) of each; None when a shard cannot be opened."""
    get_part, places = shards.get_part, []
    try:
        for at, number in enumerate(numbers):
            shift, offsets, sizes, handle, _, _ = get_part(number)
            if number < 0:
                number += shards.count
            places.append((handle, offsets[number + shift], sizes[number + shift], at))
    except OSError:
        return None
    return places


def _join(places: "List[Tuple[int, int, int, int]]") -> "List[Tuple[int, int, int, List[Tuple[int, int, int]]]]":
    """Runs of neighbours: (handle, first byte, after the last, [(offset, size, which)])."""
    runs: "List[Tuple[int, int, int, List[Tuple[int, int, int]]]]" = []
    of, first, after = -1, 0, 0
    members: "List[Tuple[int, int, int]]" = []
    for handle, offset, size, at in places:
        if members and handle == of and offset - after <= GAP and offset + size - first <= LONGEST:
            members.append((offset, size, at))
            after = max(after, offset + size)
            continue
        if members:
            runs.append((of, first, after, members))
        of, first, after, members = handle, offset, offset + size, [(offset, size, at)]
    if members:
        runs.append((of, first, after, members))
    return runs


def _tell(runs: "Sequence[Tuple[int, int, int, Any]]") -> None:
    if _advise is None:
        return
    try:
        for handle, first, after, _ in runs:
            _advise(handle, first, after - first, _SOON)
    except OSError:
        pass  # only advice


def _read_run(
    handle: int, first: int, after: int, members: "List[Tuple[int, int, int]]", found: "List[memoryview]"
) -> None:
    try:
        content = memoryview(_pread(handle, after - first, first))
    except OSError:
        return
    if len(members) == 1:
        if len(content) == after - first:
            found[members[0][2]] = content
        return
    for offset, size, at in members:
        piece = content[offset - first : offset - first + size]
        if len(piece) == size:
            found[at] = piece


_NOTHING = memoryview(b"")
