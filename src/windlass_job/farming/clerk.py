"""Beside the pilot, in a thread of its own: brings tasks, beats, looks after others. A slow disk holds up only this."""

import collections
import threading
import time
from typing import Any, Callable, Deque, List, NamedTuple, Optional, Set

from windlass_job.bounded import Hangs, describe, say, within
from windlass_job.farming import ledger, ranges, records, sizes
from windlass_job.farming.entries import Unsure
from windlass_job.farming.journal import Journal
from windlass_job.farming.ledger import NOTHING, Told
from windlass_job.farming.member import Member, Sealed
from windlass_job.farming.ranges import Range
from windlass_job.farming.roll import Timing
from windlass_job.farming.table import Table

_BLOCK = 2000  # rows that are read at once, at most
_LOOK_S = 0.1
_STOPS_S = 2.0
_FIRST_S = 1.0  # so that what runs is seen soon after the start
_PATIENCE_S = 30.0  # at the end, for a disk that hangs
_WAIT_BEATS = 2.5  # who has nothing to do waits so long for what others may give back

# How a pilot stands: what it has ended and recorded so far, how many tasks it runs, and tasks a second with all slots
# at work.
Standing = NamedTuple("Standing", [("ended", Told), ("running", int), ("rate", Optional[float])])
NOT_BEGUN = Standing(NOTHING, 0, None)
# row: as it is in the table, or what `prepare` made of it. cuts: by the end of pilots that it had almost for itself.
Task = NamedTuple(
    "Task",
    [("number", int), ("losses", int), ("attempt", int), ("kind", str), ("row", Any), ("cuts", int)],
)


def make_ranges(tasks: "List[Task]") -> "List[Range]":
    return [
        (task.number, task.number + 1, ranges.make_past(task.attempt - 1, task.losses, task.cuts)) for task in tasks
    ]


