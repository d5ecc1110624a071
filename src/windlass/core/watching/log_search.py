"""Searching the bytes of a log, however long it or one of its lines is: a million lines in well under a second."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from mmap import mmap

Buffer = bytes | mmap
Span = tuple[int, int]

_BLOCK = 4 << 20
_LONGEST = 64 << 10  # how far the ends of a line are looked for around a hit
MOST_HITS = 10_000


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One line with what was looked for; several times in one line is one hit."""

    at: int  # the byte at which it stands
    begin: int  # of its line; of a line without end: a little before
    end: int
    number: int | None  # of the line, from 1; None behind a hole


@dataclass(frozen=True, kw_only=True)
class Hits:
    hits: tuple[Hit, ...] = ()
    is_cut: bool = False  # there are more


def find_hits(
    buffer: Buffer,
    query: str,
    *,
    spans: Sequence[Span],
    most: int = MOST_HITS,
    keep: Callable[[Hit], bool] | None = None,
) -> Hits:
    """Lines that hold the words as they stand; small letters stand for capitals too, as most tools have it.

    spans: the bytes that are there. keep: which of the lines are wanted.
    """
    wanted, ignores_case = read_query(query)
    if not wanted:
        return Hits()
    found = (hit for begin, end in spans for hit in _search_span(buffer, wanted, begin, end, ignores_case=ignores_case))
    return gather(filter(keep, found), most=most)


def read_query(query: str) -> tuple[bytes, bool]:
    """The bytes that are looked for, and whether small letters stand for capitals too."""
    return query.encode(errors="surrogatepass"), query == query.lower()


def gather(hits: Iterator[Hit], *, most: int) -> Hits:
    found = tuple(islice(hits, most))
    return Hits(hits=found, is_cut=next(hits, None) is not None)


def find_first(buffer: Buffer, wanted: bytes, *, spans: Sequence[Span]) -> int | None:
    """The byte at which it stands first."""
    for begin, end in spans:
        at = buffer.find(wanted, begin, end)
        if at >= 0:
            return at
    return None


def count_lines(buffer: Buffer, begin: int, end: int) -> int:
    """How many lines end between these bytes."""
    starts = range(begin, end, _BLOCK)
    return sum(buffer[start : min(start + _BLOCK, end)].count(b"\n") for start in starts)


def find_line_begin(buffer: Buffer, at: int, floor: int) -> int:
    """Of the line that holds this byte; of a line without end a place a little before."""
    floor = max(floor, at - _LONGEST)
    newline = buffer.rfind(b"\n", floor, at)
    return floor if newline < 0 else newline + 1


def find_line_end(buffer: Buffer, at: int, ceiling: int) -> int:
    ceiling = min(ceiling, at + _LONGEST)
    newline = buffer.find(b"\n", at, ceiling)
    return ceiling if newline < 0 else newline


def _search_span(buffer: Buffer, wanted: bytes, begin: int, end: int, *, ignores_case: bool) -> Iterator[Hit]:
    """Block by block, each with the first bytes of the next, so that nothing is missed between two."""
    floor, counted, lines = begin, begin, 0
    for start in range(begin, end, _BLOCK):
        block = buffer[start : min(start + _BLOCK + len(wanted) - 1, end)]
        low = block.lower() if ignores_case else block
        at = low.find(wanted, max(0, floor - start))
        while at >= 0:
            line_begin = find_line_begin(buffer, start + at, floor)
            floor = find_line_end(buffer, start + at, end)
            lines += count_lines(buffer, counted, line_begin)
            counted = line_begin
            yield Hit(at=start + at, begin=line_begin, end=floor, number=lines + 1 if begin == 0 else None)
            at = low.find(wanted, floor - start) if floor - start < _BLOCK else -1
