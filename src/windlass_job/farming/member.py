"""A worker's life in the ledger: it claims, beats, looks after its neighbours, gives back and leaves.

One that has not beaten for long is sealed: what it had is given back.
"""

import time
from typing import Callable, Iterator, List, Optional, Tuple

from windlass_job.farming import ledger, sealing, sizes
from windlass_job.farming.entries import Change, Ledger
from windlass_job.farming.ledger import NOTHING, State, Told
from windlass_job.farming.neighbours import Neighbours
from windlass_job.farming.ranges import Range
from windlass_job.farming.roll import DiskRoll, Timing, make_timing

_LIST_S = 0.1  # for each worker: so often everyone lists all of them
_LINES = 100000  # of records: a tenth of a second or so


class Sealed(Exception):
    """Another took this worker for dead: nothing it does counts any more."""


class Member:
    def __init__(
        self,
        name: str,
        book: Ledger,
        roll: DiskRoll,
        *,
        retries: int = 0,
        expected: int = 1,
        clock: "Callable[[], float]" = time.monotonic,
        timing: "Optional[Timing]" = None,
    ) -> None:
        """expected: how many workers there will be, as far as is known: the first one does not take all."""
        self.name = name
        self.state = ledger.EMPTY
        self.ended = NOTHING  # what this worker has ended so far: its entries tell it
        self._told = self._telling = NOTHING
        self._book, self._roll, self._clock = book, roll, clock
        self._retries, self._expected = retries, expected
        self._neighbours = Neighbours(roll, timing or make_timing(), clock)
        self._names: "List[str]" = [name]
        self._list_at = 0.0
        self._is_wanting = False

    def join(self, older: "Callable[[str], bool]" = lambda name: False) -> None:
        """older: whose successor this worker is; they are dead, whatever their heartbeats say."""
        self._take(self._book.load())
        self._roll.join(self.name, self.state.number)
        self._list()
        for name in self._names:
            if name != self.name and older(name):
                self.seal(name)

    def beat(self) -> None:
        """May raise Sealed."""
        is_there = self._roll.beat(self.name)
        self.hear()
        if not is_there:
            self._roll.join(self.name, 0)  # somebody removed the file, and nobody sealed us
        if self._clock() >= self._list_at:
            self._list()
        self.look_after_neighbours()

    def hear(self) -> None:
        """What others have written by now."""
        self._book.refresh()
        self._take(self._book.load())

    def show_life(self) -> None:
        """While a disk is waited for that is full, or fails."""
        try:
            self._roll.beat(self.name)
        except OSError:
            pass  # others will take us for dead, which is right when nothing can be written

    @property
    def workers(self) -> int:
        return max(len(self._names), 1)

    @property
    def has_told(self) -> bool:
        return self._told == self.ended

    def find_over(self, ended: Told) -> Told:
        """Tasks of the whole farm, as far as is known here; ended: what this worker has ended so far."""
        state = self.state
        return ledger.add(Told(state.done, state.failed, state.stopped), ledger.subtract(ended, self._told))

    def is_with(self, check: "Callable[[str], bool]") -> bool:
        """Whether there is another like this, now."""
        self._list()
        return any(name != self.name and check(name) for name in self._names)

    # ---- tasks ----

    def claim(self, *, idle: int, rate: "Optional[float]", left_s: "Optional[float]") -> "List[Range]":
        taken: "List[Range]" = []

        def change(state: State) -> "Optional[Tuple[State, bytes]]":
            self._take(state)
            free = ledger.count_free(state)
            if not free:
                return None
            workers = max(self.workers, self._expected)
            count = sizes.choose_count(free=free, workers=workers, idle=idle, rate=rate, left_s=left_s)
            made, taken[:] = ledger.claim(state, count)
            told = self._make_told()
            made = ledger.tell(made, told)
            return made, ledger.format_entry(ledger.CLAIM, self.name, made, moved=taken, told=told)

        if not self._append(change):
            return []
        self._want(False)
        return taken

    def give_back(self, given: "List[Range]") -> None:
        """And tells what ended, also when there is nothing to give."""

        def change(state: State) -> "Optional[Tuple[State, bytes]]":
            self._take(state)
            told = self._make_told()
            if not given and told == NOTHING:
                return None
            made = ledger.tell(ledger.give_back(state, given), told)
            return made, ledger.format_entry(ledger.GIVE_BACK, self.name, made, moved=given, told=told)

        self._append(change)

    def want(self) -> None:
        """Of others who have more than they can start now."""
        if self.workers > 1:
            self._want(True)

    def is_wanted(self) -> bool:
        return self.workers > 1 and not self._is_wanting and self._roll.is_wanted()

    def leave(self) -> None:
        self._roll.leave(self.name)

    # ---- the others ----

    def look_after_neighbours(self) -> None:
        """Whoever is dead is sealed, and then the next ones are looked at."""
        while True:
            seen = self._neighbours.look(self._list_others())
            for name in seen.dead:
                self.seal(name)
                self.show_life()
            if not seen.dead and not seen.left:
                return
            self._list()

    @property
    def is_neighbour_well(self) -> bool:
        """As far as is known."""
        return self._neighbours.is_first_well

    def seal(self, who: str) -> None:
        """What it had and did not end is for others now."""

        def change(state: State) -> "Optional[Tuple[State, bytes]]":
            self._take(state)
            if who in state.sealed:
                return None
            entries = self._book.load_entries(self._roll.read_joined(who) + 1)
            left = sealing.find_left(entries, who, self._read_records(who), self._retries)
            made = ledger.tell(ledger.seal(state, who, left.length, left.ranges), left.told)
            return made, ledger.format_entry(ledger.SEAL, self.name, made, who=who, moved=left.ranges, told=left.told)

        made = self._book.append(change)
        if made is not None:
            self._take(made)
        self._roll.leave(who)

    def _read_records(self, who: str) -> "Iterator[bytes]":
        """Of millions of tasks that takes its time: we must not be taken for dead meanwhile."""
        for number, line in enumerate(self._roll.read_records(who)):
            if number % _LINES == _LINES - 1:
                self.show_life()
            yield line

    def _list_others(self) -> "List[str]":
        """In their order, from this one on and round again."""
        behind = [name for name in self._names if name > self.name]
        return behind + [name for name in self._names if name < self.name]

    # ---- the ledger ----

    def _append(self, change: Change) -> bool:
        made = self._book.append(change)
        if made is None:
            return False
        self._told = self._telling
        self._take(made)
        return True

    def _make_told(self) -> Told:
        """What has ended since the last entry."""
        self._telling = self.ended
        return ledger.subtract(self._telling, self._told)

    def _want(self, is_wanting: bool) -> None:
        if self._is_wanting != is_wanting:
            self._is_wanting = is_wanting
            self._roll.want(self.name, is_wanting)

    def _list(self) -> None:
        self._names = self._roll.list_names()
        self._list_at = self._clock() + _LIST_S * len(self._names)

    def _take(self, state: State) -> None:
        self.state = state
        if self.name in state.sealed:
            raise Sealed(self.name)
