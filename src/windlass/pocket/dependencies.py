"""`--dependency=afterok:12:13?afterany:14`, read and weighed. Pure: states come in as values."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from windlass.pocket.errors import PocketError
from windlass.pocket.model import Job, State

KINDS = ("after", "afterany", "afterok", "afternotok", "aftercorr", "afterburstbuffer")


class Verdict(Enum):
    MET = "met"
    WAITING = "waiting"
    NEVER = "never"


@dataclass(frozen=True, kw_only=True)
class Condition:
    kind: str
    job_id: int = 0
    index: int | None = None  # of an array
    delay_s: int = 0  # after:12+5

    def __str__(self) -> str:
        if self.kind == "singleton":
            return self.kind
        return f"{self.kind}:{self.job_id}{'' if self.index is None else f'_{self.index}'}"


@dataclass(frozen=True, kw_only=True)
class Dependency:
    conditions: tuple[Condition, ...]
    any_is_enough: bool = False


def read_dependency(text: str) -> Dependency:
    if "," in text and "?" in text:
        raise _problem()
    conditions: list[Condition] = []
    for item in re.split(r"[,?]", text):
        kind, *jobs = item.strip().split(":")
        if kind == "singleton" and not jobs:
            conditions.append(Condition(kind="singleton"))
            continue
        if kind not in KINDS or not jobs:
            raise _problem()
        conditions += [_read_condition(kind, job) for job in jobs]
    return Dependency(conditions=tuple(conditions), any_is_enough="?" in text)


Lookup = Callable[[Condition, Job], Sequence[Job]]


def make_lookup(known: Iterable[Job]) -> Lookup:
    """Find the jobs that a condition of a job is about, among the jobs that are known."""
    by_id: dict[int, list[Job]] = {}
    by_name: dict[tuple[str, int], list[Job]] = {}
    for one in known:
        by_id.setdefault(one.id, []).append(one)
        if one.array_id is not None and one.array_id != one.id:
            by_id.setdefault(one.array_id, []).append(one)
        if not one.state.is_final:
            by_name.setdefault((one.name, one.request.uid), []).append(one)

    def lookup(condition: Condition, job: Job) -> Sequence[Job]:
        if condition.kind == "singleton":
            older = by_name.get((job.name, job.request.uid), ())
            return [one for one in older if (one.array_id or one.id) < (job.array_id or job.id)]
        named = by_id.get(condition.job_id, [])
        of_array = [one for one in named if one.array_id == condition.job_id]
        index = job.array_index if condition.kind == "aftercorr" else condition.index
        if index is not None:
            return [one for one in of_array if one.array_index == index]
        return of_array or [one for one in named if one.id == condition.job_id]

    return lookup


def weigh(dependency: Dependency, job: Job, lookup: Lookup, now: float) -> tuple[Verdict, tuple[Condition, ...]]:
    """Whether the job may start, and the conditions that still hold it back."""
    verdicts = [(condition, _weigh_one(condition, job, lookup, now)) for condition in dependency.conditions]
    kinds = [verdict for _, verdict in verdicts]
    left = tuple(condition for condition, verdict in verdicts if verdict is not Verdict.MET)
    if dependency.any_is_enough:
        if Verdict.MET in kinds:
            return Verdict.MET, ()
        return (Verdict.WAITING if Verdict.WAITING in kinds else Verdict.NEVER), left
    if Verdict.NEVER in kinds:
        return Verdict.NEVER, left
    return (Verdict.WAITING if left else Verdict.MET), left


def _weigh_one(condition: Condition, job: Job, lookup: Lookup, now: float) -> Verdict:
    others = lookup(condition, job)
    if condition.kind == "singleton":
        return Verdict.WAITING if others else Verdict.MET
    # Slurm runs a job at once when the one it waits for is unknown.
    verdicts = [_weigh_pair(condition, other, now) for other in others]
    if Verdict.NEVER in verdicts:
        return Verdict.NEVER
    return Verdict.WAITING if Verdict.WAITING in verdicts else Verdict.MET


def _weigh_pair(condition: Condition, other: Job, now: float) -> Verdict:
    if condition.kind == "after":
        # A job cancelled before its start counts as begun, else the waiting one would wait for ever.
        began = other.start_at if other.start_at is not None else other.end_at
        return Verdict.MET if began is not None and began + condition.delay_s <= now else Verdict.WAITING
    if not other.state.is_final:
        return Verdict.WAITING
    if condition.kind in ("afterany", "afterburstbuffer"):
        return Verdict.MET
    went_well = other.state is State.COMPLETED
    return Verdict.MET if went_well == (condition.kind != "afternotok") else Verdict.NEVER


def _read_condition(kind: str, text: str) -> Condition:
    match = re.fullmatch(r"(\d+)(?:_(\d+|\*))?(?:\+(\d+))?", text)
    if not match or (match[3] and kind != "after"):
        raise _problem()
    index = None if match[2] in (None, "*") else int(match[2])
    return Condition(kind=kind, job_id=int(match[1]), index=index, delay_s=int(match[3] or 0) * 60)


def _problem() -> PocketError:
    return PocketError("Job dependency problem")
