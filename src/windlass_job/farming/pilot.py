"""A pilot: on each node of its job it runs as many tasks of the farm at once as fit, until there are no more.

A task that is cut short because the job ends is given back, and does not count as a try. The last line on standard
output says whether all tasks are over, by which the agent knows that no link is needed any more.
"""

import argparse
import json
import os
import signal
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from windlass_job import disk, slurm, wire
from windlass_job.bounded import describe, say
from windlass_job.farming import adding, calling, ledger, naming, records, spawning
from windlass_job.farming.calling import MOST_LOSSES, Calls
from windlass_job.farming.clerk import Clerk, Task
from windlass_job.farming.cutting import is_cut
from windlass_job.farming.entries import DiskStore, Ledger, Unsure
from windlass_job.farming.journal import PATIENCE_S
from windlass_job.farming.measuring import Measures
from windlass_job.farming.member import Member, make_timing
from windlass_job.farming.native import Environment
from windlass_job.farming.node import leave_out_ranks, load_node, make_all_variables
from windlass_job.farming.outputs import DEFAULT_LIMIT, Outputs, Scratches, find_last_line
from windlass_job.farming.results import Results
from windlass_job.farming.roll import DiskRoll
from windlass_job.farming.running import Running
from windlass_job.farming.slots import Need, Slot, plan_slots
from windlass_job.farming.strays import end_strays
from windlass_job.farming.table import COMMANDS, Table
from windlass_job.farming.tally import NOTHING_USED, Tally
from windlass_job.farming.warm import Warm
from windlass_job.signals import Signals, read_signal

