"""Tasks that are calls of Python functions: fed to warm workers, one a slot, the more at once the shorter they are.

A worker that dies takes only the call with it that it was at; what it had not begun is run by a fresh one. What workers
were given is recorded first, because a call may take the whole pilot with it; if one did that, all that had been given
are given one by one from then on, until it is known which it was.
"""

import math
import time
from typing import Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from windlass_job import wire
from windlass_job.farming import records, spawning
from windlass_job.farming.books import Books
from windlass_job.farming.clerk import Task
from windlass_job.farming.commands import SUSPECT
from windlass_job.farming.cutting import find_verdict
from windlass_job.farming.slots import Slot
from windlass_job.farming.table import CALLS
from windlass_job.farming.warm import Told, Warm

_AHEAD_S = 0.05  # a worker has calls for so long
_MOST = 2000  # and not more of them
_LONG_S = 1.0  # after a call that took so long the next one is not given ahead: another worker may be free sooner
_SLOW_S = 0.25  # what waits behind a call for so long is taken back
_LOOK_S = (0.004, 0.1)  # between two looks

# What the pilot does: count an end that is in the records; record one; have a task run again, as if it had not begun;
# say whether it must wait for commands; count that the end of the job cut it short, and since when it ran.
Deeds = NamedTuple(
    "Deeds",
    [
        ("count", Callable[[Task, int, float], None]),
        ("record", Callable[[Task, int, float, str], None]),
        ("give_back", Callable[[Task], None]),
        ("must_wait", Callable[[Task], bool]),
        ("count_cut", Callable[[Task, float], Task]),
    ],
)


