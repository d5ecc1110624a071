"""The pilot's end of a warm worker: what it was given, what it has reported, and what it printed."""

import collections
import os
import signal
import subprocess
import tempfile
import time
from typing import Any, Deque, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from windlass_job import disk, wire
from windlass_job.farming import reports, spawning
from windlass_job.farming.clerk import Task
from windlass_job.farming.outputs import open_unnamed
from windlass_job.farming.own_program import make_argv
from windlass_job.farming.printed import Printed
from windlass_job.farming.reports import Report
from windlass_job.farming.slots import Slot

_READ = 1 << 20
_FULL = 64 << 20  # bytes of its files, after which it gets nothing until they are empty again
_GOES_FIRST = b"500"  # when memory runs out the kernel takes a worker, and not the pilot
_ATOMIC = 4096  # bytes that go into a pipe as one

# A report with its lines; content: its result, or None where it is large: then it is at `place` of `told`.
Told = NamedTuple("Told", [("report", Report), ("lines", bytes), ("content", Optional[bytes]), ("place", int)])


class Warm:
    """Of one slot."""

    def __init__(self, slot: Slot, *, scratch: "Optional[str]", limit: int) -> None:
        self.slot = slot
        self.pid: "Optional[int]" = None
        self.given: "Deque[Tuple[Task, int]]" = collections.deque()  # and where each is in the file of calls
        self.since = 0.0  # since when it is at the first of them, by time.monotonic
        self.began = 0.0  # the same by the clock
        self.is_noted = False  # that it has begun is in the records
        self.mean_s: "Optional[float]" = None  # of a call
        self.kill_at: "Optional[float]" = None
        self.verdict: "Optional[int]" = None
        self.told = open_unnamed(scratch)
        self.printed = Printed(open_unnamed(scratch), limit)
        self._calls = open_unnamed(scratch, is_appended=False)
        self._calls_at = self._told_at = 0
        self._scratch = scratch
        self._pipe = (-1, -1)  # the ends that this process has: to take tokens back, and to give them

    # ---- its life ----

    def start(self, farm: bytes, env: "Mapping[str, str]") -> None:
        """Raises OSError."""
        theirs, *ours = _open_pipe(self._scratch)
        handles = (theirs, self._calls, self.told)
        words = [wire.CALLS_VERB, "--farm", disk.as_text(farm), "--handles", ",".join(map(str, handles))]
        argv = make_argv(words, is_isolated=False)
        self._pipe = (ours[0], ours[1])
        try:
            self.pid = _start(argv, self.slot.cores, self.printed.handle, env, handles)
        finally:
            os.close(theirs)
            if self.pid is None:
                self.forget()

    def forget(self) -> None:
        """It has ended. What it had is the caller's."""
        for handle in self._pipe:
            if handle >= 0:
                os.close(handle)
        self._pipe = (-1, -1)
        self.pid = self.kill_at = self.verdict = None
        self.given.clear()
        self.empty()

    def kill(self, number: int) -> None:
        if self.pid is not None:
            spawning.kill_all(self.pid, number)

    def close(self) -> None:
        self.forget()
        for handle in (self.told, self.printed.handle, self._calls):
            os.close(handle)

    def rest(self) -> None:
        """It has nothing to do: it ends by itself, as soon as it sees that there will be no more."""
        for handle in self._pipe:
            if handle >= 0:
                os.close(handle)
        self._pipe = (-1, -1)

    # ---- giving ----

    def is_open(self) -> bool:
        """It may be given more."""
        return self.kill_at is None and max(self._told_at, self.printed.at, self._held()) < _FULL

    def _held(self) -> int:
        return self._calls_at - self.given[0][1] if self.given else 0

    def give(self, tasks: "Sequence[Task]") -> "List[Task]":
        """Returns those for which there was no room."""
        if not self.given:
            self.empty()
            self._begin_next()
        places, pieces, at = [], [], self._calls_at
        for task in tasks:
            piece = reports.format_call(task.number, task.attempt, task.row)
            places.append(at)
            pieces.append(piece)
            at += len(piece)
        _write_at(self._calls, b"".join(pieces), self._calls_at)
        count = self._give_tokens(places)
        self._calls_at = at
        self.given.extend(zip(tasks[:count], places))
        return list(tasks[count:])

    def _give_tokens(self, places: "List[int]") -> int:
        step = _ATOMIC // reports.TOKEN.size
        for first in range(0, len(places), step):
            tokens = b"".join(map(reports.TOKEN.pack, places[first : first + step]))
            try:
                os.write(self._pipe[1], tokens)
            except (BlockingIOError, BrokenPipeError):  # full, or it is dying
                return first
        return len(places)

    def take_back(self) -> "List[Task]":
        """What it has not begun. Who reads a token has its call: it or we, never both."""
        places: "Set[int]" = set()
        while self._pipe[0] >= 0:
            try:
                tokens = os.read(self._pipe[0], 16 * _ATOMIC)
            except BlockingIOError:
                break
            if not tokens:
                break
            places.update(place for (place,) in reports.TOKEN.iter_unpack(tokens))
        taken = [task for task, place in self.given if place in places]
        self.given = collections.deque(one for one in self.given if one[1] not in places)
        return taken

    def empty(self) -> None:
        """Its files, while it does nothing. Places of calls are never used again: it has read ahead."""
        self._told_at = 0
        os.ftruncate(self.told, 0)
        os.ftruncate(self._calls, 0)
        self.printed.empty()

    # ---- what it tells ----

    def look(self) -> "List[Told]":
        """Reports that are new and whole."""
        size = os.fstat(self.told).st_size
        found: "List[Told]" = []
        while self._told_at < size:
            content = os.pread(self.told, min(_READ, size - self._told_at), self._told_at)
            before = len(found)
            for report, at in reports.find_whole(content):
                end = at + report.text
                found.append(Told(report, content[at:end], content[end : end + report.size], 0))
            if len(found) > before:
                self._told_at += sum(reports.REPORT_HEAD + one.report.text + one.report.size for one in found[before:])
                continue
            large = self._look_at_large(content, size)
            if large is None:
                break
            found.append(large)
        return found

    def _look_at_large(self, content: bytes, size: int) -> "Optional[Told]":
        if len(content) < reports.REPORT_HEAD:
            return None
        report = reports.read_head(content)
        begin = self._told_at + reports.REPORT_HEAD
        if begin + report.text + report.size > size:
            return None  # it is being written
        lines = os.pread(self.told, report.text, begin)
        self._told_at = begin + report.text + report.size
        return Told(report, lines, None, begin + report.text)

    def count_end(self, report: Report) -> Task:
        """The call that it was at; it is at the next one now."""
        task, _ = self.given.popleft()
        self._begin_next()
        known = report.seconds if self.mean_s is None else self.mean_s
        self.mean_s = 0.9 * known + 0.1 * report.seconds if report.seconds < 2 * known else report.seconds
        return task

    def _begin_next(self) -> None:
        self.since, self.began, self.is_noted = time.monotonic(), time.time(), False


