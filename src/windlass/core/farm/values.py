"""What a farm is: what its tasks need, what became of them, where it stands."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from windlass.core.run import Farm
from windlass_job.farming import records

COMMANDS = "commands"
CALLS = "calls"
_NOWHERE: Mapping[str, int] = MappingProxyType({})
_NO_CUTS: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class FarmNeeds:
    """What one task takes, and how often and how long it is tried."""

    cpus: int = 1
    gpus: int = 0
    memory_mb: int = 0  # 0: not counted
    share: int = 1  # tasks on one GPU at the same time
    retries: int = 0  # how often a task that failed is tried again
    task_time: timedelta | None = None  # how long one takes: none is started when less is left
    task_limit: timedelta | None = None  # one that takes longer is ended
    linger: timedelta = timedelta()  # pilots wait so long for more tasks
    output_limit: int | None = None  # bytes that are kept of what one prints


def make_needs(farm: Farm) -> FarmNeeds:
    """As [farm] of the run file says."""
    return FarmNeeds(
        cpus=farm.cpus,
        gpus=farm.gpus,
        memory_mb=farm.memory_mb,
        share=farm.share,
        retries=farm.retries,
        task_time=farm.time,
        task_limit=farm.limit,
        linger=farm.linger,
    )


def read_needs(card: Mapping[str, Any]) -> FarmNeeds:
    """What `make_card` wrote."""
    return FarmNeeds(
        cpus=card.get("cpus") or 1,
        gpus=card.get("gpus") or 0,
        memory_mb=card.get("memory_mb") or 0,
        share=card.get("share") or 1,
        retries=card.get("retries") or 0,
        task_time=_read_time(card.get("task_s")),
        task_limit=_read_time(card.get("task_limit_s")),
        linger=_read_time(card.get("linger_s")) or timedelta(),
        output_limit=card.get("output_limit"),
    )


def _read_time(seconds: float | None) -> timedelta | None:
    return timedelta(seconds=seconds) if seconds else None


def make_card(needs: FarmNeeds, *, name: str, pilots: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """As pilots read it: farm/card.json. asked: what the user said himself of pilots, for those that come later."""
    return {
        "name": name,
        "pilots": pilots,
        "asked": dict(asked),
        "cpus": needs.cpus,
        "gpus": needs.gpus,
        "memory_mb": needs.memory_mb,
        "share": needs.share,
        "retries": needs.retries,
        "task_s": needs.task_time.total_seconds() if needs.task_time else None,
        "task_limit_s": needs.task_limit.total_seconds() if needs.task_limit else None,
        "linger_s": needs.linger.total_seconds(),
        "output_limit": needs.output_limit,
    }


class TaskState(StrEnum):
    DONE = "done"
    TRIED = "tried"  # it failed, and is tried again
    FAILED = "failed"
    LOST = "lost"  # nodes died under it, again and again
    STOPPED = "stopped"
    TOO_LONG = "too long"
    CUT = "cut short"  # by the end of its pilots, again and again

    @property
    def is_over(self) -> bool:
        return self is not TaskState.TRIED

    @property
    def is_bad(self) -> bool:
        """For good, and nobody wanted it so."""
        return self not in (TaskState.DONE, TaskState.TRIED, TaskState.STOPPED)


_WORDS = {
    0: TaskState.DONE,
    records.LOST: TaskState.LOST,
    records.STOPPED: TaskState.STOPPED,
    records.CUT: TaskState.CUT,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """How one attempt of one task ended."""

    task: int
    state: TaskState
    code: int  # as a shell says it; negative: it was not the task that ended itself
    attempts: int  # of this life: what `retry` gave back counts anew
    start: float
    seconds: float
    cpu_s: float
    memory_mb: float
    worker: str
    node: str | None = None
    last_line: str = ""
    entry: int = 0  # the greatest of the ledger that its worker knew of by then

    @property
    def order(self) -> tuple[int, int]:
        """Among the attempts of one task, in all its lives. Clocks of nodes may be off."""
        return self.entry, self.attempts


def make_result(ended: records.Ended, *, worker: str, node: str | None, retries: int, entry: int) -> TaskResult:
    return TaskResult(
        task=ended.task,
        state=_name_state(ended, retries),
        code=ended.code,
        attempts=ended.attempt,
        start=ended.start,
        seconds=ended.seconds,
        cpu_s=ended.cpu_s,
        memory_mb=ended.memory_mb,
        worker=worker,
        node=node,
        last_line=ended.last_line,
        entry=entry,
    )


def _name_state(ended: records.Ended, retries: int) -> TaskState:
    if ended.code in _WORDS:
        return _WORDS[ended.code]
    if not records.is_over(ended, retries):
        return TaskState.TRIED
    return TaskState.TOO_LONG if ended.code == records.TOO_LONG else TaskState.FAILED


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """How far the records were read: bytes of each worker's, and the greatest entry of the ledger there."""

    read: Mapping[str, int] = field(default_factory=lambda: _NOWHERE)
    entries: Mapping[str, int] = field(default_factory=lambda: _NOWHERE)


