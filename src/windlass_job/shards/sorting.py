"""Sorts more records than fit into memory: sorted runs go to temporary files and are merged as they are read.

A record is a key and a value, both bytes. Of equal keys the order of arrival is kept.
"""

import heapq
import os
import struct
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, Iterator, List, Optional, Tuple

    Record = Tuple[bytes, bytes]

LARGEST_RUN = 200000
_LENGTHS = struct.Struct("<II")
_BUFFER = 1 << 16


class Sorter:
    """Nothing touches the disk before there are more records than one run holds."""

    def __init__(self, scratch: "Optional[bytes]" = None, largest_run: int = LARGEST_RUN) -> None:
        self._scratch = scratch
        self._largest = largest_run
        self._run = []  # type: List[Record]
        self._files = []  # type: List[BinaryIO]

    def add(self, key: bytes, value: bytes = b"") -> None:
        self._run.append((key, value))
        if len(self._run) >= self._largest:
            self._spill()

    def iterate(self) -> "Iterator[Record]":
        """In order; once."""
        self._run.sort(key=_get_key)
        if not self._files:
            for record in self._run:
                yield record
            return
        runs = [_read_run(file) for file in self._files]
        runs.append(iter(self._run))
        for record in heapq.merge(*runs, key=_get_key):
            yield record
        for file in self._files:
            file.close()

    def _spill(self) -> None:
        self._run.sort(key=_get_key)
        # Buffers of all runs are held at once while they are merged, so they are small.
        file = tempfile.TemporaryFile(dir=None if self._scratch is None else os.fsdecode(self._scratch))  # noqa: SIM115
        pieces: "List[bytes]" = []
        for key, value in self._run:
            pieces += (_LENGTHS.pack(len(key), len(value)), key, value)
        file.write(b"".join(pieces))
        file.seek(0)
        self._files.append(file)
        self._run = []


def _get_key(record: "Record") -> bytes:
    return record[0]


def _read_run(file: "BinaryIO") -> "Iterator[Record]":
    rest = b""
    while True:
        more = file.read(_BUFFER)
        if not more:
            return
        rest += more
        at = 0
        while at + _LENGTHS.size <= len(rest):
            key, value = _LENGTHS.unpack_from(rest, at)
            start = at + _LENGTHS.size
            if start + key + value > len(rest):
                break
            yield rest[start : start + key], rest[start + key : start + key + value]
            at = start + key + value
        rest = rest[at:]