def _open_pipe(folder: "Optional[str]") -> "Tuple[int, int, int]":
    """The worker's end, which waits, and ours, which do not: three openings of one pipe, which has no name then."""
    if not folder or not os.path.isdir(folder):
        folder = tempfile.gettempdir()
    path = os.path.join(folder, "windlass-calls-" + os.urandom(8).hex())
    os.mkfifo(path, 0o600)
    try:
        theirs = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        own = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        given = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.unlink(path)
    os.set_blocking(theirs, True)
    return theirs, own, given


def _start(argv: "List[str]", cores: "List[int]", output: int, env: "Mapping[str, str]", kept: "Sequence[int]") -> int:
    """Its process id. Seldom, so it need not be fast; in a session of its own, so that all of it can be killed."""

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))
        if cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cores)
        try:
            handle = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
            os.write(handle, _GOES_FIRST)
            os.close(handle)
        except OSError:
            pass  # there is no /proc

    child = subprocess.Popen(
        argv,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        pass_fds=tuple(kept),
        preexec_fn=prepare,
    )
    child.returncode = 0  # it is reaped by the pilot, by its number
    return child.pid


def _write_at(handle: int, content: "Any", at: int) -> None:
    view = memoryview(content)
    while len(view):
        written = os.pwrite(handle, view, at)
        at += written
        view = view[written:]