class Clerk:
    """`ready` holds tasks to start. `is_over`: there will be no more."""

    def __init__(
        self,
        member: Member,
        table: Table,
        journal: Journal,
        *,
        slots: int,
        timing: Timing,
        linger_s: float,
        left_s: "Callable[[], Optional[float]]",
        standing: "Callable[[], Standing]",
        wake: "Callable[[], None]",
        stops: "Callable[[], Set[int]]",
        beats: "List[Callable[[], None]]",
        prepare: "Callable[[str, bytes], Any]" = lambda kind, row: row,
    ) -> None:
        """standing: asked when it is needed, and not told with each of a million tasks.

        prepare: what is made of each row here, many at once, which is faster than one by one where they start.
        """
        self.ready: "Deque[Task]" = collections.deque()
        self.is_over = False
        self.is_sealed = False
        self.problem: "Optional[str]" = None
        self.stopped: "Set[int]" = set()  # tasks that are not to run, or not to run on
        self._member, self._table, self._journal = member, table, journal
        self._slots, self._timing, self._linger_s = slots, timing, linger_s
        self._left_s, self._wake, self._load_stops = left_s, wake, stops
        self._find_standing, self._standing = standing, NOT_BEGUN
        self._beats, self._prepare = beats, prepare
        self._unread: "List[Range]" = []  # claimed, and not yet in `ready`
        self._claim_at = self._ahead_at = 0.0
        self._idle_since: "Optional[float]" = None
        self._change = threading.Condition()
        self._is_draining = self._is_asked_to_end = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    # ---- for the pilot ----

    def stir(self) -> None:
        """Something has ended or begun."""
        if not self.ready:  # else it looks by itself soon enough
            with self._change:
                self._change.notify()

    def count_waiting(self) -> int:
        """Tasks that have not begun: those that are here, and those that nobody has claimed."""
        return ledger.count_free(self._member.state) + ranges.count(self._unread) + len(self.ready)

    def drain(self) -> None:
        """No task is started here any more: those that wait are for others."""
        with self._change:
            self._is_draining = True
            self._change.notify()

    def end(self) -> None:
        """Gives back what was not run, tells the rest, and leaves. Where that fails others will see to it."""
        with self._change:
            self._is_asked_to_end = True
            self._change.notify()
        self._thread.join(_PATIENCE_S)
        if self.is_sealed or self.problem is not None:
            return
        try:
            if self._thread.is_alive():
                raise Hangs("no answer within {:g} s".format(_PATIENCE_S))
            within(_PATIENCE_S, self._leave)
        except Sealed:
            self.is_sealed = True
        except (OSError, Unsure) as error:
            self.problem = describe(error)

    def _leave(self) -> None:
        self._give_back_waiting()
        self._member.leave()

    # ---- its thread ----

    def _work(self) -> None:
        beat_at = stops_at = 0.0
        beat_s = min(_FIRST_S, self._timing.beat_s)
        try:
            while not self._is_asked_to_end:
                now = time.monotonic()
                if now >= beat_at:
                    beat_at, beat_s = now + beat_s, self._timing.beat_s
                    self._beat()
                if now >= stops_at:
                    stops_at = now + min(_STOPS_S, self._timing.beat_s)
                    self._take_stops()
                self._standing = self._find_standing()
                self._attempt(self._refill)
                self._rest()
        except Sealed:
            self.is_sealed = self.is_over = True
        except Exception as error:  # whatever it is: the pilot ends in order instead of waiting for ever
            self.problem = "{}: {}".format(type(error).__name__, describe(error))
            self.is_over = True
        self._wake()

    def _rest(self) -> None:
        with self._change:
            if not self._is_asked_to_end and not (self._unread and self._is_low()):
                self._change.wait(_LOOK_S)

    def _attempt(self, act: "Callable[[], Any]") -> None:
        """A disk that fails for a while is told, and tried again."""
        try:
            act()
        except (OSError, LookupError) as error:
            say("the farm's folder cannot be reached: {}".format(describe(error)))
            time.sleep(_LOOK_S)

    def _beat(self) -> None:
        self._attempt(self._member.beat)
        for beat in self._beats:
            self._attempt(beat)
        self._attempt(self._share)

    def _take_stops(self) -> None:
        try:
            self.stopped = self._load_stops()
        except OSError:
            pass  # looked for again in a moment
        if self.stopped or self._member.state.is_closed:
            self._wake()

    # ---- tasks come ----

    def _is_low(self) -> bool:
        return len(self.ready) <= min(sizes.choose_ahead(self._standing.rate), _BLOCK // 2)

    def _refill(self) -> None:
        if self._is_draining:
            self._give_back_waiting()
        elif self._is_low():
            if not self._unread:
                self._claim()
            if self._unread:
                self._read_block()
            elif not self.ready and not self._standing.running:
                self._look_whether_over()

    def _claim(self) -> None:
        idle, now = self._slots - self._standing.running - len(self.ready), time.monotonic()
        if now < self._claim_at or (
            idle <= 0 and (now < self._ahead_at or not sizes.choose_ahead(self._standing.rate))
        ):
            return
        self._tell_member()
        taken = self._member.claim(idle=idle, rate=self._standing.rate, left_s=self._left_s())
        if taken:
            self._idle_since = None
            self._unread += taken
            self._record_claim(self._member.state.number)
        else:
            self._claim_at = now + sizes.choose_pause_s(self._member.workers)
            self._member.want()

    def _record_claim(self, number: int) -> None:
        try:
            self._journal.write(records.format_claim(number), self._member.show_life)
        except OSError as error:  # without this line nothing that follows could be understood
            raise Unsure(describe(error))

    def _tell_member(self) -> None:
        """Only what is on the disk is told: others believe it, and leave."""
        ended = self._find_standing().ended
        self._journal.flush()
        self._member.ended = ended

    def _read_block(self) -> None:
        count = min(_BLOCK, max(self._slots, 2 * sizes.choose_ahead(self._standing.rate)))
        block, rest = ranges.split(self._unread, count)
        tasks: "List[Task]" = []
        for first, end, past in block:
            attempt, losses, cuts = ranges.count_failures(past) + 1, ranges.count_losses(past), ranges.count_cuts(past)
            rows = self._table.read(first, end)
            prepared = ((kind, self._prepare(kind, row)) for kind, row in rows)
            tasks += [
                Task(number, losses, attempt, kind, row, cuts) for number, (kind, row) in enumerate(prepared, first)
            ]
        self._unread = rest
        self.ready.extend(tasks)
        self._wake()

    # ---- tasks go ----

    def _put_back(self, count: int) -> None:
        """From the end of `ready`, whose other end the pilot takes from."""
        tasks: "List[Task]" = []
        try:
            while len(tasks) < count:
                tasks.append(self.ready.pop())
        except IndexError:
            pass
        self._unread = ranges.merge(self._unread + make_ranges(tasks))

    def _give_back_waiting(self) -> None:
        self._put_back(len(self.ready))
        self._tell_member()
        self._member.give_back(self._unread)
        self._unread = []

    def _share(self) -> None:
        """Somebody has nothing to do, and here tasks wait: half of them are his."""
        waiting = ranges.count(self._unread) + len(self.ready)
        if ledger.count_free(self._member.state) or not waiting or not self._member.is_wanted():
            return
        self._put_back((waiting + 1) // 2 - ranges.count(self._unread))
        kept, given = ranges.split(self._unread, ranges.count(self._unread) - (waiting + 1) // 2)
        self._tell_member()
        self._member.give_back(given)
        self._unread = kept
        self._ahead_at = time.monotonic() + self._timing.beat_s  # not taken back at once

    # ---- the end ----

    def _look_whether_over(self) -> None:
        """Nothing to run here: wait a moment for what others give back, or for what is added."""
        now, member = time.monotonic(), self._member
        if ledger.count_free(member.state):
            self._claim_at = 0.0  # a dead one has just been sealed here
            return
        if self._idle_since is None:
            self._idle_since = now
        if member.ended != self._standing.ended or not member.has_told:
            self._give_back_waiting()
        waits_s = self._linger_s
        if not ledger.is_complete(member.state):
            waits_s = max(waits_s, _WAIT_BEATS * self._timing.beat_s)
            if not member.is_neighbour_well:
                return
        if member.state.is_closed or now - self._idle_since >= waits_s:
            member.hear()
            if ledger.count_free(member.state):
                self._claim_at = 0.0  # added a moment ago
                return
            self.is_over = True
            self._wake()
