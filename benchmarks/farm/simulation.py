"""A thousand pilots and ten million tasks, on paper: what do they ask of the shared file system, and how do they end?

The real code claims, gives back and seals (`Ledger`, `Member`, `sizes`, `sealing`); the clock, the file system and the
tasks are simulated. Each operation takes its time, others come in between, and of two who want the next entry one wins.

    python -m benchmarks.farm.simulation [PILOTS TASKS [PERCENT]]

PERCENT: of the pilots, side by side, which lose their power at the same moment.
"""

import collections
import heapq
import math
import random
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.farm.simulated_site import Clock, Roll, Server, Store
from benchmarks.report import Row, show
from windlass_job.farming import ledger, ranges, records
from windlass_job.farming.entries import Ledger
from windlass_job.farming.ledger import State, Told
from windlass_job.farming.member import Member
from windlass_job.farming.ranges import Range
from windlass_job.farming.roll import Timing
from windlass_job.farming.sizes import choose_ahead, choose_pause_s

SLOTS = 16
TASK_S = 10.0  # on average; lognormal, one in a hundred takes longer than 35 s
SPREAD = 0.6
DEATHS = 0.02  # of the pilots
STARTS_S = 600.0  # pilots come out of the queue within that time
TIMING = Timing(10.0, 90.0)
LOGNORMAL = (math.log(TASK_S) - SPREAD**2 / 2, SPREAD)
NEVER = float("inf")


class Dead(Exception):
    """Its node is gone."""


