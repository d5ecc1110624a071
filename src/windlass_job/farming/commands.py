"""Tasks that are commands: run by lanes, one a slot, each a thread that starts one after another and waits for it.

One thread for all slots would be the narrow place: it is held up while each new process is made, and short tasks wait
for it. `posix_spawn` and the wait for a process let go of Python's lock, so lanes make processes side by side.
"""

import os
import signal
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from windlass_job import wire
from windlass_job.bounded import say
from windlass_job.farming import records, spawning
from windlass_job.farming.books import Books
from windlass_job.farming.clerk import Task
from windlass_job.farming.cutting import is_cut
from windlass_job.farming.native import Environment
from windlass_job.farming.outputs import Scratch, find_reason
from windlass_job.farming.slots import Slot
from windlass_job.farming.tally import NOTHING_USED
from windlass_job.signals import Signals

SUSPECT = 3  # a task under which so many workers died runs alone: then it is known whose fault it was
_JOIN_S = 5.0

# What the pilot does, each with its lock held. record: how a task ended. cut: it was the end of the job; have it run
# again, as if it had not begun. go_on: the next one for this slot, or None, and the slot is free. fail: a lane cannot
# go on.
Deeds = NamedTuple(
    "Deeds",
    [
        ("record", Callable[["Running", int, Tuple[float, float], str], None]),
        ("cut", Callable[["Running"], None]),
        ("go_on", Callable[[Slot], "Optional[Running]"]),
        ("fail", Callable[[BaseException], None]),
    ],
)

# was_cut: by the end of the job. is_silent: it left nothing to be collected. is_left: processes of it may go on.
# used: as NOTHING_USED.
End = NamedTuple(
    "End",
    [("code", int), ("was_cut", bool), ("is_silent", bool), ("is_left", bool), ("used", Tuple[float, float])],
)


class Running:
    """A command in its slot, from when it is chosen until it is recorded."""

    __slots__ = ("_guard", "began", "kill_at", "pid", "scratch", "slot", "start", "task", "verdict")

    def __init__(self, task: Task, slot: Slot, scratch: Scratch, start: float) -> None:
        self.task, self.slot, self.scratch, self.start = task, slot, scratch, start
        self.began = time.monotonic()
        self.pid: "Optional[int]" = None  # not started yet, or it has ended
        self.kill_at: "Optional[float]" = None
        self.verdict: "Optional[int]" = None  # why it is being stopped
        self._guard = threading.Lock()

    def kill(self, number: int) -> None:
        with self._guard:
            if self.pid is not None:
                spawning.kill_all(self.pid, number)

    def wait(self, pid: int) -> spawning.Reaped:
        """Until it has ended. After that nobody sends a signal to a number that is another's by now."""
        reaped = spawning.wait_for(pid)
        with self._guard:
            self.pid = None
            return reaped or spawning.reap(pid)


