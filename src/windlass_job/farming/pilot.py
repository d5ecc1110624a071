"""A pilot: on each node of its job it runs as many tasks of the farm at once as fit, until there are no more.

A task that is cut short because the job ends is given back, and does not count as a try. The last line on standard
output says whether all tasks are over, by which the agent knows that no link is needed any more.
"""

import os
import signal
import threading
import time
from typing import Mapping, Optional, Tuple, Union

from windlass_job import disk, slurm, wire
from windlass_job.bounded import describe
from windlass_job.farming import adding, calling, commands, ledger, naming, records, spawning
from windlass_job.farming.books import Books
from windlass_job.farming.calling import Calls
from windlass_job.farming.clerk import NOT_BEGUN, Clerk, Standing, Task
from windlass_job.farming.commands import Commands, Running
from windlass_job.farming.cutting import count_cut, find_verdict, is_cut
from windlass_job.farming.entries import DiskStore, Ledger
from windlass_job.farming.journal import PATIENCE_S
from windlass_job.farming.member import Member
from windlass_job.farming.native import Environment
from windlass_job.farming.node import leave_out_ranks, load_node, make_all_variables
from windlass_job.farming.parts import ALL, WHOLE, Seat, Split, choose
from windlass_job.farming.roll import DiskRoll, make_timing
from windlass_job.farming.showing import Progress, count_of, describe_ended, put_card
from windlass_job.farming.slots import Slot, plan_slots, read_need
from windlass_job.farming.stopping import ask_to_stop
from windlass_job.farming.strays import Known, Strays, end_all_strays
from windlass_job.farming.table import COMMANDS, Table
from windlass_job.farming.tally import NOTHING_USED
from windlass_job.farming.warm import Warm
from windlass_job.signals import Signals
from windlass_job.stop_marker import is_told_to_stop

_TICK_S = 0.5
_LIVE_S = 5.0  # between two looks at what running tasks print
_PRUNED_S = 1.0  # the same where somebody waits for it, to stop those that are hopeless
_LOCK_S = 0.2
_LEAST_S = 5e-5  # a call costs so much, however short it is


