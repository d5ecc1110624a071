"""What a dead worker leaves behind: read from the ledger and from its own records.

A byte for each task that it had says how far it got, because that may have been a million.
"""

import bisect
import re
from typing import Dict, Iterable, Iterator, List, NamedTuple, Set

from windlass_job.farming import ledger, ranges, records
from windlass_job.farming.ledger import Entry, Told
from windlass_job.farming.ranges import Range

_WAITS, _RUNS, _OVER = range(3)
_WAITING = re.compile(b"\x00+")
_RUNNING = re.compile(b"\x01")
_CALLS = {records.GIVEN + b" ": _RUNS, records.TAKEN_BACK + b" ": _WAITS}

Left = NamedTuple("Left", [("ranges", List[Range]), ("length", int), ("told", Told)])


# Tasks that one claim brought, and that were neither given back nor claimed anew since.
Piece = NamedTuple("Piece", [("claim", int), ("first", int), ("end", int), ("past", int)])


def find_left(entries: "List[Entry]", who: str, lines: "Iterable[bytes]", retries: int) -> Left:
    """What of its tasks is not over; how many bytes of its records count; and what they show that it has not told.

    That may be less than nothing: it told of tasks whose records were lost with its node.
    """
    story = Story(find_pieces(entries, who), retries)
    for line in lines:
        if not line.endswith(b"\n") or b"\0" in line:
            break  # it died while it wrote this, or a file server has a later page before an earlier one
        story.take(line)
    told = ledger.count_told(entries, who)
    ended = Told(story.done, story.failed, story.stopped)
    return Left(ranges.merge(story.find_left()), story.length, ledger.subtract(ended, told))


def find_pieces(entries: "List[Entry]", who: str) -> "List[Piece]":
    """Of each task the last claim of this worker counts."""
    pieces: "List[Piece]" = []
    seen = 0  # all claims so far are below
    for entry in entries:
        if entry.by != who or entry.kind not in (ledger.CLAIM, ledger.GIVE_BACK):
            continue
        for first, end, _ in entry.ranges:
            if first < seen:
                pieces = _take_out(pieces, first, end)
            seen = max(seen, end)
        if entry.kind == ledger.CLAIM:
            pieces += [Piece(entry.state.number, *one) for one in entry.ranges]
    return pieces


def _take_out(pieces: "List[Piece]", first: int, end: int) -> "List[Piece]":
    kept: "List[Piece]" = []
    for piece in pieces:
        if end <= piece.first or piece.end <= first:
            kept.append(piece)
            continue
        around = ((piece.first, min(first, piece.end)), (max(end, piece.first), piece.end))
        kept += [Piece(piece.claim, low, high, piece.past) for low, high in around if low < high]
    return kept


class Story:
    """Of one worker, line by line."""

    def __init__(self, pieces: "List[Piece]", retries: int) -> None:
        self._pieces = sorted(pieces, key=lambda piece: piece.first)  # no two of them have the same task
        self._firsts = [piece.first for piece in self._pieces]
        self._marks = [bytearray(piece.end - piece.first) for piece in self._pieces]
        self._retries = retries
        self._claims: "Set[int]" = set()  # that it knew of; what it did before is of an earlier life of its tasks
        self._failures: "Dict[int, int]" = {}  # of tasks that were to be tried again
        self.done = self.failed = self.stopped = self.length = 0

    def take(self, line: bytes) -> None:
        self.length += len(line)
        kind = line[:2]
        if kind == records.END + b" ":
            self._take_end(line)
            return
        words = line.split(None, 3)
        if len(words) < 2 or not words[1].isdigit():
            return
        if kind == records.START + b" ":
            self._mark(int(words[1]), _RUNS)
        elif kind in _CALLS and len(words) > 2 and words[2].isdigit():
            for task in range(int(words[1]), int(words[2])):
                self._mark(task, _CALLS[kind])
        elif kind == records.CLAIM + b" ":
            self._claims.add(int(words[1]))

    def _take_end(self, line: bytes) -> None:
        try:
            task, attempt, code = map(int, line.split(None, 4)[1:4])
        except ValueError:
            return
        is_over = records.is_last(code, attempt, self._retries)
        if is_over:
            self.done += code == 0
            self.failed += code != 0
            self.stopped += code == records.STOPPED
        if self._mark(task, _OVER if is_over else _WAITS) and not is_over:
            self._failures[task] = attempt

    def _mark(self, task: int, mark: int) -> bool:
        at = bisect.bisect_right(self._firsts, task) - 1
        if at < 0 or task >= self._pieces[at].end or self._pieces[at].claim not in self._claims:
            return False
        self._marks[at][task - self._pieces[at].first] = mark
        return True

    def find_left(self) -> "Iterator[Range]":
        failed = sorted(self._failures)
        for piece, marks in zip(self._pieces, self._marks):
            for found in _WAITING.finditer(marks):
                first, end = piece.first + found.start(), piece.first + found.end()
                again = failed[bisect.bisect_left(failed, first) : bisect.bisect_left(failed, end)]
                for one in self._split(first, end, piece.past, again):
                    yield one
            for found in _RUNNING.finditer(marks):
                task = piece.first + found.start()
                failures = self._failures.get(task, ranges.count_failures(piece.past))
                yield (
                    task,
                    task + 1,
                    ranges.make_past(failures, ranges.count_losses(piece.past) + 1, ranges.count_cuts(piece.past)),
                )

    def _split(self, first: int, end: int, past: int, failed: "List[int]") -> "Iterator[Range]":
        """Those that failed and were to be tried again have another past than the rest."""
        for task in failed:
            if task > first:
                yield first, task, past
            again = ranges.make_past(self._failures[task], ranges.count_losses(past), ranges.count_cuts(past))
            yield task, task + 1, again
            first = task + 1
        if end > first:
            yield first, end, past
