"""The language of a relay: frames of a kind, the number of a connection and bytes. Both sides share it."""

import struct
from typing import Iterator, NamedTuple

PROTOCOL = 1
OPEN = 1  # somebody has connected at the laptop
REFUSED = 2  # nobody answers there: why, in words
DATA = 3
END = 4  # nothing more comes in this direction
RESET = 5  # the connection is gone
CREDIT = 6  # so many bytes more may be sent
ALIVE = 7  # nothing else was to be said for a while
BYE = 8  # the far end leaves by itself: why, in words

LARGEST = 1 << 14  # bytes in one frame: a large answer does not hold up the others for long
WINDOW = 1 << 20  # bytes of one connection that may be on their way
_HEAD = struct.Struct(">BII")
# slurmstepd keeps what a step prints until its line ends: each frame ends one.
_TAIL = b"\n"

Frame = NamedTuple("Frame", [("kind", int), ("number", int), ("content", bytes)])


class Garbled(Exception):
    """Something else has come between the frames."""


def pack(kind: int, number: int = 0, content: bytes = b"") -> bytes:
    return _HEAD.pack(kind, number, len(content)) + content + _TAIL


def pack_credit(number: int, count: int) -> bytes:
    return pack(CREDIT, number, struct.pack(">I", count))


def read_credit(frame: Frame) -> int:
    count: int = struct.unpack(">I", frame.content)[0]
    return count


class Reader:
    """Takes bytes as they come, and gives the frames that are whole."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes) -> Iterator[Frame]:
        self._held += piece
        while len(self._held) >= _HEAD.size:
            kind, number, size = _HEAD.unpack_from(self._held)
            if not OPEN <= kind <= BYE or size > LARGEST:
                raise Garbled("no frame begins with {!r}".format(bytes(self._held[: _HEAD.size])))
            end = _HEAD.size + size
            if len(self._held) <= end:
                return
            content = bytes(self._held[_HEAD.size : end])
            if self._held[end : end + 1] != _TAIL:
                raise Garbled("a frame of {} bytes does not end".format(size))
            del self._held[: end + 1]
            yield Frame(kind, number, content)
