"""The thread behind an executor: gathers calls into few additions, and brings all results by one question."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from windlass.app.calls.future import CallFuture
from windlass.app.calls.outcomes import make_failure, read_error
from windlass.app.calls.packing import Call, make_cloudpickle_zip
from windlass.app.calls.settling import explain, settle, settle_content
from windlass.app.calls.streams import News, Streams
from windlass.app.farms.adding import add_tasks, make_addition
from windlass.app.farms.asking import ask_farm
from windlass.app.farms.output import load_output
from windlass.app.farms.sending import pack_rows
from windlass.app.farms.steering import close_farm, stop_tasks
from windlass.app.patience import PASSES, Patience
from windlass.app.session import Session
from windlass.core.farm.values import CALLS
from windlass.core.record import RunRecord
from windlass.errors import ClusterUnavailable, LoginNeeded, SiteNotReady, WindlassError
from windlass_job import wire
from windlass_job.farming import records

_MOST_AT_ONCE = 20_000  # calls of one addition
_MOST_BYTES = 32 << 20
_MANY = 50  # calls of one addition: then they come in a stream, and the next one waits for more of them
_STREAM_S = 0.1
_LEAVING_S = 2.0  # between two tries, at the most, when the program ends
_SHARE = 4  # at most this part of the time goes into looking and sending: the caller's own work has the rest
_log = logging.getLogger("windlass")
_MAY_PASS = (*PASSES, LoginNeeded)
# Calls that are at the site go on there, whatever keeps us from looking at them.
_KEEPS_FROM_LOOKING = (*_MAY_PASS, SiteNotReady)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often a site is asked."""

    gather_s: float  # calls wait so long for others to go along
    least_s: float  # between two looks while results come
    most_s: float  # and while none come
    pilots_s: float  # between two looks at the jobs


@dataclass
class _Addition:
    """Calls on their way: asked for again, they are added once."""

    name: str
    futures: list[CallFuture]
    rows: list[bytes]


