"""A farm in memory: its ledger, its roll, a clock, and workers that may die or freeze between any two steps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from windlass_job.farming import ledger, ranges, records
from windlass_job.farming.entries import Ledger
from windlass_job.farming.ledger import State, Told
from windlass_job.farming.member import Member, Sealed
from windlass_job.farming.ranges import Range
from windlass_job.farming.roll import Timing

TIMING = Timing(10.0, 90.0)


class Died(BaseException):
    """As by kill -9."""


@dataclass
class MemoryStore:
    """`before` and `after` are called around each entry that is made: a test may have others act there, or die."""

    entries: dict[int, bytes] = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None

    def exists(self, number: int) -> bool:
        return number in self.entries

    def read(self, number: int) -> bytes:
        return self.entries[number]

    def publish(self, number: int, content: bytes) -> bool:
        self.before()
        if number in self.entries:
            return False
        assert number == len(self.entries) + 1
        self.entries[number] = content
        self.after()
        return True

    def refresh(self, number: int) -> None: ...

    def pause(self, seconds: float) -> None: ...


@dataclass
class MemoryRoll:
    beats: dict[str, int] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    records: dict[str, bytes] = field(default_factory=dict)
    looks: int = 0  # at beats
    before: Callable[[], None] = lambda: None  # called when a dead one is looked into

    def join(self, name: str, number: int) -> None:
        self.beats[name] = self.beats.get(name, 0) + 1
        self.joined[name] = number

    def beat(self, name: str) -> bool:
        if name in self.beats:
            self.beats[name] += 1
        return name in self.beats

    def leave(self, name: str) -> None:
        self.beats.pop(name, None)
        self.wanted.discard(name)

    def want(self, name: str, is_wanting: bool) -> None:
        (self.wanted.add if is_wanting else self.wanted.discard)(name)

    def is_wanted(self) -> bool:
        return bool(self.wanted)

    def list_names(self) -> list[str]:
        return sorted(self.beats)

    def read_beat(self, name: str) -> int | None:
        self.looks += 1
        return self.beats.get(name)

    def read_joined(self, name: str) -> int:
        self.before()
        return self.joined.get(name, 0)

    def read_records(self, name: str) -> Iterator[bytes]:
        yield from self.records.get(name, b"").splitlines(keepends=True)


@dataclass
class World:
    total: int
    retries: int = 0
    store: MemoryStore = field(default_factory=MemoryStore)
    roll: MemoryRoll = field(default_factory=MemoryRoll)
    now: float = 0.0
    workers: "list[Worker]" = field(default_factory=list)
    lives: dict[int, int] = field(default_factory=dict)  # of each task: 1, and one more for each time it was retried

    def __post_init__(self) -> None:
        grow(self.open_book(), self.total)
        self.lives = dict.fromkeys(range(self.total), 1)

    def open_book(self) -> Ledger:
        return Ledger(self.store)  # type: ignore[arg-type]  # a store in the place of the disk's

    def add_worker(self) -> "Worker":
        worker = Worker(self, f"w{len(self.workers):03}")
        self.workers.append(worker)
        return worker

    def load_state(self) -> State:
        return self.open_book().load()

    def find_counted(self) -> dict[int, list[records.Ended]]:
        """Of each task the ends that count and are final."""
        found: dict[int, list[records.Ended]] = {task: [] for task in range(self.total)}
        sealed = self.load_state().sealed
        for name, content in self.roll.records.items():
            for ended in records.read_ends(content[: sealed.get(name, len(content))]):
                if records.is_over(ended, self.retries):
                    found[ended.task].append(ended)
        return found

    def retry(self, tasks: list[int]) -> None:
        """As the laptop does it: only what has failed for good in its last life."""

        def change(state: State) -> tuple[State, bytes]:
            moved = ranges.merge((task, task + 1, 0) for task in tasks)
            told = Told(0, -len(tasks), 0)
            made = ledger.retry(state, moved, told)
            return made, ledger.format_entry(ledger.RETRY, "laptop", made, moved=moved, told=told)

        self.open_book().append(change)
        for task in tasks:
            self.lives[task] += 1


def grow(book: Ledger, count: int) -> None:
    def change(state: State) -> tuple[State, bytes]:
        made = ledger.grow(state, count)
        return made, ledger.format_entry(ledger.GROW, "laptop", made, moved=[])

    book.append(change)


@dataclass
class Worker:
    """What pilot and clerk do, in single steps."""

    world: World
    name: str
    waiting: list[Range] = field(default_factory=list)
    running: dict[int, tuple[int, int]] = field(default_factory=dict)  # task -> attempt, losses
    is_dead: bool = False
    is_gone: bool = False  # it left in order, or noticed that it was sealed

    def __post_init__(self) -> None:
        self.book = self.world.open_book()
        self.member = Member(
            self.name,
            self.book,
            self.world.roll,  # type: ignore[arg-type]  # as above
            retries=self.world.retries,
            clock=lambda: self.world.now,
            timing=TIMING,
        )
        self.do(self.member.join)

    @property
    def is_active(self) -> bool:
        return not self.is_dead and not self.is_gone

    def do(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Sealed:
            self.is_gone = True
        except Died:
            self.is_dead = True

    def write(self, text: str) -> None:
        self.world.roll.records[self.name] = self.world.roll.records.get(self.name, b"") + text.encode()

    def claim(self, idle: int, rate: float | None) -> None:
        taken = self.member.claim(idle=idle, rate=rate, left_s=None)
        if taken:
            self.waiting += taken
            self.write(records.format_claim(self.member.state.number))

    def start(self) -> None:
        if self.waiting:
            (one,), self.waiting = ranges.split(self.waiting, 1)
            attempt = ranges.count_failures(one[2]) + 1
            self.write(records.format_start(one[0], attempt, self.world.now))
            self.running[one[0]] = (attempt, ranges.count_losses(one[2]))

    def end(self, code: int) -> None:
        if not self.running:
            return
        task, (attempt, losses) = next(iter(self.running.items()))
        del self.running[task]
        ended = records.Ended(task, attempt, code, self.world.now, 1.0, 0.0, 0.0, "")
        self.write(records.format_end(ended))
        if not records.is_over(ended, self.world.retries):
            self.waiting.append((task, task + 1, ranges.make_past(attempt, losses)))
            return
        self.member.ended = ledger.add(self.member.ended, Told(code == 0, code != 0, code == records.STOPPED))

    def share(self) -> None:
        kept, given = ranges.split(self.waiting, ranges.count(self.waiting) // 2)
        self.member.give_back(ranges.merge(given))
        self.waiting = kept

    def leave(self) -> None:
        """Tasks that run are cut short."""
        cut = [(task, task + 1, ranges.make_past(attempt - 1, lost)) for task, (attempt, lost) in self.running.items()]
        self.member.give_back(ranges.merge(self.waiting + cut))
        self.member.leave()
        self.waiting, self.running, self.is_gone = [], {}, True