class Pilot:
    def __init__(self, farm: str, env: Mapping[str, str], stop: int, signals: Signals, seat: Seat = ALL) -> None:
        folder = disk.as_path(farm)
        card = disk.read_json(os.path.join(folder, wire.FARM_CARD.encode()))
        if card is None:
            raise ValueError("{} is no farm".format(farm))
        self._card, self._env, self._stop, self._signals = card, env, stop, signals
        self._is_part = seat.part != WHOLE  # others say that all is over
        self._deadline = slurm.read_number(env, wire.ENV_DEADLINE, 0) - slurm.read_number(env, wire.ENV_NOTICE_S, 0)
        self._began = time.time()
        self._live_s = _PRUNED_S if (card.get("sweep") or {}).get("prune") else _LIVE_S
        self._lock = threading.Lock()  # of all that this thread and the lanes change
        self._make_slots(env, seat)
        self._join(folder, env, naming.make_name(env, seat))
        self._commands = self._make_commands()
        self._calls = self._make_calls(folder, env)
        self._standing = NOT_BEGUN
        self._strays = Strays()
        self._progress = Progress(env if seat.part.number == 1 else {})  # each knows less of the others than of itself
        self._failure: "Optional[BaseException]" = None  # of a lane
        self._is_draining = False  # no task is started any more
        self._is_stopping = False  # and those that run are asked to stop

    def _make_slots(self, env: Mapping[str, str], seat: Seat) -> None:
        need = read_need(self._card)
        slots = plan_slots(load_node(env), need)
        self._slots = choose(slots, seat.part)
        self._variables = {slot.number: one for slot, one in zip(slots, make_all_variables(slots, need, env))}
        self._free = list(reversed(self._slots))
        self._spawner = spawning.Spawner(leave_out_ranks(env))
        self.split = Split(len(self._slots), seat)

    def _join(self, folder: bytes, env: Mapping[str, str], name: str) -> None:
        self._books = Books(os.path.join(folder, b"pilots"), self._card, len(self._slots), env, name)
        self._tally = self._books.tally
        roll, timing = DiskRoll(folder), make_timing()
        store = DiskStore(os.path.join(folder, b"log"))
        book = Ledger(store, patience_s=PATIENCE_S, wait=lambda: self._member.show_life())
        expected = int(self._card.get("pilots") or 1)
        retries = int(self._card.get("retries") or 0)
        self._member = Member(self._books.name, book, roll, retries=retries, expected=expected, timing=timing)
        self._clerk = Clerk(
            self._member,
            Table(os.path.join(folder, b"tasks")),
            self._books.journal,
            slots=len(self._slots),
            timing=timing,
            linger_s=float(self._card.get("linger_s") or 0),
            left_s=self._count_left_s,
            standing=self._find_standing,
            wake=self._signals.wake,
            stops=lambda: adding.load_stops(os.path.join(folder, wire.FARM_STOPS.encode())),
            prepare=lambda kind, row: spawning.read_command(row) if kind == COMMANDS else row,
            beats=[*self._books.list_flushes(), self._show],
        )

    def _make_commands(self) -> Commands:
        return Commands(
            self._spawner,
            books=self._books,
            deeds=commands.Deeds(self._record_command, self._cut, self._go_on, self._fail),
            envs={slot.number: self._make_env(slot) for slot in self._slots},
            signals=self._signals,
            lock=self._lock,
            has_strays=lambda: self._strays.are_here(lambda: self._calls.pids),
        )

    def _make_calls(self, folder: bytes, env: Mapping[str, str]) -> Calls:
        base, give_back = leave_out_ranks(env), self._clerk.ready.appendleft
        deeds = calling.Deeds(self._count_call, self._end_call, give_back, self._commands.must_wait, self._count_cut)
        return Calls(
            folder,
            books=self._books,
            deeds=deeds,
            envs={number: dict(base, **one) for number, one in self._variables.items()},
            make=lambda slot: Warm(slot, scratch=self._books.place, limit=self._books.limit),
            is_cut=self._is_cut,
        )

    def _make_env(self, slot: Slot) -> Environment:
        """With where its task tells numbers."""
        return self._spawner.make_env(self._variables[slot.number], self._books.measures.paths)

    def run(self) -> "Optional[int]":
        """None: others took it for dead, and it may begin anew; or its parts may begin."""
        self._member.join(naming.is_older(self._member.name))
        self._clerk.begin()
        self._say("{} at a time".format(count_of(len(self._slots), "task")))
        try:
            self._loop()
        except OSError as error:  # a disk that stays full: nothing counts that is not recorded
            self._clerk.problem = describe(error)
        return self._leave()

    def _loop(self) -> None:
        next_tick = next_live = 0.0
        while not self._is_finished():
            pause_s = self._calls.choose_pause(_TICK_S) if self._calls.is_used else _TICK_S
            self._signals.wait(pause_s)
            with self._lock:
                if self._calls.is_used:
                    self._look_at_calls()
                self._start_tasks()
                now = time.monotonic()
                if now >= next_tick:
                    next_tick = now + _TICK_S
                    self._tick(now, now >= next_live)
                    next_live = now + self._live_s if now >= next_live else next_live
                if self.split.is_pausing:
                    self._split()

    def _is_finished(self) -> bool:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._commands.count or self._calls.busy or self._tally.has_lines:
                return False
            return self._is_draining or (self._clerk.is_over and not self._clerk.ready)

    def _split(self) -> None:
        """As soon as all slots are free."""
        if not self._commands.count and not self._is_draining:
            self.split.is_due = True
            self._drain()

    def _look_at_calls(self) -> None:
        for reaped in spawning.reap_ended(self._calls.pids):
            self._calls.take_end(reaped, self._free)
        self._calls.look(self._free)

    # ---- starting: what ended is recorded before the next ones begin; whoever dies loses only what was running ----

    def _start_tasks(self) -> None:
        """In slots that are free. One write for all that ended and all that starts, and it comes first."""
        now = time.time()
        chosen = []
        while self._free:
            task = self._choose(now)
            if task is None:
                break
            self._calls.free_slot(self._free[-1])
            chosen.append(self._commands.take(task, self._free.pop(), now))
        self._tally.write()
        for running in chosen:
            self._commands.begin(running)
        if self._may_start and calling.is_call_first(self._clerk.ready) and self._has_time(now):
            self._calls.fill(self._clerk.ready, self._free, self._clerk.stopped)
        self._tally.write()
        self._clerk.stir()

    def _go_on(self, slot: Slot) -> "Optional[Running]":
        """In a lane, whose task has just ended: the next one, or the slot is free."""
        now = time.time()
        task = self._choose(now)
        running = self._commands.take(task, slot, now) if task is not None else None
        if running is None:
            self._free.append(slot)
        self._tally.write()
        self._clerk.stir()
        if self._free:
            self._signals.wake()  # for who else may have them, or because all is over
        return running

    def _find_standing(self) -> Standing:
        """For the clerk, which beats on while a full disk holds up all that has the lock: then as it was before."""
        if self._lock.acquire(timeout=_LOCK_S):
            try:
                running = self._commands.count + self._calls.count_given()
                self._standing = Standing(self._tally.told, running, self._tally.rate)
            finally:
                self._lock.release()
        return self._standing

    def _choose(self, now: float) -> "Optional[Task]":
        """The next command; that it starts is among the lines to be written."""
        ready = self._clerk.ready
        while ready and self._may_start and not calling.is_call_first(ready) and self._has_time(now):
            try:
                task = ready.popleft()
            except IndexError:
                break  # the clerk has just given it to others
            verdict = find_verdict(task, self._clerk.stopped)
            if verdict is not None:
                self._tally.end(task, verdict[0], now, NOTHING_USED, verdict[1])
            elif self._calls.must_wait(task):
                ready.appendleft(task)
                break
            else:
                self._tally.start(task, now)
                return task
        return None

    @property
    def _may_start(self) -> bool:
        return not self._is_draining and not self.split.is_pausing

    def _has_time(self, now: float) -> bool:
        """As long as tasks took here so far, where the user did not say it: one that is cut short costs no try."""
        if self._deadline <= 0 or self._deadline - now > (self._card.get("task_s") or self._tally.average_s):
            return True
        self._say("the time that is left would not do for another task")
        self._drain()
        return False

    def _count_left_s(self) -> "Optional[float]":
        return self._deadline - time.time() if self._deadline > 0 else None

    def _drain(self) -> None:
        self._is_draining = True
        for warm in self._calls.busy:
            self._calls.take_back(warm)
        self._clerk.drain()

    # ---- ending ----

    def _record_command(self, running: Running, code: int, used: "Tuple[float, float]", last_line: str) -> None:
        if used is not NOTHING_USED:
            self._tally.count_time(time.monotonic() - running.began)
        self._record(running.task, code, running.start, used, last_line)

    def _cut(self, running: Running) -> None:
        """By the end of the job: given back."""
        self._note_cut()
        self._clerk.ready.append(self._count_cut(running.task, running.start))

    def _count_cut(self, task: Task, start: float) -> Task:
        return count_cut(task, time.time() - start, self._deadline - self._began)

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._signals.wake()

    def _note_cut(self) -> None:
        self._is_stopping = True
        if not self._is_draining:
            self._drain()  # it would be started again before the next tick

    def _is_cut(self, code: int, was_asked: bool) -> bool:
        cut = is_cut(self._signals, code, was_asked)
        if cut:
            self._note_cut()
        return cut

    def _record(self, task: Task, code: int, start: float, used: "Tuple[float, float]", last_line: str) -> None:
        if not self._tally.end(task, code, start, used, last_line):
            self._clerk.ready.append(task._replace(attempt=task.attempt + 1))

    def _end_call(self, task: Task, code: int, start: float, last_line: str) -> None:
        self._record(task, code, start, NOTHING_USED, last_line)

    def _count_call(self, task: Task, code: int, seconds: float) -> None:
        """Whose lines are there already."""
        self._tally.count_time(max(seconds, _LEAST_S))
        if not self._tally.count(code, task.attempt):
            self._clerk.ready.append(task._replace(attempt=task.attempt + 1))

    # ---- in between ----

    def _tick(self, now: float, is_live: bool) -> None:
        if self._signals.is_noticed or self._signals.is_cancelled or self._clerk.is_sealed or self._clerk.problem:
            self._is_stopping = True
        if (self._is_stopping or self._member.state.is_closed) and not self._is_draining:
            self._drain()
        limit_s = self._card.get("task_limit_s")
        for running in self._commands.running:
            if self._is_stopping:
                self._ask(running, now, None)
            elif running.task.number in self._clerk.stopped:
                self._ask(running, now, records.STOPPED)
            elif limit_s and now - running.began > limit_s:
                self._ask(running, now, records.TOO_LONG)
            if is_live or running.scratch.is_huge():
                self._commands.collect(running, False)
        self._tend_calls(now, limit_s)
        self._calls.tend(is_live)
        if not self._is_draining and not self._calls.is_used:
            self.split.look(now, self._tally.rate or 0.0, self._clerk.count_waiting())
        if is_live:
            self._strays.look(self._find_known)

    def _find_known(self) -> Known:
        tasks = {one.task.number for one in self._commands.running}
        return Known(self._calls.pids.union(self._commands.pids), tasks)

    def _tend_calls(self, now: float, limit_s: "Optional[float]") -> None:
        for warm in self._calls.busy:
            is_stopped = warm.given[0][0].number in self._clerk.stopped
            is_late = bool(limit_s) and now - warm.since > (limit_s or 0.0)
            if (self._is_stopping or is_stopped or is_late) and self._calls.is_still_at(warm, self._free):
                verdict = records.STOPPED if is_stopped else records.TOO_LONG
                self._ask(warm, now, None if self._is_stopping else verdict)

    def _ask(self, running: "Union[Running, Warm]", now: float, verdict: "Optional[int]") -> None:
        ask_to_stop(running, now, verdict, signal.SIGKILL if self._clerk.is_sealed else self._stop)

    # ---- leaving ----

    def _leave(self) -> "Optional[int]":
        self._commands.close()
        for pid in self._calls.pids:
            spawning.kill_all(pid, signal.SIGKILL)
        end_all_strays()
        self._clerk.end()
        self._books.measures.close()
        if self._clerk.is_sealed:
            return self._begin_anew()
        if self._clerk.problem is not None:
            self._say("the farm cannot be worked on: {}".format(self._clerk.problem))
            return 1
        self._show()
        if self.split.is_due and not self._is_stopping:
            self._say("tasks are short: {} processes go on, each with some of the slots".format(self.split.count))
            return None
        self._progress.end()
        state = self._member.state
        here = describe_ended(self._tally.told)
        self._say("{}; {} of {} over".format(here, state.done + state.failed, count_of(state.total, "task")))
        if self._is_over() and not self._is_part:
            print(wire.FARM_OVER, flush=True)
        return 0

    @property
    def start_number(self) -> int:
        return naming.read_start(self._member.name)

    def _begin_anew(self) -> "Optional[int]":
        self._say("another worker took this one for dead, and has its tasks")
        if self._signals.is_noticed or self._signals.is_cancelled:
            return 0
        return wire.EXIT_FENCED_OFF if self._member.is_with(naming.is_newer(self._member.name)) else None

    def _is_over(self) -> bool:
        """That no link of this run is needed any more: others of it may be at work on other nodes."""
        state = self._member.state
        if ledger.is_complete(state):
            return True
        if state.is_closed and not self._is_stopping:
            return not is_told_to_stop(self._env)  # a farm that was cancelled is closed too, before its jobs hear of it
        if self._is_draining or ledger.count_free(state):
            return False
        return not self._member.is_with(naming.is_of_run(self._member.name))

    def close(self) -> None:
        for one in (self._books, self._calls, self._spawner, self._strays):
            one.close()

    def _show(self) -> None:
        running = [(one.task, one.start) for one in self._commands.running] + self._calls.find_running()
        put_card(self._books.card_path, self._tally.told, len(self._slots), running)
        self._progress.tell(self._member.find_over(self._tally.told), self._member.state.total)

    def _say(self, text: str) -> None:
        print("windlass: {}: {}".format(self._member.name, text), flush=True)
