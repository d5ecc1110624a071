"""Names that come more than once in a source: each file gets one of its own, so that none hides another."""

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from windlass.formats.form import Notices, Sample

_RECENT = 100_000  # names in a set, which takes ten times the room


def tell_apart(samples: Iterable[Sample], notices: Notices) -> Iterator[Sample]:
    """17.jpg, and 17-2.jpg where it comes a second time. WebDataset and TFRecord often count anew in every shard."""
    seen = _Names()
    times: dict[bytes, int] = {}
    for sample in samples:
        name = sample.name
        if not seen.add(name):
            yield sample
            continue
        notices.tell("a name came more than once: the later file is called NAME-2, NAME-3 and so on")
        while True:
            times[name] = number = times.get(name, 1) + 1
            new = _number(name, number)
            if not seen.add(new):
                break
        yield sample._replace(name=new)


def _number(name: bytes, number: int) -> bytes:
    folder, slash, last = name.rpartition(b"/")
    stem, dot, suffix = last.partition(b".")
    if not stem:  # .hidden
        stem, dot, suffix = last, b"", b""
    return b"%b%b%b-%d%b%b" % (folder, slash, stem, number, dot, suffix)


class _Names:
    """Which names there were: eight bytes each, in a few sorted arrays whose lengths are doubled as they are joined."""

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted: list[array[int]] = []

    def add(self, name: bytes) -> bool:
        """Whether it was there."""
        key = int.from_bytes(blake2b(name, digest_size=8).digest(), "little")
        if key in self._recent or any(_holds(one, key) for one in self._sorted):
            return True
        self._recent.add(key)
        if len(self._recent) >= _RECENT:
            self._settle()
        return False

    def _settle(self) -> None:
        new = array("Q", sorted(self._recent))
        self._recent = set()
        while self._sorted and len(self._sorted[-1]) <= len(new):
            new = array("Q", heapq.merge(self._sorted.pop(), new))
        self._sorted.append(new)


def _holds(keys: "array[int]", key: int) -> bool:
    at = bisect_left(keys, key)
    return at < len(keys) and keys[at] == key
