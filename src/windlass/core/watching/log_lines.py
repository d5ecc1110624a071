"""A part of a log as lines for people: of bounded length, repeated ones folded, with the rank that wrote each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from windlass.core.watching.log_search import Buffer, count_lines, find_line_end

LONGEST = 2000  # letters of a line that are shown
_LONGEST_BYTES = 4 * LONGEST
_FEW = 3  # so many the same, one after another, become one
# `[rank3]: ` (PyTorch), `[default3]:` (torchrun), `3: ` (srun --label)
_RANK = re.compile(r"^(?:\[(?:rank|default)(?P<named>\d+)\]:\s?|(?P<labelled>\d{1,5}):\s)")
_STAMP = re.compile(r"^[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[\])]?[\s:]*")


@dataclass(frozen=True, kw_only=True)
class Line:
    begin: int  # its first byte: what a link to it names
    text: str  # with escape sequences, without the line's end
    number: int | None = None
    left_out: int = 0  # bytes of it that are not shown
    overwrites: int = 0  # carriage returns: a progress bar wrote over itself so often
    times: int = 1  # folded: so many of the same in a row
    is_uncertain: bool = False  # of one stream it is asked for, and may be of the other

    @property
    def rank(self) -> str | None:
        mark = _RANK.match(self.text)
        return (mark["named"] or mark["labelled"]) if mark else None


def read_some(buffer: Buffer, begins: Sequence[int], end: int, *, number: int | None = None) -> list[Line]:
    """Those that begin there; number: of the first."""
    lines: list[Line] = []
    for last, begin in pairwise((begins[0], *begins)) if begins else ():
        number = number and number + count_lines(buffer, last, begin)
        lines.append(replace(_read_line(buffer, begin, end)[0], number=number))
    return lines


def read_lines(buffer: Buffer, begin: int, end: int, *, most: int, number: int | None = None) -> list[Line]:
    """From a line's beginning on, at most so many."""
    lines: list[Line] = []
    while begin < end and len(lines) < most:
        line, begin = _read_line(buffer, begin, end)
        lines.append(line if number is None else replace(line, number=number + len(lines)))
    return lines


def find_back(buffer: Buffer, end: int, floor: int, lines: int) -> int:
    """Where so many lines before this byte begin."""
    at = end - 1 if end > floor and buffer[end - 1 : end] == b"\n" else end
    floor = max(floor, end - lines * _LONGEST_BYTES)
    for _ in range(lines):
        newline = buffer.rfind(b"\n", floor, at)
        if newline < 0:
            return floor
        at = newline
    return at + 1


def number_of(buffer: Buffer, begin: int, *, is_from_start: bool) -> int | None:
    """The number of the line that begins here; unknown where bytes before it are missing."""
    return count_lines(buffer, 0, begin) + 1 if is_from_start else None


def fold(lines: Sequence[Line]) -> list[Line]:
    """Those that say the same, but for the time and the rank before it, as one with its count."""
    return list(_fold(lines))


def _read_line(buffer: Buffer, begin: int, end: int) -> tuple[Line, int]:
    """And where the next one begins. A line without end is cut into pieces, each as long as is looked at."""
    stop = find_line_end(buffer, begin, end)
    content = buffer[begin : min(stop, begin + _LONGEST_BYTES)]
    pieces = [piece for piece in content.split(b"\r") if piece]
    text = (pieces[-1] if pieces else b"").decode(errors="replace")[:LONGEST]
    left_out = max(0, stop - begin - _LONGEST_BYTES)
    has_newline = buffer[stop : stop + 1] == b"\n"
    return Line(begin=begin, text=text, left_out=left_out, overwrites=max(0, len(pieces) - 1)), stop + has_newline


def _fold(lines: Sequence[Line]) -> Iterator[Line]:
    for _, group in groupby(lines, key=_without_stamp):
        same = list(group)
        if len(same) < _FEW:
            yield from same
        else:
            yield replace(same[0], times=len(same))


def _without_stamp(line: Line) -> str:
    return _STAMP.sub("", _RANK.sub("", line.text, count=1), count=1)