class Desk:
    def __init__(
        self,
        session: Session,
        record: RunRecord,
        *,
        pace: Pace,
        tend_pilots: Callable[[bool], WindlassError | None],
        is_left: Callable[[], None],
    ) -> None:
        """tend_pilots: sees to it that jobs run the calls; whether any have ended since. An error: there are none."""
        self._session, self._record, self._pace, self._tend_pilots = session, record, pace, tend_pilots
        self._is_left = is_left
        lock = threading.RLock()
        self._change = threading.Condition(lock)  # something to do for the thread
        self._all_sent = threading.Condition(lock)
        self._waiting: list[tuple[CallFuture, bytes]] = []
        self._waiting_since = 0.0
        self._functions: dict[bytes, bytes] = {}  # not at the site yet
        self._sent: set[bytes] = set()
        self._addition: _Addition | None = None
        self._futures: dict[int, CallFuture] = {}  # whose results are not here yet
        self._stops: list[int] = []
        self._errors: dict[tuple[str, int, int], bytes] = {}
        self._streams = Streams()
        self._running: frozenset[int] = frozenset()
        self._retries = 0
        self._has_news = False  # since the last look at the jobs
        self._look_at = self._pilots_at = 0.0
        self._pause_s = pace.least_s
        self._gather_s = pace.gather_s
        self._is_ending = self._closes = False
        self._is_leaving = False  # the program ends: nothing is done but sending
        self.problem: WindlassError | None = None  # why the site does not answer now
        self._patience = Patience(tell=_log.warning)
        self._patience_with_pilots = Patience(tell=_log.warning)
        self._thread = threading.Thread(target=self._work, name=f"windlass {record.run_id}", daemon=True)

    # ---- for the callers ----

    def begin(self) -> None:
        self._thread.start()

    def submit(self, call: Call) -> CallFuture:
        future, packed = CallFuture(self), call.packed
        with self._change:
            if packed.digest not in self._sent:
                self._sent.add(packed.digest)
                self._functions[packed.digest] = packed.content
            is_first = not self._waiting
            self._waiting.append((future, call.row))
            if is_first:
                self._waiting_since = time.monotonic()
            if is_first or len(self._waiting) == _MOST_AT_ONCE:
                self._change.notify()
        return future

    def expect(self, first: int, end: int) -> dict[int, CallFuture]:
        """Futures of calls that are in the farm already."""
        made = {task: CallFuture(self) for task in range(first, end)}
        for task, future in made.items():
            future.task = task
        with self._change:
            self._futures.update(made)
            self._look_at = 0.0
            self._change.notify()
        return made

    def stop(self, future: CallFuture) -> None:
        with self._change:
            if future.task is not None:
                self._futures.pop(future.task, None)
                self._stops.append(future.task)
                self._change.notify()

    def is_running(self, task: int) -> bool:
        return task in self._running

    def load_output(self, task: int) -> bytes:
        return b"".join(load_output(self._session, self._record, task))

    def list_open(self) -> list[CallFuture]:
        with self._change:
            return [*self._futures.values(), *self._list_unsent()]

    @property
    def name(self) -> str:
        return self._record.run_id

    @property
    def site(self) -> str:
        return self._record.site

    @property
    def is_at_work(self) -> bool:
        """Not when it has ended, and not in a process that was forked: there is no thread, and a lock may be held."""
        return self._thread.is_alive()

    def hurry(self) -> list[CallFuture]:
        """Until `go_on` it only sends; what there is to send."""
        with self._change:
            self._is_leaving = True
            self._look_at = self._waiting_since = 0.0
            self._change.notify()
            return self._list_unsent()

    def wait_until_sent(self, timeout_s: float) -> bool:
        with self._all_sent:
            return self._all_sent.wait_for(self._is_sent, timeout_s)

    def go_on(self) -> None:
        with self._change:
            self._is_leaving = False
            self._change.notify()

    def end(self, *, closes: bool) -> None:
        """When all that was submitted is over; closes: pilots leave then. Otherwise when all of it is at the site."""
        with self._change:
            self._is_ending, self._closes = True, closes
            self._change.notify()

    def join(self) -> None:
        self._thread.join()

    # ---- the thread ----

    def _work(self) -> None:
        while True:
            with self._change:
                if self._is_sent():
                    self._all_sent.notify_all()
                if self._is_finished():
                    break
                self._change.wait(self._count_wait_s())
            try:
                self._turn()
                self._patience.forget()
                self.problem = None
            except _KEEPS_FROM_LOOKING as problem:
                self.problem = problem
                pause_s = self._patience.meet(problem)
                self._pause_s = min(_LEAVING_S, pause_s) if self._is_leaving else pause_s
                self._look_at = time.monotonic() + self._pause_s
                self._waiting_since = self._look_at
            except BaseException as problem:  # whatever it is: nobody must wait for ever
                self._fail_all(explain(problem))
        self._leave()

    def _is_finished(self) -> bool:
        return self._is_ending and self._is_sent() and not (self._closes and self._futures)

    def _is_sent(self) -> bool:
        return not (self._waiting or self._addition or self._stops)

    def _list_unsent(self) -> list[CallFuture]:
        held = self._addition.futures if self._addition else []
        return [*held, *(future for future, _ in self._waiting)]

    def _count_wait_s(self) -> float:
        now = time.monotonic()
        times = [now + 60.0]
        if self._waiting:
            times.append(self._waiting_since + (0.0 if self._is_full() else self._gather_s))
        if self._addition or self._stops:
            times.append(self._look_at if self.problem else now)
        if self._futures and not self._is_leaving:
            times.append(self._look_at)
        return max(0.0, min(times) - now)

    def _is_full(self) -> bool:
        return len(self._waiting) >= _MOST_AT_ONCE

    def _turn(self) -> None:
        now = time.monotonic()
        if self._addition or self._waiting:
            self._send_calls(now)
        if self._stops:
            stops = list(self._stops)
            stop_tasks(self._session, self._record, stops)
            with self._change:
                del self._stops[: len(stops)]  # others may have come since
        if self._is_leaving:
            return
        if self._futures and now >= self._look_at:
            self._look()
        if self._futures and now >= self._pilots_at:
            self._pilots_at = now + self._pace.pilots_s
            self._tend(now)

    def _tend(self, now: float) -> None:
        """Where Slurm does not answer results come all the same."""
        had_news, self._has_news = self._has_news, False
        try:
            problem = self._tend_pilots(had_news)
            self._patience_with_pilots.forget()
        except ClusterUnavailable as unavailable:
            self._pilots_at = now + max(self._pace.pilots_s, self._patience_with_pilots.meet(unavailable))
            return
        if problem is not None:
            self._fail_all(problem)

    # ---- sending ----

    def _send_calls(self, now: float) -> None:
        if self._addition is None:
            with self._change:
                is_hasty = self._is_ending or self._is_leaving
                is_due = is_hasty or self._is_full() or now >= self._waiting_since + self._gather_s
                if is_due:
                    self._addition = self._take_waiting()
        if self._addition is None:
            return
        addition = self._addition
        try:
            self._send_functions()
            numbers = add_tasks(self._session, self._record, pack_rows(addition.rows), CALLS, name=addition.name)
        except _MAY_PASS:
            raise
        except WindlassError as problem:
            self._addition = None
            for future in addition.futures:
                settle(future, problem=problem)
            return
        self._take_numbers(addition, numbers)
        is_stream = len(addition.rows) >= _MANY
        took_s = time.monotonic() - now
        self._gather_s = max(
            self._pace.gather_s, _STREAM_S if is_stream else 0.0, _SHARE * took_s if is_stream else 0.0
        )

    def _take_waiting(self) -> _Addition | None:
        """Of those that were not cancelled so many as go at once."""
        taken, size = 0, 0
        for _, row in self._waiting[:_MOST_AT_ONCE]:
            taken, size = taken + 1, size + len(row)
            if size > _MOST_BYTES:
                break
        chosen = [(future, row) for future, row in self._waiting[:taken] if not future.is_dropped]
        del self._waiting[:taken]
        if not chosen:
            return None
        return _Addition(make_addition(), [future for future, _ in chosen], [row for _, row in chosen])

    def _send_functions(self) -> None:
        with self._change:
            functions = dict(self._functions)
        if not functions:
            return
        files = [(digest.decode(), content) for digest, content in functions.items()]
        if any(b'"by_value": true' in content.partition(b"\n")[0] for content in functions.values()):
            files.append((wire.FARM_CLOUDPICKLE, make_cloudpickle_zip()))
        arguments = {"files": [{"name": name, "bytes": len(content)} for name, content in files]}
        payload = b"".join(content for _, content in files)
        ask_farm(self._session, self._record, "farm_functions", arguments, payload=payload)
        with self._change:
            for digest in functions:
                self._functions.pop(digest, None)

    def _take_numbers(self, addition: _Addition, numbers: range) -> None:
        with self._change:
            for task, future in zip(numbers, addition.futures, strict=True):
                future.task = task
                if future.is_dropped:
                    self._stops.append(task)
                else:
                    self._futures[task] = future
            self._addition = None
            self._pause_s = self._pace.least_s
            self._look_at = min(self._look_at, time.monotonic() + self._pause_s)

    # ---- what comes back ----

    def _look(self) -> None:
        before, begin = len(self._futures), time.monotonic()
        reply = ask_farm(self._session, self._record, "farm_calls", {"since": self._streams.since})
        self._retries = int(reply.values["retries"])
        news = self._streams.read(reply.values, reply.payload)
        self._running = news.running
        self._take(news)
        has_any = len(self._futures) < before or news.is_more
        self._has_news = self._has_news or has_any
        self._pause_s = self._pace.least_s if has_any else min(self._pace.most_s, 1.5 * self._pause_s)
        now = time.monotonic()
        self._look_at = now + (0.0 if news.is_more else max(self._pause_s, _SHARE * (now - begin)))

    def _take(self, news: News) -> None:
        """A value counts as soon as it is here; an exception when the records say that it was the last try."""
        for worker, task, attempt, content in news.left:
            if content[:1] != wire.CALL_VALUE:
                self._errors[worker, task, attempt] = content
                continue
            future = self._futures.pop(task, None)
            if future is not None:
                settle_content(future, content)
        for worker, ended in news.failed:
            error = self._errors.pop((worker, ended.task, ended.attempt), None)
            if not records.is_over(ended, self._retries):
                continue
            future = self._futures.pop(ended.task, None)
            if future is not None:
                failure = make_failure(ended, self._record.run_id) if error is None else read_error(error[1:])
                settle(future, problem=failure)

    # ---- the end ----

    def _fail_all(self, problem: Exception) -> None:
        futures = self.list_open()
        with self._change:
            self._waiting, self._futures, self._addition, self._stops = [], {}, None, []
        for future in futures:
            settle(future, problem=problem)

    def _leave(self) -> None:
        try:
            if self._closes:
                close_farm(self._session, self._record)
        except WindlassError as problem:
            self._session.tell(f"the farm {self._record.run_id} could not be closed: {problem.message}")
        finally:
            self._is_left()