_TICK_S = 0.5
_LIVE_S = 5.0  # between two looks at what running tasks print
_GRACE_S = 10.0  # between asking a task to stop and killing it
_CUT = -100  # no verdict of a task, but of the job
_LEAST_S = 5e-5  # a call costs so much, however short it is
_SUSPECT = 3  # and one that had so many runs alone: then it is known whose fault it was


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--farm", required=True, help="its folder")
    parser.add_argument("--stop-signal", default="TERM", help="what tasks get when they are to stop")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    try:
        stop = read_signal(options.stop_signal)
        signals = Signals(notice=stop, cancel={signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
        while True:
            pilot = Pilot(options.farm, env, stop, signals)
            code = pilot.run()
            if code is not None:
                return code
            pilot.close()
    except (OSError, ValueError, Unsure) as error:
        say("the farm cannot be worked on: {}".format(describe(error)))
        return wire.EXIT_NOT_STARTED


class Pilot:
    def __init__(self, farm: str, env: Mapping[str, str], stop: int, signals: Signals) -> None:
        folder = disk.as_path(farm)
        card = disk.read_json(os.path.join(folder, wire.FARM_CARD.encode()))
        if card is None:
            raise ValueError("{} is no farm".format(farm))
        self._card, self._stop, self._signals = card, stop, signals
        self._retries = int(card.get("retries") or 0)
        self._deadline = slurm.read_number(env, wire.ENV_DEADLINE, 0) - slurm.read_number(env, wire.ENV_NOTICE_S, 0)
        self._make_slots(env)
        self._join(folder, env)
        self._calls = self._make_calls(folder, env)
        self._running: "Dict[int, Running]" = {}
        self._is_draining = False  # no task is started any more
        self._is_stopping = False  # and those that run are asked to stop

    def _make_slots(self, env: Mapping[str, str]) -> None:
        card = self._card
        need = Need(
            max(1, card.get("cpus") or 1), card.get("gpus") or 0, card.get("memory_mb") or 0, card.get("share") or 1
        )
        self._slots = plan_slots(load_node(env), need)
        self._free = list(reversed(self._slots))
        self._spawner = spawning.Spawner(leave_out_ranks(env))
        self._variables = make_all_variables(self._slots, need, env)
        self._place = env.get("SLURM_TMPDIR") or env.get("TMPDIR")
        self._limit = int(card.get("output_limit") or DEFAULT_LIMIT)
        self._scratches = Scratches(self._place, self._limit)

    def _join(self, folder: bytes, env: Mapping[str, str]) -> None:
        pilots, timing, main = os.path.join(folder, b"pilots"), make_timing(), threading.get_ident()
        name, self._journal = naming.open_journal(pilots, naming.make_name(env), say)
        stem = os.path.join(pilots, disk.as_path(name))
        self._card_path = stem + b".json"
        self._outputs, self._results = Outputs(stem, say), Results(stem, say)
        self._measures = Measures(stem, self._place, self._card.get("patterns") or {}, say)
        self._envs = [self._make_env(slot) for slot in self._slots]
        self._tally = Tally(self._journal, self._retries, len(self._slots))
        roll = DiskRoll(folder)
        store = DiskStore(os.path.join(folder, b"log"))
        book = Ledger(store, patience_s=PATIENCE_S, wait=lambda: self._member.show_life())
        expected = int(self._card.get("pilots") or 1)
        self._member = Member(name, book, roll, retries=self._retries, expected=expected, timing=timing)
        self._clerk = Clerk(
            self._member,
            Table(os.path.join(folder, b"tasks")),
            self._journal,
            slots=len(self._slots),
            timing=timing,
            linger_s=float(self._card.get("linger_s") or 0),
            left_s=self._count_left_s,
            wake=lambda: spawning.wake(main),
            stops=lambda: adding.load_stops(os.path.join(folder, wire.FARM_STOPS.encode())),
            prepare=lambda kind, row: spawning.read_command(row) if kind == COMMANDS else row,
            beats=[one.flush for one in (self._results, self._journal, self._outputs, self._measures)]
            + [self._put_card],
        )

    def _make_calls(self, folder: bytes, env: Mapping[str, str]) -> Calls:
        base = leave_out_ranks(env)
        return Calls(
            folder,
            books=calling.Books(self._tally, self._outputs, self._results),
            deeds=calling.Deeds(self._count_call, self._end_call, self._clerk.ready.appendleft),
            envs=[dict(base, **one) for one in self._variables],
            make=lambda slot: Warm(slot, scratch=self._place, limit=self._limit),
            is_cut=self._is_cut,
        )

    def _make_env(self, slot: Slot) -> Environment:
        """With where its task tells numbers."""
        told = {wire.ENV_TASK_METRICS: self._measures.make_path(slot.number)}
        return self._spawner.make_env(dict(self._variables[slot.number], **told))

    def run(self) -> "Optional[int]":
        """None: others took it for dead, and it may begin anew."""
        self._member.join(naming.is_older(self._member.name))
        self._clerk.begin()
        self._say("{} at a time".format(_count(len(self._slots), "task")))
        try:
            self._loop()
        except OSError as error:  # a disk that stays full: nothing counts that is not recorded
            self._clerk.problem = describe(error)
        return self._leave()

    def _loop(self) -> None:
        """What ended is recorded before the next ones begin: whoever dies loses no more than what was running."""
        next_tick = next_live = 0.0
        while not self._is_finished():
            pause_s = self._calls.choose_pause(_TICK_S) if self._calls.is_used else _TICK_S
            for reaped in spawning.wait(pause_s):
                self._take_end(reaped)
            if self._calls.is_used:
                self._calls.look(self._free)
            self._start_tasks()
            now = time.monotonic()
            if now >= next_tick:
                next_tick = now + _TICK_S
                self._tick(now, now >= next_live)
                next_live = now + _LIVE_S if now >= next_live else next_live

    def _is_finished(self) -> bool:
        if self._running or self._calls.busy or self._tally.has_lines:
            return False
        return self._is_draining or (self._clerk.is_over and not self._clerk.ready)

    # ---- starting ----

    def _start_tasks(self) -> None:
        """One write for all that ended and all that starts, and it comes first: what ended must not run again."""
        now = time.time()
        chosen = self._choose(now)
        self._tally.write()
        for task, slot in chosen:
            self._start(task, slot, now)
        if not self._is_draining and calling.is_call_first(self._clerk.ready) and self._has_time(now):
            self._calls.fill(self._clerk.ready, self._free, self._clerk.stopped)
        self._tally.write()
        given = self._calls.count_given() if self._calls.is_used else 0
        self._clerk.tell(self._tally.told, len(self._running) + given)

    def _choose(self, now: float) -> "List[Tuple[Task, Slot]]":
        chosen: "List[Tuple[Task, Slot]]" = []
        ready = self._clerk.ready
        while self._free and ready and not (self._is_draining or calling.is_call_first(ready)) and self._has_time(now):
            try:
                task = ready.popleft()
            except IndexError:
                break  # the clerk has just given it to others
            if self._must_wait(task, bool(chosen)):
                ready.appendleft(task)
                break
            if task.number in self._clerk.stopped:
                self._tally.end(task, records.STOPPED, now, NOTHING_USED)
            elif task.losses >= MOST_LOSSES:
                self._tally.end(task, records.LOST, now, NOTHING_USED)
            else:
                self._tally.start(task, now)
                chosen.append((task, self._free.pop()))
        return chosen

    def _must_wait(self, task: Task, is_beside: bool) -> bool:
        """For all that runs, or for one that must be alone."""
        if _SUSPECT <= task.losses < MOST_LOSSES:
            return bool(self._running) or is_beside
        return any(running.task.losses >= _SUSPECT for running in self._running.values())

    def _start(self, task: Task, slot: Slot, start: float) -> None:
        env, cores = self._envs[slot.number], [] if self._tally.are_short else slot.cores
        scratch = self._scratches.take()
        self._measures.begin(slot.number)
        self._calls.free_slot(slot)
        env.set(task.number, task.attempt)
        try:
            if isinstance(task.row, spawning.CannotStart):
                raise task.row
            pid = self._spawner.start(task.row, cores, scratch.handle, env)
        except spawning.CannotStart as error:
            said = "windlass: {}\n".format(error).encode("utf-8", "replace")
            self._outputs.add(task.number, task.attempt, [said])
            self._free.append(slot)
            self._scratches.put(scratch)
            self._record(task, wire.EXIT_NOT_STARTED, start, NOTHING_USED, str(error))
            return
        self._running[pid] = Running(task, slot, scratch, pid, start)

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

    def _take_end(self, reaped: spawning.Reaped) -> None:
        running = self._running.pop(reaped.pid, None)
        if running is None:
            self._calls.take_end(reaped, self._free)
            return  # or a process that a task had left behind
        spawning.kill_all(reaped.pid, signal.SIGKILL)
        self._free.append(running.slot)
        task, scratch, code = running.task, running.scratch, spawning.read_code(reaped.status)
        self._collect(running, True)
        if running.verdict is not None and (code != 0 or running.verdict == records.STOPPED):
            code = running.verdict
        elif self._is_cut(code, running.kill_at is not None):
            code = _CUT
        last_line = find_last_line(scratch.last) if code else ""
        self._scratches.put(scratch)
        if code == _CUT:
            self._clerk.ready.append(task)  # by the end of the job: given back
            return
        self._tally.count_time(time.monotonic() - running.began)
        self._clerk.rate = self._tally.rate
        usage = reaped.usage
        self._record(task, code, running.start, (usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0), last_line)

    def _collect(self, running: Running, is_over: bool) -> None:
        """What it has printed and told since the last time."""
        task, slot, scratch = running.task, running.slot.number, running.scratch
        if scratch.has_more():
            self._outputs.add(task.number, task.attempt, self._measures.watch(slot, scratch.collect(is_over)))
        self._measures.take(slot, b"%d %d" % (task.number, task.attempt), is_over)

    def _is_cut(self, code: int, was_asked: bool) -> bool:
        cut = is_cut(self._signals, code, was_asked)
        self._is_stopping = self._is_stopping or cut
        if cut and not self._is_draining:
            self._drain()  # it would be started again before the next tick
        return cut

    def _record(self, task: Task, code: int, start: float, used: "Tuple[float, float]", last_line: str) -> None:
        if not self._tally.end(task, code, start, used, last_line):
            self._clerk.ready.append(task._replace(attempt=task.attempt + 1))

    def _end_call(self, task: Task, code: int, start: float, last_line: str) -> None:
        self._record(task, code, start, NOTHING_USED, last_line)

    def _count_call(self, task: Task, code: int, seconds: float) -> None:
        """Whose lines are there already."""
        self._tally.count_time(max(seconds, _LEAST_S))
        self._clerk.rate = self._tally.rate
        if not self._tally.count(code, task.attempt):
            self._clerk.ready.append(task._replace(attempt=task.attempt + 1))

    # ---- in between ----

    def _tick(self, now: float, is_live: bool) -> None:
        if self._signals.is_noticed or self._signals.is_cancelled or self._clerk.is_sealed or self._clerk.problem:
            self._is_stopping = True
        if (self._is_stopping or self._member.state.is_closed) and not self._is_draining:
            self._drain()
        limit_s = self._card.get("task_limit_s")
        for running in list(self._running.values()):
            if self._is_stopping:
                self._ask(running, now, None)
            elif running.task.number in self._clerk.stopped:
                self._ask(running, now, records.STOPPED)
            elif limit_s and now - running.began > limit_s:
                self._ask(running, now, records.TOO_LONG)
            if is_live or running.scratch.is_huge():
                self._collect(running, False)
        self._tend_calls(now, limit_s)
        self._calls.tend(is_live)
        if is_live:
            end_strays(set(self._running) | self._calls.pids)

    def _tend_calls(self, now: float, limit_s: "Optional[float]") -> None:
        for warm in self._calls.busy:
            is_stopped = warm.given[0][0].number in self._clerk.stopped
            is_late = bool(limit_s) and now - warm.since > (limit_s or 0.0)
            if (self._is_stopping or is_stopped or is_late) and self._calls.is_still_at(warm, self._free):
                verdict = records.STOPPED if is_stopped else records.TOO_LONG
                self._ask(warm, now, None if self._is_stopping else verdict)

    def _ask(self, running: "Union[Running, Warm]", now: float, verdict: "Optional[int]") -> None:
        if running.pid is None:
            return
        if running.kill_at is None:
            running.kill_at, running.verdict = now + _GRACE_S, verdict
            spawning.kill_all(running.pid, signal.SIGKILL if self._clerk.is_sealed else self._stop)
        elif now >= running.kill_at:
            spawning.kill_all(running.pid, signal.SIGKILL)

    # ---- leaving ----

    def _leave(self) -> "Optional[int]":
        for pid in self._calls.pids.union(self._running):
            spawning.kill_all(pid, signal.SIGKILL)
        end_strays(set())
        self._clerk.tell(self._tally.told, 0)
        self._clerk.end()
        self._measures.close()
        if self._clerk.is_sealed:
            return self._begin_anew()
        if self._clerk.problem is not None:
            self._say("the farm cannot be worked on: {}".format(self._clerk.problem))
            return 1
        self._put_card()
        state = self._member.state
        self._say("{} done here, {} failed; {} of {} over".format(
            self._tally.done, self._tally.failed, state.done + state.failed, _count(state.total, "task")
        ))  # fmt: skip
        if self._is_over():
            print(wire.FARM_OVER, flush=True)
        return 0

    def _begin_anew(self) -> "Optional[int]":
        self._say("another worker took this one for dead, and has its tasks")
        if self._signals.is_noticed or self._signals.is_cancelled:
            return 0
        return wire.EXIT_FENCED_OFF if self._member.is_with(naming.is_newer(self._member.name)) else None

    def _is_over(self) -> bool:
        """That no link of this run is needed any more: others of it may be at work on other nodes."""
        state = self._member.state
        if ledger.is_complete(state) or (state.is_closed and not self._is_stopping):
            return True  # a farm that was cancelled is closed too, and its pilots are not done
        if self._is_draining or ledger.count_free(state):
            return False
        return not self._member.is_with(naming.is_of_run(self._member.name))

    def close(self) -> None:
        held: "List[Any]" = [self._journal, self._outputs, self._results, self._measures, self._calls]
        for one in held + [self._spawner, self._scratches]:
            one.close()

    def _put_card(self) -> None:
        """For whoever looks: what this worker does now. Replaced without a flush: it is only news."""
        running = [[one.task.number, one.task.attempt, round(one.start, 1)] for one in list(self._running.values())]
        running += [[task.number, task.attempt, round(start, 1)] for task, start in self._calls.find_running()]
        done, failed = self._tally.told
        told = {"t": round(time.time(), 1), "done": done, "failed": failed, "slots": len(self._slots)}
        aside = self._card_path + b".new"
        with open(aside, "wb") as file:
            file.write(json.dumps(dict(told, running=running, host=os.uname()[1])).encode("ascii"))
        os.rename(aside, self._card_path)

    def _say(self, text: str) -> None:
        print("windlass: {}: {}".format(self._member.name, text), flush=True)


def _count(number: int, word: str) -> str:
    return "{} {}{}".format(number, word, "" if number == 1 else "s")
