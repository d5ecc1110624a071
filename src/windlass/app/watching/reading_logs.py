"""A log of the mirror's, opened without being read whole: a page of it, its end, what is found in it."""

import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from windlass.app.watching.reading_runs import LogHere
from windlass.app.watching.watch import Watch
from windlass.core.watching.log_lines import Line, find_back, fold, number_of, read_lines, read_some
from windlass.core.watching.log_ranks import find_back_marked, find_marked, make_rank_marks, search_marked
from windlass.core.watching.log_search import (
    Buffer,
    Hits,
    Span,
    find_first,
    find_hits,
    find_line_begin,
    gather,
    read_query,
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


@dataclass(frozen=True, kw_only=True)
class Found:
    """A hit with the lines around it."""

    lines: tuple[Line, ...]
    at: int  # the byte at which the line of the hit begins


class OpenLog:
    """As long as the file is open."""

    def __init__(self, buffer: Buffer, spans: tuple[Span, ...]) -> None:
        self._buffer = buffer
        self._spans = spans

    def read_rank(self, rank: int, *, at: int | None, before: int | None, folds: bool, most: int = PAGE) -> LogPage:
        """As many lines of one rank as of all on other pages, however far between: at the end, from here or before."""
        if not self._spans:
            return LogPage(lines=())
        marks, is_first = make_rank_marks(rank), at is not None
        here = at if at is not None else max(0, before - 1) if before is not None else self._spans[-1][1]
        floor, ceiling = self._find_span(here) or self._spans[-1]
        if is_first:
            begin = find_line_begin(self._buffer, min(max(here, floor), ceiling - 1), floor)
            begins, end = find_marked(self._buffer, (begin, ceiling), marks, most=most)
        else:
            end = ceiling if before is None else max(floor, min(before, ceiling))
            begins, begin = find_back_marked(self._buffer, (floor, end), marks, most=most)
        lines = read_some(self._buffer, begins, ceiling, number=self._number(begins[0]) if begins else None)
        return LogPage(
            lines=tuple(fold(lines) if folds else lines),
            begin=begin,
            end=end,
            has_before=begin > 0,
            has_after=end < self._spans[-1][1],
        )

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

    def search(self, query: str, *, most: int, rank: int | None = None) -> Hits:
        if rank is None:
            return find_hits(self._buffer, query, spans=self._spans, most=most)
        wanted, ignores_case = read_query(query)
        marks = make_rank_marks(rank)
        found = (search_marked(self._buffer, wanted, span, marks, ignores_case=ignores_case) for span in self._spans)
        return gather(chain.from_iterable(found), most=most) if wanted else Hits()

    def read_around(self, begin: int, end: int, number: int | None) -> Found:
        """A hit's line with a few before and after it."""
        span = self._find_span(begin) or (begin, end)
        first = find_back(self._buffer, begin, span[0], _CONTEXT) if begin > span[0] else begin
        before = read_lines(self._buffer, first, begin, most=_CONTEXT)
        numbered = read_lines(
            self._buffer, first, span[1], most=len(before) + 1 + _CONTEXT, number=number and number - len(before)
        )
        return Found(lines=tuple(numbered), at=begin)

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
        )

    def _number(self, begin: int) -> int | None:
        return number_of(self._buffer, begin, is_from_start=self._spans[0][0] == 0 and begin <= self._spans[0][1])

    def _find_span(self, at: int) -> Span | None:
        """That holds this byte, or the next one."""
        return next((span for span in self._spans if at < span[1]), None)


@contextmanager
def open_log(watch: Watch, run_id: str, log: LogHere) -> Iterator[OpenLog]:
    """Nothing in it where the copy is gone."""
    with ExitStack() as stack:
        yield _open(stack, watch.mirror.find_file(run_id, log.path), log.held.spans)


def _open(stack: ExitStack, file: Path | None, held: Sequence[Span]) -> OpenLog:
    if file is None or not held:
        return OpenLog(b"", ())
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return OpenLog(b"", ())
    stack.callback(os.close, handle)
    size = os.fstat(handle).st_size
    spans = tuple((begin, min(end, size)) for begin, end in held if begin < size)
    if not spans:
        return OpenLog(b"", ())
    return OpenLog(stack.enter_context(mmap.mmap(handle, 0, access=mmap.ACCESS_READ)), spans)
