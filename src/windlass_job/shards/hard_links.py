"""Hard links of a tar: second names of members before them, with whose bytes they are packed; on disk where many."""

import itertools
import json

from windlass_job.shards import told as words
from windlass_job.shards.sorting import Sorter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Optional, Tuple

    from windlass_job.shards.sorting import Record
    from windlass_job.shards.told import Told

    Link = Tuple[bytes, int, bytes]  # what it is a name of, its place in the archive, the name


class HardLinks:
    """`add` all, then `join` them once to the members whose names they give."""

    def __init__(self, scratch: "Optional[bytes]") -> None:
        self._scratch = scratch
        self._sorter = Sorter(scratch)
        self.count = 0

    def add(self, name: bytes, target: bytes, number: int) -> None:
        self._sorter.add(target, b"%d " % number + name)
        self.count += 1

    def join(self, members: Sorter, told: "Told") -> Sorter:
        """members: by name, each a list in JSON that begins with its place in the archive."""
        joined = Sorter(self._scratch)
        links = self._iterate()
        link = next(links, None)
        for name, records in itertools.groupby(members.iterate(), key=_get_name):
            versions = []  # type: List[List[Any]]
            for _, value in records:
                joined.add(name, value)
                versions.append(json.loads(value.decode("ascii")))
            while link is not None and link[0] <= name:
                _add_link(link, versions if link[0] == name else [], joined, told)
                link = next(links, None)
        while link is not None:
            _add_link(link, [], joined, told)
            link = next(links, None)
        return joined

    def _iterate(self) -> "Iterator[Link]":
        for target, value in self._sorter.iterate():
            number, _, name = value.partition(b" ")
            yield target, int(number), name


def _get_name(record: "Record") -> bytes:
    return record[0]


def _add_link(link: "Link", versions: "List[List[Any]]", joined: Sorter, told: "Told") -> None:
    """As unpacking gives it: the last version that came before the link."""
    _, number, name = link
    before = [one for one in versions if one[0] < number]
    if not before:
        told.add(words.LOST_LINK, name)
        return
    meant = max(before, key=_get_number)
    joined.add(name, json.dumps([number] + meant[1:]).encode("ascii"))


def _get_number(version: "List[Any]") -> int:
    return int(version[0])
