"""Python functions at a site, as futures of the standard library.

import windlass

with windlass.Executor(site="daint", gpus=1) as executor:
    futures = [executor.submit(train, lr) for lr in (0.1, 0.01, 0.001)]
    losses = [future.result() for future in futures]
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any, Self

from windlass.api import make_wanted, open_session
from windlass.app.calls.desk import Desk
from windlass.app.calls.future import CallFuture
from windlass.app.calls.mapping import cut, iterate
from windlass.app.calls.opening import find_calls, make_desk, start_calls
from windlass.app.calls.packing import Call, Packer
from windlass.app.session import Session
from windlass.core.farm.values import FarmNeeds
from windlass.core.record import RunRecord
from windlass.core.units import read_duration, read_memory

__all__ = ["CallFuture", "Executor"]


class Executor(futures.Executor):
    """A `concurrent.futures.Executor` whose workers are in jobs at a site; its calls are tasks of a farm.

    It is made with its jobs, which wait for calls for as long as `linger` says. `shutdown`, or the end of a `with`,
    waits for what was submitted and ends them. Whoever leaves without that finds all of it again by `attach`: the
    program ends when what was submitted is at the site, which is waited for no longer than a minute.
    """

    def __init__(
        self,
        site: str | None = None,
        *,
        project: str | Path = ".",
        name: str | None = None,
        workers: int | None = None,
        cpus: int = 1,
        gpus: int = 0,
        memory: str | None = None,
        time: str | None = None,
        linger: str = "10m",
        task_limit: str | None = None,
        retries: int = 0,
        share: int = 1,
        pilots: int | None = None,
        session: Session | None = None,
        **settings: object,
    ) -> None:
        """cpus, gpus, memory: of one call; workers: how many at once, all that fit on a node unless it is said.

        time: of a job; task_limit: a call that takes longer is ended; share: calls on one GPU; pilots: how many jobs.
        Settings are those of `windlass.run`: `partition="gpu"`, `environment__venv="requirements.txt"`.
        """
        if workers is not None and workers < 1:
            raise ValueError("workers must be at least 1")
        given = {"name": name, "farm__pilot_time": time}
        settings |= {key: value for key, value in given.items() if value is not None}
        needs = FarmNeeds(
            cpus=cpus,
            gpus=gpus,
            memory_mb=read_memory(memory) if memory else 0,
            share=share,
            retries=retries,
            task_limit=read_duration(task_limit) if task_limit else None,
            linger=read_duration(linger),
        )
        used = session or open_session()
        wanted = make_wanted(project, site, settings)
        record = start_calls(used, wanted, needs=needs, workers=workers, pilots=pilots)
        self._open(used, record, is_own=session is None)

    @classmethod
    def attach(cls, name: str, *, session: Session | None = None) -> Self:
        """The executor of that name, or run id, again: `futures()` are its calls, with the results that are there."""
        used = session or open_session()
        record, total = find_calls(used, name)
        made = cls.__new__(cls)
        made._open(used, record, is_own=session is None)
        made._futures.update(made._desk.expect(0, total))
        return made

    def _open(self, session: Session, record: RunRecord, *, is_own: bool) -> None:
        self._packer = Packer()
        self._is_shut = False
        self._futures: dict[int, CallFuture] = {}
        self._new: list[CallFuture] = []
        self.record = record
        self._desk: Desk = make_desk(session, record, is_left=session.close if is_own else lambda: None)
        self._desk.begin()

    @property
    def name(self) -> str:
        """By which `attach` finds it, also from another process."""
        return self.record.run_id

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> CallFuture:
        """Raises NotSendable here and now where the function or its arguments cannot be pickled."""
        return self._send(self._packer.pack_call(fn, args, kwargs))

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[Any]:
        """chunksize: so many calls are one task; a large one costs less, and is one when it fails."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if chunksize == 1:
            made = [self.submit(fn, *args) for args in zip(*iterables, strict=False)]
            return iterate(made, timeout)
        chunks = cut(zip(*iterables, strict=False), chunksize)
        found = iterate([self._send(self._packer.pack_each(fn, chunk)) for chunk in chunks], timeout)
        return (value for values in found for value in values)

    def _send(self, call: Call) -> CallFuture:
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = self._desk.submit(call)
        self._new.append(future)
        return future

    def futures(self) -> dict[int, CallFuture]:
        """By task number; of calls that are not at the site yet nothing is known."""
        self._futures.update({one.task: one for one in self._new if one.task is not None})
        self._new = [one for one in self._new if one.task is None]
        return dict(sorted(self._futures.items()))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Pilots leave when the last call is over. cancel_futures: calls that do not run yet are not run."""
        self._is_shut = True
        if cancel_futures:
            for future in self._desk.list_open():
                if not future.running():
                    future.cancel()
        self._desk.end(closes=True)
        if wait:
            self._desk.join()

    def detach(self) -> None:
        """Leaves the calls at work: this process may end. `Executor.attach(name)` finds them."""
        self._is_shut = True
        self._desk.end(closes=False)
        self._desk.join()
