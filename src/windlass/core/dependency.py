"""Reading `--dependency`: which jobs are waited for, and whether that can ever come true.

`pocket/dependencies.py` reads it too, strictly, since it takes Slurm's place: it refuses, and weighs its own jobs.
Here a form we do not know is left to Slurm.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from windlass.core.jobs import JobSeen, JobState


@dataclass(frozen=True, kw_only=True)
class Wait:
    """One condition: `afterok:45` is Wait(kind="afterok", job_id="45")."""

    kind: str
    job_id: str


def read_dependency(text: str) -> tuple[tuple[Wait, ...], bool]:
    """The conditions, and whether one of them is enough. `afterok:45:46` are two; a time (`after:45+5`) is left out."""
    parts = text.replace("?", ",").split(",")
    waits = tuple(
        Wait(kind=kind.strip().lower(), job_id=job_id.partition("+")[0].strip())
        for kind, colon, jobs in (part.partition(":") for part in parts)
        if colon
        for job_id in jobs.split(":")
    )
    return waits, "?" in text


def list_awaited(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(wait.job_id for wait in read_dependency(text)[0]))


def find_impossible(text: str, seen: Iterable[JobSeen]) -> tuple[Wait, ...]:
    """The conditions that can no longer come true; none where another one is enough and still can."""
    waits, any_is_enough = read_dependency(text)
    jobs = list(seen)
    never = tuple(wait for wait in waits if _is_impossible(wait, [job for job in jobs if _is_of(job, wait.job_id)]))
    return () if any_is_enough and len(never) < len(waits) else never


def find_unknown(text: str, seen: Iterable[JobSeen]) -> tuple[str, ...]:
    """Numbers the controller does not know (any more): it counts them as met, whatever became of them."""
    jobs = list(seen)
    return tuple(one for one in list_awaited(text) if not any(_is_of(job, one) for job in jobs))


def _is_impossible(wait: Wait, jobs: list[JobSeen]) -> bool:
    """Of an array all tasks count: one that failed spoils `afterok`, `afternotok` needs none but good ones to fail."""
    if wait.kind == "afterok":
        return any(job.state.is_final and job.state is not JobState.DONE for job in jobs)
    if wait.kind == "afternotok":
        return bool(jobs) and all(job.state is JobState.DONE for job in jobs)
    return False


def _is_of(job: JobSeen, job_id: str) -> bool:
    return job_id in (job.job_id, job.base_id, job.raw_id)