class Commands:
    """envs: by slot. lock: held by whoever changes anything here, or in the books of the pilot."""

    def __init__(
        self,
        spawner: spawning.Spawner,
        *,
        books: Books,
        deeds: Deeds,
        envs: "Dict[int, Environment]",
        signals: Signals,
        lock: "threading.Lock",
        has_strays: "Callable[[], bool]",
    ) -> None:
        self._spawner, self._books, self._deeds = spawner, books, deeds
        self._envs, self._signals, self._lock, self._has_strays = envs, signals, lock, has_strays
        self._lanes: "Dict[int, Lane]" = {}  # by slot
        self._running: "Dict[int, Running]" = {}  # by slot
        self._suspects = 0  # of those that run
        self._is_closed = False

    # ---- what the pilot asks ----

    @property
    def running(self) -> "List[Running]":
        return list(self._running.values())

    @property
    def count(self) -> int:
        return len(self._running)

    @property
    def pids(self) -> "List[int]":
        return [one.pid for one in self.running if one.pid is not None]

    def must_wait(self, task: Task) -> bool:
        """For all that runs, or for one that must be alone."""
        return bool(self._running) if task.losses >= SUSPECT else self._suspects > 0

    def take(self, task: Task, slot: Slot, now: float) -> Running:
        """It counts as running from now on; that it begins is to be written before `begin`."""
        running = self._running[slot.number] = Running(task, slot, self._books.scratches.take(), now)
        self._suspects += task.losses >= SUSPECT
        return running

    def begin(self, running: Running) -> None:
        lane = self._lanes.get(running.slot.number)
        if lane is None:
            lane = self._lanes[running.slot.number] = Lane(self._run_all, running.slot.cores)
        lane.give(running)

    def collect(self, running: Running, is_over: bool) -> None:
        """What it has printed and told since the last time."""
        task, scratch = running.task, running.scratch
        if scratch.has_more():
            pieces = self._books.measures.watch(task.number, scratch.collect(is_over))
            self._books.outputs.add(task.number, task.attempt, pieces)
        self._books.measures.take(task.number, task.attempt, is_over)

    def close(self) -> None:
        """What still runs is killed, and not recorded. Without the lock: lanes end by it."""
        with self._lock:
            self._is_closed = True
            for running in self.running:
                running.kill(signal.SIGKILL)
        for lane in self._lanes.values():
            lane.end()

    # ---- in a lane ----

    def _run_all(self, first: Running) -> None:
        """This one, and those that follow it in its slot."""
        running: "Optional[Running]" = first
        try:
            while running is not None:
                running = self._run(running)
        except Exception as error:  # whatever it is: the pilot ends in order instead of waiting for this lane
            self._deeds.fail(error)

    def _run(self, running: Running) -> "Optional[Running]":
        task, slot = running.task, running.slot
        env = self._envs[slot.number]
        env.set(task.number, task.attempt, task.number)
        try:
            pid = running.pid = self._spawner.start(task.row, running.scratch.handle, env)
        except spawning.CannotStart as error:
            with self._lock:
                return self._take_refusal(running, error)
        if self._is_closed:
            running.kill(signal.SIGKILL)
        reaped = running.wait(pid)
        end = self._judge(running, spawning.read_code(reaped.status), reaped.usage)
        with self._lock:
            return None if self._is_closed else self._take_end(running, end)

    def _judge(self, running: Running, code: int, usage: "Any") -> End:
        """Without the lock, for which other lanes wait: most tasks print nothing."""
        was_cut = code != 0 and running.verdict is None and is_cut(self._signals, code, running.kill_at is not None)
        is_silent = not running.scratch.has_more() and not self._books.measures.has_told(running.task.number)
        if running.verdict is not None and (code != 0 or running.verdict == records.STOPPED):
            code = running.verdict
        is_left = self._has_strays()
        return End(code, was_cut, is_silent, is_left, (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0))

    def _take_refusal(self, running: Running, error: Exception) -> "Optional[Running]":
        said = "windlass: {}\n".format(error).encode("utf-8", "replace")
        self._books.outputs.add(running.task.number, running.task.attempt, [said])
        self._forget(running, False)
        self._deeds.record(running, wire.EXIT_NOT_STARTED, NOTHING_USED, str(error))
        return self._deeds.go_on(running.slot)

    def _take_end(self, running: Running, end: End) -> "Optional[Running]":
        if not end.is_silent:
            self.collect(running, True)
        last = running.scratch.last
        self._forget(running, end.is_left)
        if end.was_cut:
            self._deeds.cut(running)
        else:
            self._deeds.record(running, end.code, end.used, find_reason(last, end.code) if end.code else "")
        return self._deeds.go_on(running.slot)

    def _forget(self, running: Running, is_left: bool) -> None:
        del self._running[running.slot.number]
        self._suspects -= running.task.losses >= SUSPECT
        self._books.scratches.put(running.scratch, is_left)


class Lane:
    """A thread that waits for something to do. What it starts has its cores, from the first moment on."""

    def __init__(self, work: "Callable[[Running], None]", cores: "List[int]") -> None:
        self._work, self._cores = work, cores
        self._given: "List[Running]" = []
        self._is_ended = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def give(self, running: Running) -> None:
        with self._change:
            self._given.append(running)
            self._change.notify()

    def end(self) -> None:
        with self._change:
            self._is_ended = True
            self._change.notify()
        self._thread.join(_JOIN_S)

    def _loop(self) -> None:
        if self._cores and hasattr(os, "sched_setaffinity"):
            try:
                os.sched_setaffinity(0, self._cores)  # of this thread alone
            except OSError as error:  # cores were taken from the job meanwhile
                say("tasks are not bound to cores {}: {}".format(self._cores, error.strerror))
        while True:
            with self._change:
                while not self._given and not self._is_ended:
                    self._change.wait()
                if self._is_ended:
                    return
                running = self._given.pop()
            self._work(running)
