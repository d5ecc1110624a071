"""Watching over one job while it runs: its clock, its memory, its orders, and its end."""

import contextlib
import os
import select
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from windlass.pocket import locks, processes, queue
from windlass.pocket.database import writing
from windlass.pocket.model import Job, Kind, Order, OrderKind, State, Step
from windlass.pocket.places import Places
from windlass.pocket.processes import Process
from windlass.pocket.settings import Settings
from windlass.pocket.signals import read_warning
from windlass.pocket.timeforms import format_moment

_T = TypeVar("_T")
_TICK_S = 1.0
_SWEEP_S = 5.0


class Cause(StrEnum):
    """Why a job was ended from outside."""

    TIME = " DUE TO TIME LIMIT"
    CANCEL = ""
    REQUEUE = " DUE TO JOB REQUEUE"


@dataclass(kw_only=True)
class Outcome:
    """What happened so far."""

    cause: Cause | None = None
    by_uid: int | None = None
    is_out_of_memory: bool = False
    max_rss_kb: int = 0


class Watch:
    """One job and its first process. Everything below this process belongs to the job."""

    def __init__(
        self, db: sqlite3.Connection, places: Places, settings: Settings, job: Job, say: Callable[[str], None]
    ) -> None:
        self.db, self.places, self.settings, self.job, self.say = db, places, settings, job, say
        self.outcome = Outcome()
        self._kill_at: float | None = None
        self._warned = False
        self._next_measure = 0.0
        self._bell, far_end = socket.socketpair()
        self._bell.setblocking(False)
        far_end.setblocking(False)
        self._far_end = far_end
        signal.set_wakeup_fd(far_end.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, lambda *_: None)

    def run(self, child: subprocess.Popen[bytes]) -> Outcome:
        """Until the child has ended; then nothing of the job is left."""
        while child.poll() is None:
            self._look(child, time.time())
            self._sleep()
        self._sweep(child.pid)
        return self.outcome

    def _look(self, child: subprocess.Popen[bytes], now: float) -> None:
        job = _patiently(lambda: queue.fetch_job(self.db, self.job.id))
        if job is not None:
            self.job = job
        for order in self._take_orders():
            self._obey(order, child)
        self._keep_time(child, now)
        self._measure(child, now)
        if self._kill_at is not None and now >= self._kill_at:
            processes.send(self._all(processes.list_processes()), signal.SIGKILL)

    def _sleep(self) -> None:
        now = time.time()
        moments = [moment - now for moment in (self._end_at, self._warn_at, self._kill_at) if moment is not None]
        wait = min([_TICK_S, *(moment for moment in moments if moment > 0)])
        ready, _, _ = select.select([self._bell], [], [], wait)
        if ready:
            with contextlib.suppress(BlockingIOError):
                self._bell.recv(4096)

    @property
    def _end_at(self) -> float | None:
        if self.job.start_at is None or self.job.time_limit_s is None:
            return None
        return self.job.start_at + self.job.time_limit_s

    @property
    def _warn_at(self) -> float | None:
        if self._end_at is None or not self.job.request.signal or self._warned:
            return None
        asked = read_warning(self.job.request.signal).lead_s
        return self._end_at - self.settings.pretence.clock.shrink_lead(asked)

    def _keep_time(self, child: subprocess.Popen[bytes], now: float) -> None:
        if self.outcome.cause is not None:
            return
        if self._warn_at is not None and now >= self._warn_at:
            self._warned = True
            warning = read_warning(self.job.request.signal)
            self._signal(warning.number, "batch" if warning.batch_only else "steps", child)
        if self._end_at is not None and now >= self._end_at:
            self._end(Cause.TIME, child)

    def _take_orders(self) -> list[Order]:
        def take() -> list[Order]:
            orders = queue.fetch_orders(self.db, self.job.id)
            if orders:
                with writing(self.db):
                    orders = queue.fetch_orders(self.db, self.job.id)
                    queue.delete_orders(self.db, self.job.id)
            return orders

        return _patiently(take) or []

    def _obey(self, order: Order, child: subprocess.Popen[bytes]) -> None:
        if order.kind is OrderKind.SIGNAL:
            self._signal(order.signal, order.scope, child)
            return
        self.outcome.by_uid = order.uid
        self._end(Cause.CANCEL if order.kind is OrderKind.CANCEL else Cause.REQUEUE, child)

    def _end(self, cause: Cause, child: subprocess.Popen[bytes]) -> None:
        """Tell all processes to stop, and later kill those that did not."""
        if self.outcome.cause is not None:
            return
        self.outcome.cause = cause
        self._kill_at = time.time() + self.settings.kill_wait_s
        moment, node = format_moment(time.time()), self.job.node_names[0]
        for step in self._steps():
            self.say(
                f"slurmstepd: error: *** STEP {self.job.id}.{step.step} ON {node} CANCELLED AT {moment}{cause} ***"
            )
        if self.job.request.kind is Kind.BATCH:
            self.say(f"slurmstepd: error: *** JOB {self.job.id} ON {node} CANCELLED AT {moment}{cause} ***")
        everything = self._all(processes.list_processes())
        processes.send(everything, signal.SIGCONT)
        processes.send(everything, signal.SIGTERM)
        if self.job.request.kind is Kind.ALLOCATION:
            # An interactive shell does not care for SIGTERM.
            processes.send([child.pid], signal.SIGHUP)

    def _signal(self, number: int, scope: str, child: subprocess.Popen[bytes]) -> None:
        table = processes.list_processes()
        if scope == "batch":
            processes.send([child.pid], number)
        elif scope == "full":
            processes.send(self._all(table), number)
        else:
            for step in self._steps():
                if scope in ("steps", step.step):
                    processes.send(processes.descendants(step.pid, table), number)

    def _steps(self) -> list[Step]:
        steps = _patiently(lambda: queue.fetch_steps(self.db, self.job)) or []
        return [step for step in steps if step.state is State.RUNNING and step.step != "batch"]

    def _measure(self, child: subprocess.Popen[bytes], now: float) -> None:
        if now < self._next_measure:
            return
        began = time.monotonic()
        table = processes.list_processes()
        mine = self._all(table)
        total = sum(table[pid].rss_kb for pid in mine)
        self.outcome.max_rss_kb = max(self.outcome.max_rss_kb, total)
        limit = self.job.memory_mb * 1024
        if limit and total > limit and self._real_memory(mine, table) > limit:
            self._run_out_of_memory(mine, table)
        self._reap_orphans(table, child.pid)
        # On a machine with very many processes the look itself must stay cheap.
        self._next_measure = now + max(0.9, 20 * (time.monotonic() - began))

    def _real_memory(self, pids: list[int], table: dict[int, Process]) -> int:
        """Data loaders share most of their pages with their parent: those count once, as in a cgroup."""
        return sum(kb if (kb := processes.pss_kb(pid)) is not None else table[pid].rss_kb for pid in pids)

    def _run_out_of_memory(self, pids: list[int], table: dict[int, Process]) -> None:
        victim = max(pids, key=lambda pid: table[pid].rss_kb)
        step = next((s for s in self._steps() if victim in processes.descendants(s.pid, table)), None)
        if step is None:
            self.outcome.is_out_of_memory = True
        else:
            with writing(self.db):
                queue.update_step(self.db, step, state=State.OUT_OF_MEMORY)
        processes.send([victim], signal.SIGKILL)
        self.say(
            f"slurmstepd: error: Detected 1 oom-kill event(s) in StepId={self.job.id}."
            f"{step.step if step else 'batch'}. Some of your processes may have been killed by the cgroup "
            "out-of-memory handler."
        )

    def _reap_orphans(self, table: dict[int, Process], child: int) -> None:
        for process in table.values():
            if process.is_zombie and process.parent == os.getpid() and process.pid != child:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)

    def _sweep(self, child: int) -> None:
        """Kill what the job left behind."""
        deadline = time.monotonic() + _SWEEP_S
        while time.monotonic() < deadline:
            table = processes.list_processes()
            left = self._all(table)
            if not left:
                return
            processes.send(left, signal.SIGKILL)
            self._reap_orphans(table, child)
            time.sleep(0.01)

    def _all(self, table: dict[int, Process]) -> list[int]:
        spare = self._others()
        below = processes.descendants(os.getpid(), table, spare)
        known = {*below, os.getpid(), *spare}
        return below + processes.marked(self.job.token, [pid for pid in table if pid not in known])

    def _others(self) -> set[int]:
        """Pocket's own processes: a keeper that an sbatch inside this job started is below it, too."""
        jobs = _patiently(lambda: queue.fetch_jobs(self.db, "state = 'RUNNING'")) or []
        supervisors = {
            job.supervisor_pid
            for job in jobs
            if job.supervisor_pid and job.id != self.job.id and job.request.kind is Kind.BATCH
        }
        keeper = locks.holder(self.places.keeper_lock)
        return supervisors | ({keeper} if keeper else set())


def _patiently(look: Callable[[], _T]) -> _T | None:
    """A database that is busy or on a full disk for a moment must not end a job."""
    try:
        return look()
    except sqlite3.Error:
        return None
