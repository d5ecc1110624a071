"""Which jobs start now, and why the others wait: first come first served, with backfill. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windlass.pocket.dependencies import Lookup, Verdict, read_dependency, weigh
from windlass.pocket.layout import Machine
from windlass.pocket.model import Job

REHEARSED = "WaitsForRehearsal"  # a reason of pocket's own


@dataclass(frozen=True, kw_only=True)
class Start:
    job: Job
    gpus: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Decision:
    starts: tuple[Start, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    cancels: tuple[Job, ...] = ()  # --kill-on-invalid-dep


@dataclass(frozen=True, kw_only=True)
class Free:
    cpus: int
    memory_mb: int
    gpus: int

    def fits(self, job: Job) -> bool:
        return job.cpus <= self.cpus and job.memory_mb <= self.memory_mb and job.gpu_count <= self.gpus

    def less(self, job: Job) -> "Free":
        return Free(cpus=self.cpus - job.cpus, memory_mb=self.memory_mb - job.memory_mb, gpus=self.gpus - job.gpu_count)

    def plus(self, job: Job) -> "Free":
        return Free(cpus=self.cpus + job.cpus, memory_mb=self.memory_mb + job.memory_mb, gpus=self.gpus + job.gpu_count)


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """When the first job that waits will start at the latest, and what is free beside it then."""

    at: float
    beside: Free


def decide(pending: Sequence[Job], running: Sequence[Job], machine: Machine, lookup: Lookup, now: float) -> Decision:
    """One pass over the queue. `lookup` finds the jobs that a dependency names."""
    free = Free(cpus=machine.cpus, memory_mb=machine.memory_mb, gpus=machine.gpus)
    for job in running:
        free = free.less(job)
    active = list(running)
    starts: list[Start] = []
    reasons: dict[int, str] = {}
    cancels: list[Job] = []
    reservation: Reservation | None = None
    for job in sorted(pending, key=lambda job: (job.array_id or job.id, job.array_index or 0, job.id)):
        reason = _hindrance(job, active, lookup, now)
        if reason == "DependencyNeverSatisfied" and job.request.kills_on_invalid_dependency:
            cancels.append(job)
        elif reason:
            reasons[job.id] = reason
        elif free.fits(job) and (reservation is None or _is_harmless(job, reservation, now)):
            starts.append(Start(job=job, gpus=_pick_gpus(job, active, starts, machine)))
            if reservation and not _ends_before(job, reservation, now):
                reservation = Reservation(at=reservation.at, beside=reservation.beside.less(job))
            active.append(job)
            free = free.less(job)
        elif reservation is None:
            reasons[job.id] = "Resources"
            reservation = _reserve(job, free, active, now)
        else:
            reasons[job.id] = "Priority"
    return Decision(starts=tuple(starts), reasons=reasons, cancels=tuple(cancels))


def hold_back(decision: Decision, allowed: int) -> Decision:
    """No more than so many of the starts: the others wait for somebody who watches them one by one."""
    late = {start.job.id: REHEARSED for start in decision.starts[max(0, allowed) :]}
    return Decision(
        starts=decision.starts[: max(0, allowed)],
        reasons={**decision.reasons, **late},
        cancels=decision.cancels,
    )


def _hindrance(job: Job, active: Sequence[Job], lookup: Lookup, now: float) -> str:
    if job.is_held:
        return "JobHeldUser"
    if job.request.dependency:
        verdict, _ = weigh(read_dependency(job.request.dependency), job, lookup, now)
        if verdict is Verdict.NEVER:
            return "DependencyNeverSatisfied"
        if verdict is Verdict.WAITING:
            return "Dependency"
    if job.begin_at is not None and job.begin_at > now:
        return "BeginTime"
    if job.array_limit and sum(other.array_id == job.array_id for other in active) >= job.array_limit:
        return "JobArrayTaskLimit"
    return ""


def _is_harmless(job: Job, reservation: Reservation, now: float) -> bool:
    return _ends_before(job, reservation, now) or reservation.beside.fits(job)


def _ends_before(job: Job, reservation: Reservation, now: float) -> bool:
    return job.time_limit_s is not None and now + job.time_limit_s <= reservation.at


def _reserve(job: Job, free: Free, active: Sequence[Job], now: float) -> Reservation:
    for other in sorted(active, key=lambda other: expected_end(other, now)):
        free = free.plus(other)
        if free.fits(job):
            return Reservation(at=expected_end(other, now), beside=free.less(job))
    return Reservation(at=float("inf"), beside=free.less(job))


def expected_end(job: Job, now: float) -> float:
    if job.time_limit_s is None:
        return float("inf")
    return (now if job.start_at is None else job.start_at) + job.time_limit_s


def expected_start(job: Job, running: Sequence[Job], machine: Machine, now: float) -> float | None:
    """When a job would start if nobody else waited; None when nobody can tell."""
    free = Free(cpus=machine.cpus, memory_mb=machine.memory_mb, gpus=machine.gpus)
    for other in running:
        free = free.less(other)
    moment = now if free.fits(job) else _reserve(job, free, running, now).at
    moment = max(moment, job.begin_at or 0)
    return None if moment == float("inf") else moment


def _pick_gpus(
    job: Job, active: Sequence[Job], starts: Sequence[Start], machine: Machine
) -> tuple[tuple[int, ...], ...]:
    if machine.counts_gpus_by_node:
        return tuple(tuple(range(share.gpus)) for share in job.layout)
    taken = {index for other in active for node in other.gpus for index in node}
    taken |= {index for start in starts for node in start.gpus for index in node}
    left = [index for index in range(machine.gpus) if index not in taken]
    picked: list[tuple[int, ...]] = []
    for share in job.layout:
        picked.append(tuple(left[: share.gpus]))
        left = left[share.gpus :]
    return tuple(picked)