@dataclass(frozen=True, kw_only=True)
class RunningTask:
    task: int
    attempt: int
    start: float
    worker: str
    node: str | None


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One node of one pilot, as it told last."""

    name: str
    run_id: str
    node: str | None
    is_alive: bool
    slots: int
    done: int
    failed: int
    stopped: int
    seen: float  # when it told that
    running: tuple[RunningTask, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FarmStatus:
    farm_id: str
    total: int
    waiting: int
    running: int
    done: int
    failed: int
    pilots: tuple[Worker, ...]
    is_closed: bool
    wanted_pilots: int = 1
    stopped: int = 0  # on demand, or because it was hopeless; none of the failed
    cuts: Mapping[int, int] = field(default_factory=lambda: _NO_CUTS)  # of tasks that had almost all of a pilot's time

    @property
    def is_over(self) -> bool:
        """No task is left that has neither succeeded nor failed for good."""
        return self.over >= self.total and not self.running

    @property
    def over(self) -> int:
        return self.done + self.failed + self.stopped

    @property
    def left(self) -> int:
        return max(0, self.total - self.over)


def read_status(farm_id: str, told: Mapping[str, Any]) -> FarmStatus:
    """From what the site says: the ledger's numbers, and what each worker ended since it wrote there last."""
    workers = tuple(_read_worker(one) for one in told["workers"])
    total = int(told["total"])
    done = min(total, told["done"] + sum(one["untold"][0] for one in told["workers"]))
    bad = max(0, min(total - done, told["failed"] + sum(one["untold"][1] for one in told["workers"])))
    stopped = max(0, min(bad, told["stopped"] + sum(one["untold"][2] for one in told["workers"])))
    running = min(total - done - bad, sum(len(one.running) for one in workers))
    return FarmStatus(
        farm_id=farm_id,
        total=total,
        waiting=total - done - bad - running,
        running=running,
        done=done,
        failed=bad - stopped,
        stopped=stopped,
        pilots=workers,
        is_closed=bool(told["is_closed"]),
        wanted_pilots=int(told["card"].get("pilots") or 1),
        cuts={int(task): int(count) for task, count in told["cuts"]},
    )


def leave_out_ended(status: FarmStatus, ended: Collection[str]) -> FarmStatus:
    """ended: pilots that Slurm knows as ended. What they died with runs no more, and waits for others."""
    pilots = tuple(replace(one, is_alive=False, running=()) if one.run_id in ended else one for one in status.pilots)
    running = min(status.left, sum(len(one.running) for one in pilots))
    return replace(status, pilots=pilots, running=running, waiting=status.left - running)


def _read_worker(told: Mapping[str, Any]) -> Worker:
    name, node = str(told["name"]), told["host"]
    return Worker(
        name=name,
        run_id=name.rsplit(".", 5)[0],
        node=node,
        is_alive=bool(told["is_alive"]),
        slots=int(told["slots"]),
        done=int(told["done"]),
        failed=int(told["failed"]) - int(told["stopped"]),
        stopped=int(told["stopped"]),
        seen=float(told["t"]),
        running=tuple(
            RunningTask(task=int(task), attempt=int(attempt), start=float(start), worker=name, node=node)
            for task, attempt, start in told["running"]
        ),
    )