class Calls:
    def __init__(
        self,
        farm: bytes,
        *,
        books: Books,
        deeds: Deeds,
        envs: "Mapping[int, Mapping[str, str]]",
        make: "Callable[[Slot], Warm]",
        is_cut: "Callable[[int, bool], bool]",
    ) -> None:
        self._farm, self._books, self._deeds = farm, books, deeds
        self._envs, self._make, self._is_cut = envs, make, is_cut
        self._warm: "Dict[int, Warm]" = {}  # by slot
        self._alone: "Optional[Warm]" = None  # the one that had a suspect last
        self._stopped: "Set[int]" = set()

    # ---- what the pilot asks ----

    @property
    def is_used(self) -> bool:
        """Whether there are workers for calls at all."""
        return bool(self._warm)

    @property
    def busy(self) -> "List[Warm]":
        return [warm for warm in self._warm.values() if warm.given]

    @property
    def pids(self) -> "Set[int]":
        return {warm.pid for warm in list(self._warm.values()) if warm.pid is not None}

    def choose_pause(self, longest_s: float) -> float:
        """Reports are looked for often while calls are short, and seldom while they are long."""
        busy = self.busy
        if not busy:
            return longest_s
        age_s = time.monotonic() - max(warm.since for warm in busy)
        return min(longest_s, max(_LOOK_S[0], min(age_s / 10, _LOOK_S[1])))

    def count_given(self) -> int:
        return sum(len(warm.given) for warm in self._warm.values())

    def find_running(self) -> "List[Tuple[Task, float]]":
        """For the thread that tells others: the calls that workers are at, and since when."""
        firsts = [(list(warm.given)[:1], warm.began) for warm in list(self._warm.values())]
        return [(found[0][0], began) for found, began in firsts if found]

    def must_wait(self, task: Task) -> bool:
        """For all that runs, or for one that must be alone."""
        if self._deeds.must_wait(task):
            return True
        return bool(self.busy) if task.losses >= SUSPECT else self._alone is not None and _is_at_suspect(self._alone)

    def fill(self, ready: "Deque[Task]", free: "List[Slot]", stopped: "Set[int]") -> None:
        """Calls that are first in the queue, to workers that have room and then to slots that are free."""
        slots = len(free) + len(self.busy)
        self._stopped = stopped
        for warm in self.busy:
            if self._is_call_next(ready) and warm.is_open() and time.monotonic() - warm.since < _SLOW_S:
                self._give(warm, ready, slots)
        while free and self._is_call_next(ready):
            slot = free.pop()
            warm = self._warm.get(slot.number) or self._warm.setdefault(slot.number, self._make(slot))
            self._give(warm, ready, slots)
            if not warm.given:
                free.append(slot)
                if warm.pid is None:
                    return  # none can be started now

    def _is_call_next(self, ready: "Deque[Task]") -> bool:
        first = peek(ready)
        return first is not None and first.kind == CALLS and not self.must_wait(first)

    def look(self, free: "List[Slot]") -> None:
        """Takes what was reported."""
        for warm in self.busy:
            found = warm.look()
            if not found:
                continue
            self._take(warm, found)
            if not warm.given:
                free.append(warm.slot)

    def take_end(self, reaped: spawning.Reaped, free: "List[Slot]") -> bool:
        """False: it was none of ours."""
        warm = next((one for one in self._warm.values() if one.pid == reaped.pid), None)
        if warm is None:
            return False
        was_busy = bool(warm.given)
        self._take(warm, warm.look())
        if warm.given:
            self._take_death(warm, spawning.read_code(reaped.status))
        self._give_back([task for task, _ in warm.given])
        warm.forget()
        if was_busy:
            free.append(warm.slot)
        return True

    def tend(self, is_live: bool) -> None:
        """Now and then: nothing waits behind a slow call; what begins and prints is to be seen."""
        for warm in self.busy:
            age_s = time.monotonic() - warm.since
            if age_s > _SLOW_S and len(warm.given) > 1:
                self.take_back(warm)
            if age_s > _LOOK_S[1] and not warm.is_noted and warm.given:
                warm.is_noted = True
                task = warm.given[0][0]
                self._books.tally.start(task, warm.began)
            if is_live and len(warm.given) == 1 and age_s > _LONG_S:
                self._keep_output(warm.given[0][0], warm.printed.take_live())

    def take_back(self, warm: Warm) -> None:
        self._give_back(warm.take_back())

    def _give_back(self, tasks: "Sequence[Task]") -> None:
        self._note(records.TAKEN_BACK, tasks)
        for task in reversed(tasks):
            self._deeds.give_back(task)

    def _note(self, kind: bytes, tasks: "Sequence[Task]") -> None:
        if tasks:
            self._books.tally.add(records.format_calls(kind, [task.number for task in tasks]))

    def is_still_at(self, warm: Warm, free: "List[Slot]") -> bool:
        """At the first of its calls, with no other begun: it may be ended for that one."""
        first = warm.given[0]
        self.take_back(warm)
        self.look(free)
        return len(warm.given) == 1 and warm.given[0] is first

    def free_slot(self, slot: Slot) -> None:
        """A command is to have it."""
        warm = self._warm.get(slot.number)
        if warm is not None:
            warm.rest()

    def close(self) -> None:
        for warm in self._warm.values():
            warm.close()

    # ---- giving ----

    def _give(self, warm: Warm, ready: "Deque[Task]", slots: int) -> None:
        tasks = self._choose(warm, ready, slots)
        if not tasks:
            return
        if warm.pid is None and not self._start(warm, tasks[0]):
            ready.extendleft(reversed(tasks[1:]))
            return
        if tasks[0].losses >= SUSPECT:
            self._alone = warm
        self._note(records.GIVEN, tasks)
        self._books.tally.write()
        left = warm.give(tasks)
        self._note(records.TAKEN_BACK, left)
        ready.extendleft(reversed(left))

    def _choose(self, warm: Warm, ready: "Deque[Task]", slots: int) -> "List[Task]":
        """What has taken a pilot with it, or was only there, is given alone."""
        fair = -(-len(ready) // max(slots, 1))
        count = min(choose_depth(warm.mean_s) - len(warm.given), fair)
        tasks: "List[Task]" = []
        if warm.given and warm.given[0][0].losses:
            return tasks
        while len(tasks) < count and is_call_first(ready):
            try:
                task = ready.popleft()
            except IndexError:
                break  # the clerk has just given it to others
            if task.losses and (tasks or warm.given):
                ready.appendleft(task)
                break
            verdict = find_verdict(task, self._stopped)
            if verdict is not None:
                self._deeds.record(task, verdict[0], time.time(), verdict[1])
                continue
            tasks.append(task)
            if task.losses:
                break
        return tasks

    def _start(self, warm: Warm, task: Task) -> bool:
        try:
            warm.start(self._farm, self._envs[warm.slot.number])
        except OSError as error:
            self._deeds.record(task, wire.EXIT_NOT_STARTED, time.time(), "no worker can be started: {}".format(error))
            return False
        return True

    # ---- taking ----

    def _take(self, warm: Warm, found: "List[Told]") -> None:
        """First the results, then the records that say they are there."""
        small: "List[Tuple[int, int, bytes]]" = []
        for one in found:
            report = one.report
            if one.content is not None:
                small.append((report.task, report.attempt, one.content))
                continue
            self._books.results.add(small)
            small = []
            self._books.results.copy(report.task, report.attempt, (warm.told, one.place, report.size))
        if small:
            self._books.results.add(small)
        ended = [self._end(warm, one) for one in found]
        if found:
            self._books.tally.add(b"".join([one.lines for one in found]).decode("ascii"))
        for task, one in zip(ended, found):
            self._deeds.count(task, one.report.code, one.report.seconds)

    def _end(self, warm: Warm, told: Told) -> Task:
        task = warm.count_end(told.report)
        if told.report.printed != warm.printed.at:
            self._keep_output(task, warm.printed.take(told.report.printed))
            warm.printed.begin()
        return task

    def _take_death(self, warm: Warm, code: int) -> None:
        task, _ = warm.given.popleft()
        self._keep_output(task, warm.printed.take(warm.printed.find_size()))
        if warm.verdict is None and self._is_cut(code or 1, warm.kill_at is not None):
            self._give_back([self._deeds.count_cut(task, warm.began)])
            return
        said = describe_death(code) if warm.verdict is None else ""
        code = warm.verdict if warm.verdict is not None else code or 1
        self._books.tally.start(task, warm.began)
        self._deeds.record(task, code, warm.began, said)

    def _keep_output(self, task: Task, pieces: "List[bytes]") -> None:
        self._books.outputs.add(task.number, task.attempt, pieces)


def _is_at_suspect(warm: Warm) -> bool:
    return bool(warm.given) and warm.given[0][0].losses >= SUSPECT


def is_call_first(ready: "Deque[Task]") -> bool:
    first = peek(ready)
    return first is not None and first.kind == CALLS


def peek(ready: "Deque[Task]") -> "Optional[Task]":
    """The clerk may take the last one at any moment."""
    try:
        return ready[0]
    except IndexError:
        return None


def choose_depth(mean_s: "Optional[float]") -> int:
    """How many calls a worker has: the first ones show how long they take."""
    if mean_s is None or mean_s > _LONG_S:
        return 1
    return max(2, min(_MOST, math.ceil(_AHEAD_S / max(mean_s, 1e-6))))


def describe_death(code: int) -> str:
    if code > 128:
        return "the process that ran it was ended by signal {}".format(code - 128)
    return "the process that ran it ended, with exit code {}".format(code)
