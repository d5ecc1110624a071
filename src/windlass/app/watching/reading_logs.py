"""A log of the mirror's, opened without being read whole: a page of it, its end, what is found in it."""

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from windlass.app.watching.reading_runs import LogHere
from windlass.app.watching.watch import Watch
from windlass.core.watching.log_lines import Line, find_back, fold, number_of, read_lines, read_some
from windlass.core.watching.log_ranks import find_back_marked, find_marked, make_rank_marks, search_marked
from windlass.core.watching.log_search import (
    Buffer,
    Hit,
    Hits,
    Span,
    find_first,
    find_hits,
    find_line_begin,
    find_line_end,
    gather,
    read_query,
)
from windlass.core.watching.log_streams import (
    Stream,
    Streams,
    find_back_of_stream,
    find_of_stream,
    keep_of_stream,
    read_streams,
)

PAGE = 300  # lines
_CONTEXT = 2  # lines before and after a hit
_TRACEBACK = b"Traceback (most recent call last)"


@dataclass(frozen=True, kw_only=True)
class LogPage:
    lines: tuple[Line, ...]
    begin: int = 0  # its bytes
    end: int = 0
    has_before: bool = False
    has_after: bool = False
    missing: Span | None = None  # bytes right behind it that are not here, though there are later ones


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which lines: of one rank, of one stream."""

    rank: int | None = None
    stream: Stream | None = None

    @property
    def is_all(self) -> bool:
        return self.rank is None and self.stream is None

    def as_query(self) -> dict[str, str]:
        """As an address says it."""
        rank = {} if self.rank is None else {"rank": str(self.rank)}
        return rank if self.stream is None else {**rank, "stream": self.stream.value}


ALL = Choice()


class OpenLog:
    """As long as the file is open."""

    def __init__(self, buffer: Buffer, spans: tuple[Span, ...], load_streams: Callable[[], Streams]) -> None:
        self._buffer = buffer
        self._spans = spans
        self._load_streams = load_streams

    @cached_property
    def _streams(self) -> Streams:
        """Only where one of them is asked for: of a log that both write by turns they are many."""
        return self._load_streams()

    def read_chosen(
        self, choice: Choice, *, at: int | None, before: int | None, folds: bool, most: int = PAGE
    ) -> LogPage:
        """As many of these lines as of all on other pages, however far between: at the end, from here or before."""
        if not self._spans:
            return LogPage(lines=())
        is_first = at is not None
        here = at if at is not None else max(0, before - 1) if before is not None else self._spans[-1][1]
        floor, ceiling = self._find_span(here) or self._spans[-1]
        if is_first:
            begin = find_line_begin(self._buffer, min(max(here, floor), ceiling - 1), floor)
            begins, end = self._find((begin, ceiling), choice, most)
        else:
            end = ceiling if before is None else max(floor, min(before, ceiling))
            begins, begin = self._find_back((floor, end), choice, most)
        lines = read_some(self._buffer, begins, ceiling, number=self._number(begins[0]) if begins else None)
        lines = self._mark_uncertain(lines, ceiling) if choice.stream is not None else lines
        return LogPage(
            lines=tuple(fold(lines) if folds else lines),
            begin=begin,
            end=end,
            has_before=begin > 0,
            has_after=end < self._spans[-1][1],
            missing=self._find_missing(end),
        )

    def _mark_uncertain(self, lines: Sequence[Line], ceiling: int) -> list[Line]:
        ends = (min(find_line_end(self._buffer, line.begin, ceiling) + 1, ceiling) for line in lines)
        return [
            replace(line, is_uncertain=self._streams.is_uncertain(line.begin, end))
            for line, end in zip(lines, ends, strict=True)
        ]

    def _find_missing(self, end: int) -> Span | None:
        later = [span for span in self._spans if span[0] > end]
        return (end, later[0][0]) if later and all(span[1] <= end or span[0] > end for span in self._spans) else None

    def read_end(self, *, most: int = PAGE, folds: bool = True) -> LogPage:
        if not self._spans:
            return LogPage(lines=())
        floor, end = self._spans[-1]
        return self._make_page(find_back(self._buffer, end, floor, most), self._spans[-1], most, folds=folds)

    def read_from(self, begin: int, *, most: int = PAGE, folds: bool = True) -> LogPage:
        """From the line that holds this byte on."""
        span = self._find_span(begin)
        if span is None:
            return self.read_end(most=most, folds=folds)
        begin = min(max(begin, span[0]), span[1] - 1)
        return self._make_page(find_line_begin(self._buffer, begin, span[0]), span, most, folds=folds)

    def read_before(self, end: int, *, most: int = PAGE, folds: bool = True) -> LogPage:
        span = self._find_span(max(0, end - 1))
        if span is None:
            return self.read_end(most=most, folds=folds)
        begin = find_back(self._buffer, min(end, span[1]), span[0], most)
        return self._make_page(begin, (span[0], min(end, span[1])), most, folds=folds, has_after=True)

    def find_traceback(self) -> int | None:
        return find_first(self._buffer, _TRACEBACK, spans=self._spans)

    def search(self, query: str, *, most: int, choice: Choice = ALL) -> Hits:
        def keep(hit: Hit) -> bool:
            return choice.stream is None or self._streams.may_be(choice.stream, hit.begin, hit.end + 1)

        if choice.rank is None:
            return find_hits(self._buffer, query, spans=self._spans, most=most, keep=keep)
        wanted, ignores_case = read_query(query)
        marks = make_rank_marks(choice.rank)
        found = (search_marked(self._buffer, wanted, span, marks, ignores_case=ignores_case) for span in self._spans)
        return gather(filter(keep, chain.from_iterable(found)), most=most) if wanted else Hits()

    def read_around(self, hits: Sequence[Hit]) -> list[list[Line]]:
        """Their lines with a few before and after them; those of hits that stand near each other together."""
        blocks: list[list[Line]] = []
        for hit in hits:
            lines = self._read_around(hit)
            if blocks and lines and lines[0].begin <= blocks[-1][-1].begin:
                last = blocks[-1][-1].begin
                blocks[-1] += [line for line in lines if line.begin > last]
            elif lines:
                blocks.append(lines)
        return blocks

    def _read_around(self, hit: Hit) -> list[Line]:
        span = self._find_span(hit.begin) or (hit.begin, hit.end)
        first = find_back(self._buffer, hit.begin, span[0], _CONTEXT) if hit.begin > span[0] else hit.begin
        before = read_lines(self._buffer, first, hit.begin, most=_CONTEXT)
        number = hit.number and hit.number - len(before)
        return read_lines(self._buffer, first, span[1], most=len(before) + 1 + _CONTEXT, number=number)

    def _make_page(self, begin: int, span: Span, most: int, *, folds: bool, has_after: bool = False) -> LogPage:
        number = self._number(begin)
        lines = read_lines(self._buffer, begin, span[1], most=most, number=number)
        after = read_lines(self._buffer, lines[-1].begin, span[1], most=2)[1:] if lines else []
        end = after[0].begin if after else span[1]
        is_last = not after and span == self._spans[-1]
        return LogPage(
            lines=tuple(fold(lines) if folds else lines),
            begin=begin,
            end=end,
            has_before=begin > 0,
            has_after=has_after or not is_last,
            missing=self._find_missing(end),
        )

    def _find(self, span: Span, choice: Choice, most: int) -> tuple[list[int], int]:
        """Where the first ones begin, and up to where was looked."""
        if choice.rank is None and choice.stream is not None:
            return find_of_stream(self._buffer, span, self._streams, choice.stream, most=most)
        begins, end = find_marked(self._buffer, span, make_rank_marks(choice.rank or 0), most=most)
        return self._keep(begins, span[1], choice), end

    def _find_back(self, span: Span, choice: Choice, most: int) -> tuple[list[int], int]:
        """Where the last ones begin, and how far was looked back."""
        if choice.rank is None and choice.stream is not None:
            return find_back_of_stream(self._buffer, span, self._streams, choice.stream, most=most)
        begins, begin = find_back_marked(self._buffer, span, make_rank_marks(choice.rank or 0), most=most)
        return self._keep(begins, span[1], choice), begin

    def _keep(self, begins: list[int], end: int, choice: Choice) -> list[int]:
        if choice.stream is None:
            return begins
        return keep_of_stream(begins, self._buffer, end, self._streams, choice.stream)

    def _number(self, begin: int) -> int | None:
        return number_of(self._buffer, begin, is_from_start=self._spans[0][0] == 0 and begin <= self._spans[0][1])

    def _find_span(self, at: int) -> Span | None:
        """That holds this byte, or the next one."""
        return next((span for span in self._spans if at < span[1]), None)


@contextmanager
def open_log(watch: Watch, run_id: str, log: LogHere) -> Iterator[OpenLog]:
    """Nothing in it where the copy is gone."""
    with ExitStack() as stack:
        buffer, spans = _open(stack, watch.mirror.find_file(run_id, log.path), log.held.spans)
        yield OpenLog(buffer, spans, lambda: read_streams(watch.mirror.read(run_id, log.streams)))


def _open(stack: ExitStack, file: Path | None, held: Sequence[Span]) -> tuple[Buffer, tuple[Span, ...]]:
    if file is None or not held:
        return b"", ()
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b"", ()
    stack.callback(os.close, handle)
    size = os.fstat(handle).st_size
    if not size:
        return b"", ()
    buffer = stack.enter_context(mmap.mmap(handle, 0, access=mmap.ACCESS_READ))
    spans = [(begin, min(end, size)) for begin, end in held if begin < size]
    return buffer, tuple(_trim(buffer, span, is_last=span == spans[-1]) for span in spans)


def _trim(buffer: Buffer, span: Span, *, is_last: bool) -> Span:
    """Without the parts of lines at its ends, whose other parts are not here; a line without end stays as it is."""
    begin, end = span
    first = find_line_end(buffer, begin, end) + 1 if begin > 0 and buffer[begin - 1 : begin] != b"\n" else begin
    last = end if is_last else find_line_begin(buffer, end, begin)
    return (first, last) if first < last else span
