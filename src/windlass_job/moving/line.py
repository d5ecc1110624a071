"""Frames between the laptop and the porter at the speed of the pipe: a short line of JSON, then plain bytes.

The deputy's conversation is made for many small questions; here one frame is megabytes, read into one buffer that is
used again and again.
"""

import json
import os
import select
import threading
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Optional

_BUFFER = 1 << 20
_LONGEST_LINE = 1 << 16
_BLOCK = 1 << 20


class Ended(Exception):
    """The other side is gone, or has been silent for too long."""


class Line:
    """`receive` and `take` belong to one thread; `send` may be called from several."""

    def __init__(self, source: int, sink: int, nonce: str, idle_s: float) -> None:
        self._source = source
        self._sink = sink
        self._nonce = nonce.encode("ascii")
        self._idle_s = idle_s
        self._buffer = bytearray(_BUFFER)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._lock = threading.Lock()

    def receive(self) -> "Dict[str, Any]":
        """The next frame's line; its bytes are then taken with `take` or `take_all`."""
        at = self._buffer.find(b"\n", self._start, self._end)
        while at < 0:
            if self._end - self._start > _LONGEST_LINE:
                raise ValueError("a line without an end")
            self._move_to_front()
            self._fill()
            at = self._buffer.find(b"\n", self._start, self._end)
        line = bytes(self._view[self._start : at])
        self._start = at + 1
        found = json.loads(line.decode("utf-8"))
        if not isinstance(found, dict):
            raise ValueError("a line that is no request")
        return found

    def take(self, size: int) -> "Iterator[memoryview]":
        """So many bytes, in pieces as they come. A piece is gone when the next is asked for."""
        while size:
            if self._start == self._end:
                self._start = self._end = 0
                self._fill()
            piece = self._view[self._start : min(self._end, self._start + size)]
            self._start += len(piece)
            size -= len(piece)
            yield piece

    def take_all(self, size: int) -> bytes:
        return b"".join(bytes(piece) for piece in self.take(size))

    def send(self, answer: "Dict[str, Any]", payload: "Optional[memoryview]" = None) -> None:
        size = 0 if payload is None else len(payload)
        head = dict(answer, bytes=size)
        if payload is not None:
            head["crc"] = zlib.crc32(payload)
        with self._lock:
            self._write(memoryview(self._nonce + b" " + json.dumps(head).encode("ascii") + b"\n"))
            if payload is not None:
                self._write(payload)

    def _fill(self) -> None:
        if not select.select([self._source], [], [], self._idle_s)[0]:
            raise Ended("nothing came for {:.0f} s".format(self._idle_s))
        count = os.readv(self._source, [self._view[self._end :]])
        if not count:
            raise Ended("the input ended")
        self._end += count

    def _move_to_front(self) -> None:
        left = bytes(self._view[self._start : self._end])
        self._view[: len(left)] = left
        self._start, self._end = 0, len(left)

    def _write(self, view: memoryview) -> None:
        while len(view):
            view = view[os.write(self._sink, view[:_BLOCK]) :]
