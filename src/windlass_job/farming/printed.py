"""What the calls of a warm worker print: into one file, of which each call has the part between two places."""

import os
from typing import List

_PIECE = 1 << 20
_TAIL = 64 << 10
_HUGE = 64 << 20  # bytes on the node's disk, after which a call that prints on has the file emptied


class Printed:
    def __init__(self, handle: int, limit: int) -> None:
        self.handle = handle
        self.at = 0  # up to there it was taken
        self.last = b""  # the end of what the call printed
        self._limit = limit
        self._taken = self._left_out = 0
        self._is_shrunk = False

    def take(self, end: int) -> "List[bytes]":
        """What a call that is over has printed up to there: so much, and its end."""
        pieces = self._take(self.find_size() if self._is_shrunk else end)
        if self._left_out:
            words = "\n[windlass: {} bytes were left out here; the last {} follow]\n"
            pieces += [words.format(self._left_out - len(self.last), len(self.last)).encode("ascii"), self.last]
        return pieces

    def begin(self) -> None:
        """The next call."""
        self.last = b""
        self._taken = self._left_out = 0

    def take_live(self) -> "List[bytes]":
        """Of the only call that the worker has, while it runs."""
        size = self.find_size()
        pieces = self._take(size)
        if size > _HUGE:
            os.ftruncate(self.handle, 0)
            self.at, self._is_shrunk = 0, True
        return pieces

    def empty(self) -> None:
        if self.at or self._is_shrunk:
            os.ftruncate(self.handle, 0)
        self.at, self._is_shrunk = 0, False
        self.begin()

    def find_size(self) -> int:
        return os.fstat(self.handle).st_size

    def _take(self, end: int) -> "List[bytes]":
        pieces: "List[bytes]" = []
        while self.at < end and self._taken < self._limit:
            piece = os.pread(self.handle, min(_PIECE, end - self.at, self._limit - self._taken), self.at)
            if not piece:
                break
            self.at += len(piece)
            self._taken += len(piece)
            pieces.append(piece)
            self.last = (self.last + piece)[-_TAIL:]
        if self.at < end:
            self._left_out += end - self.at
            self.last = os.pread(self.handle, min(_TAIL, end - self.at), max(self.at, end - _TAIL))
            self.at = end
        return pieces