@dataclass
class Pilot:
    """A pilot with its clerk. Tasks are given to slots when somebody looks, with the times that they had."""

    name: str
    world: "World"
    dies_at: float
    slots: list[float] = field(default_factory=list)  # a heap: when each of them has ended what it had
    waiting: "collections.deque[list[int]]" = field(default_factory=collections.deque)  # first, end, past, claim
    count: int = 0  # of those
    begun: int = 0
    ends: list[float] = field(default_factory=list)  # a heap: of what runs
    history: list[tuple[int, int, float, float]] = field(default_factory=list)  # claim, task, start, end
    idle_s: float = 0.0

    def live(self) -> None:
        world = self.world
        book = Ledger(world.store)  # type: ignore[arg-type]  # simulated
        self.member = Member(
            self.name,
            book,
            world.roll,  # type: ignore[arg-type]  # simulated
            expected=len(world.roll.histories),
            clock=lambda: world.clock.now,
            timing=TIMING,
        )
        self.slots = [world.clock.now] * SLOTS
        try:
            self.member.join()
            self._work()
            self.member.give_back(self._take_back(self.count))
            self.member.leave()
        except Dead:
            cut = [end for _, _, start, end in self.history if start <= self.dies_at < end]
            world.lost_s += sum(
                self.dies_at - start for _, _, start, end in self.history if start <= self.dies_at < end
            )
            world.cut += len(cut)
        world.idle_s += self.idle_s + sum(max(0.0, world.clock.now - at) for at in self.slots)
        world.conflicts += book.conflicts

    def _work(self) -> None:
        """One thing after another, as the clerk does; slots go on meanwhile."""
        clock, beat_at, claim_at = self.world.clock, self.world.clock.now, 0.0
        idle_since: float | None = None
        while True:
            self._advance()
            if clock.now >= beat_at:
                beat_at = clock.now + TIMING.beat_s
                self._beat()
            elif self.count <= choose_ahead(self._rate) and clock.now >= claim_at and (self._idle or self._rate):
                if self._claim():
                    idle_since = None
                    continue
                claim_at = clock.now + choose_pause_s(self.member.workers)
                self.member.want()
            if not self.count and self._idle == SLOTS:
                idle_since = clock.now if idle_since is None else idle_since
                self.member.give_back([])
                is_tired = clock.now - idle_since > 2.5 * TIMING.beat_s and self.member.is_neighbour_well
                if ledger.is_complete(self.member.state) or is_tired:
                    return
            self._sleep(min(beat_at, max(claim_at, clock.now + self._choose_pause())))

    def _choose_pause(self) -> float:
        """As the clerk looks ten times a second: but only when there is something to see."""
        spare = self.count - choose_ahead(self._rate)
        return max(0.1, 0.9 * spare * TASK_S / SLOTS)

    @property
    def _rate(self) -> float | None:
        return SLOTS / TASK_S if self.begun > SLOTS else None

    @property
    def _idle(self) -> int:
        return sum(at <= self.world.clock.now for at in self.slots)

    def _sleep(self, until: float) -> None:
        self.world.clock.sleep_until(min(until, self.dies_at))
        if self.world.clock.now >= self.dies_at:
            self._advance()
            raise Dead

    def _advance(self) -> None:
        now = min(self.world.clock.now, self.dies_at)
        while self.count and self.slots[0] <= now:
            first = self.waiting[0]
            start = max(self.slots[0], self.ready_at)
            self.idle_s += start - self.slots[0]
            end = start + random.lognormvariate(*LOGNORMAL)
            heapq.heapreplace(self.slots, end)
            heapq.heappush(self.ends, end)
            if self.dies_at < NEVER:
                self.history.append((first[3], first[0], start, end))
            self._drop_first()
            self.begun += 1
        while self.ends and self.ends[0] <= now:
            heapq.heappop(self.ends)
            self.world.last_end = max(self.world.last_end, now)
        self.member.ended = Told(self.begun - len(self.ends), 0, 0)

    def _drop_first(self) -> None:
        first = self.waiting[0]
        first[0] += 1
        self.count -= 1
        if first[0] == first[1]:
            self.waiting.popleft()

    def _beat(self) -> None:
        self.member.beat()
        self.world.server.take("write")  # its card
        self._advance()
        if self.count and not ledger.count_free(self.member.state) and self.member.is_wanted():
            self._advance()
            self.member.give_back(self._take_back((self.count + 1) // 2))
            self.world.shared += 1

    def _take_back(self, count: int) -> list[Range]:
        """From the end."""
        given: list[Range] = []
        while count > 0 and self.waiting:
            last = self.waiting[-1]
            cut = max(last[0], last[1] - count)
            given.append((cut, last[1], last[2]))
            count -= last[1] - cut
            self.count -= last[1] - cut
            last[1] = cut
            if last[0] == last[1]:
                self.waiting.pop()
        return ranges.merge(given)

    def _claim(self) -> bool:
        taken = self.member.claim(idle=self._idle, rate=self._rate, left_s=None)
        number = self.member.state.number
        if taken and not self.count:
            self.ready_at = self.world.clock.now
        self.waiting.extend([*one, number] for one in taken)
        self.count += ranges.count(taken)
        return bool(taken)

    ready_at: float = 0.0

    def read_history(self) -> Iterator[bytes]:
        """What it had recorded when it died."""
        known: set[int] = set()
        for claim, task, start, end in self.history:
            if claim not in known:
                known.add(claim)
                yield records.format_claim(claim).encode()
            yield records.format_start(task, 1, start).encode()
            if end <= self.dies_at:
                yield records.format_line(task, 1, 0, start, end - start, 0.0, 0.0, "").encode()


@dataclass
class World:
    clock: Clock = field(default_factory=Clock)
    conflicts: int = 0
    shared: int = 0
    cut: int = 0
    lost_s: float = 0.0
    idle_s: float = 0.0
    last_end: float = 0.0
    blow_at: float = 0.0  # when many die together
    struck: set[str] = field(default_factory=set)  # who they are

    def __post_init__(self) -> None:
        self.server = Server(self.clock)
        self.store = Store(self.server)
        self.roll = Roll(self.server)

    def grow(self, count: int) -> None:
        made = ledger.grow(ledger.EMPTY, count)
        self.store.entries[1] = ledger.format_entry(ledger.GROW, "laptop", made, moved=[])

    def find_last_seal(self) -> float:
        entries = (ledger.read_entry(number, content) for number, content in self.store.entries.items())
        seals = (one.state.number for one in entries if one.kind == ledger.SEAL and one.who in self.struck)
        return max((self.store.times[number] for number in seals), default=0.0)

    def load_state(self) -> State:
        last = len(self.store.entries)
        return ledger.read_entry(last, self.store.entries[last]).state


def simulate(pilots: int, tasks: int, at_once: float = 0.0) -> World:
    """at_once: the part of the pilots that dies together."""
    random.seed(4)
    threading.stack_size(256 << 10)
    world = World()
    world.grow(tasks)
    expected_s = STARTS_S / 2 + tasks * TASK_S / (pilots * SLOTS)
    world.blow_at = STARTS_S + expected_s / 2
    world.struck = {f"p{number:05}" for number in range(pilots // 3, pilots // 3 + int(pilots * at_once))}
    for number in range(pilots):
        dies_at = random.uniform(0.1, 0.9) * expected_s if random.random() < DEATHS else NEVER
        pilot = Pilot(f"p{number:05}", world, dies_at)
        if pilot.name in world.struck:
            pilot.dies_at = min(dies_at, world.blow_at)
        world.roll.histories[pilot.name] = pilot
        world.clock.start(random.uniform(0, STARTS_S), pilot.live)
    world.clock.run()
    return world


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()] or [1000, 10_000_000]
    pilots, tasks, percent = (*numbers, 0)[:3]
    sys.argv[1:] = [word for word in sys.argv[1:] if not word.isdigit()]  # the rest is for `show`
    world = simulate(pilots, tasks, percent / 100)
    state, server = world.load_state(), world.server
    assert state.done == tasks, state
    assert not ledger.count_free(state)
    busy_s = tasks * TASK_S
    seconds = max(server.requests)
    steady = [server.requests[second] for second in range(int(STARTS_S), int(world.last_end) - 60)]
    rows = [
        Row(what="from the first pilot to the last task", value=world.last_end, unit="s"),
        Row(what="requests to the metadata server, on average", value=sum(steady) / max(len(steady), 1), unit="/s"),
        Row(what="the same, its busiest second", value=max(server.requests.values()), unit="/s"),
        Row(what="entries of the ledger (a file each)", value=state.number, unit=""),
        Row(what="the same for 10,000 tasks", value=10_000 * state.number / tasks, unit="", budget=50),
        Row(what="entries that another made first", value=world.conflicts, unit=""),
        Row(what="times that one shared what waited", value=world.shared, unit=""),
        Row(what="idle slots, of all time they had", value=100 * world.idle_s / (world.idle_s + busy_s), unit="%"),
        Row(what="from the last task to the last pilot's end", value=seconds - world.last_end, unit="s"),
        Row(what="pilots that died", value=len(state.sealed), unit=""),
        Row(what="tasks that were cut off and run again", value=world.cut, unit=""),
        Row(what="work lost with them, of all", value=100 * world.lost_s / busy_s, unit="%"),
    ]
    if percent:
        after = [server.requests[second] for second in range(int(world.blow_at), int(world.blow_at) + 150)]
        last_seal = world.find_last_seal() - world.blow_at
        rows += [
            Row(what="from the blow to the last seal", value=last_seal, unit="s", budget=200),
            Row(what="requests from the blow on, in the busiest second", value=max(after), unit="/s"),
        ]
    show(f"{pilots} pilots of {SLOTS} slots, {tasks} tasks of {TASK_S:g} s", rows)


if __name__ == "__main__":
    main()
