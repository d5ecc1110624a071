"""Lines of one stream among those of both, by what the agent saw of who wrote which bytes: see agent/streams.py.

What nobody saw, and what both may have written, belongs to both: a filter must not hide what one looks for.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain

from windlass.core.watching.log_search import Buffer, Span, find_line_begin, find_line_end
from windlass_job import wire

_PIECE = re.compile(rb"([oem])(\d{1,15})")


class Stream(Enum):
    STDOUT = "stdout"
    STDERR = "stderr"

    @property
    def letter(self) -> str:
        return {Stream.STDOUT: wire.STDOUT, Stream.STDERR: wire.STDERR}[self]


@dataclass(frozen=True)
class _Piece:
    begin: int
    end: int
    letter: str  # of a stream, or of both


class Streams:
    """Of one log."""

    def __init__(self, pieces: Sequence[_Piece] = ()) -> None:
        self._pieces = pieces
        self._begins = [one.begin for one in pieces]
        self._ends = [one.end for one in pieces]

    def may_be(self, stream: Stream, begin: int, end: int) -> bool:
        """A line, with its end."""
        if begin >= end:
            end = begin + 1
        at = begin
        for piece in self._pieces[bisect_right(self._ends, begin) : bisect_left(self._begins, end)]:
            if piece.begin > at or piece.letter in (stream.letter, wire.BOTH):
                return True
            at = piece.end
        return at < end

    def is_uncertain(self, begin: int, end: int) -> bool:
        """Nobody knows of a line to which stream it was written, or both wrote in it."""
        return all(self.may_be(one, begin, end) for one in Stream)

    def list_ranges(self, stream: Stream, span: Span) -> list[Span]:
        """Which bytes of the span may be of this stream: the others need no look."""
        begin, end = span
        found: list[Span] = []
        for piece in self._pieces[bisect_right(self._ends, begin) : bisect_left(self._begins, end)]:
            if piece.letter not in (stream.letter, wire.BOTH):
                if piece.begin > begin:
                    found.append((begin, piece.begin))
                begin = max(begin, piece.end)
        return [*found, (begin, end)] if begin < end else found


def read_streams(content: bytes) -> Streams:
    """Of streams/LOG; a last line that is still being written is passed over, and so is what makes no sense."""
    pieces: list[_Piece] = []
    for line in content.split(b"\n")[:-1]:
        begin, _, rest = line.partition(b" ")
        if not (begin[:1] == b"@" and begin[1:].isdigit() and len(begin) < 17):
            continue
        at = int(begin[1:])
        while pieces and pieces[-1].end > at:  # the log was emptied, and begun anew
            pieces.pop()
        for letter, length in _PIECE.findall(rest):
            if int(length):
                pieces.append(_Piece(at, at + int(length), letter.decode()))
                at += int(length)
    return Streams(pieces)


def keep_lines(pieces: Iterable[bytes], streams: Streams, stream: Stream) -> Iterator[tuple[bytes, bool]]:
    """Of a whole log that comes piece by piece; each with whether it may be of the other as well."""
    at = 0
    rest: list[bytes] = []  # of a line whose end has not come
    for piece in chain(pieces, [None]):
        if piece is not None and b"\n" not in piece:
            rest.append(piece)
            continue
        lines = b"".join([*rest, piece or b""]).splitlines(keepends=True)
        rest = [lines.pop()] if piece is not None and not lines[-1].endswith(b"\n") else []
        for line in lines:
            if streams.may_be(stream, at, at + len(line)):
                yield line, streams.is_uncertain(at, at + len(line))
            at += len(line)


def find_of_stream(buffer: Buffer, span: Span, streams: Streams, stream: Stream, *, most: int) -> tuple[list[int], int]:
    """Where the first lines of this stream begin, at most so many, and up to where was looked."""
    found: list[int] = []
    for line_begin in _list_lines(buffer, span, streams, stream):
        if len(found) == most:
            return found, line_begin
        found.append(line_begin)
    return found, span[1]


def find_back_of_stream(
    buffer: Buffer, span: Span, streams: Streams, stream: Stream, *, most: int
) -> tuple[list[int], int]:
    """The same for the last ones, and how far was looked back."""
    found: list[int] = []
    floor, stop = span
    for begin, end in reversed(streams.list_ranges(stream, span)):
        end = min(end, stop)
        while begin < end and len(found) < most:
            line_begin = find_line_begin(buffer, end - 1, floor)
            line_end = find_line_end(buffer, end - 1, span[1]) + 1
            if streams.may_be(stream, line_begin, min(line_end, span[1])):
                found.append(line_begin)
            end = stop = line_begin
    found.reverse()
    return found, found[0] if len(found) >= most else floor


def keep_of_stream(lines: Iterable[int], buffer: Buffer, end: int, streams: Streams, stream: Stream) -> list[int]:
    """Those that begin there and may be of this stream."""
    return [one for one in lines if streams.may_be(stream, one, min(find_line_end(buffer, one, end) + 1, end))]


def _list_lines(buffer: Buffer, span: Span, streams: Streams, stream: Stream) -> Iterator[int]:
    at = floor = span[0]
    for begin, end in streams.list_ranges(stream, span):
        at = max(at, begin)
        while at < end:
            line_begin = find_line_begin(buffer, at, floor)
            line_end = min(find_line_end(buffer, at, span[1]) + 1, span[1])
            if streams.may_be(stream, line_begin, line_end):
                yield line_begin
            at = floor = max(line_end, at + 1)
