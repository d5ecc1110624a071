"""What this laptop knows of its runs, told as jobs: for sites without accounting."""

from collections.abc import Iterable
from dataclasses import replace

from windlass.core.jobs import JobState
from windlass.core.record import RunRecord, RunState
from windlass.core.spending.jobs import JobSpent

_NEVER_RAN = (RunState.SUBMITTING, RunState.NOT_SUBMITTED)


def make_jobs(records: Iterable[RunRecord], now: float) -> tuple[JobSpent, ...]:
    """Of each run what it has used, as one job, and the links that wait, as another."""
    return tuple(job for one in records if one.size is not None for job in _make_both(one, now))


def _make_both(record: RunRecord, now: float) -> Iterable[JobSpent]:
    if record.size is None or record.state in _NEVER_RAN:
        return
    job_id, is_running = record.job_id or record.run_id, record.state is RunState.RUNNING
    if record.spent_s:
        ended = record.ended or now
        yield JobSpent(
            job_id=job_id,
            run_id=record.run_id,
            state=JobState.RUNNING if is_running else JobState.DONE,
            started=record.started if record.started is not None else ended - record.spent_s,
            ended=None if is_running else ended,
            elapsed_s=record.spent_s,
            # Of all its links together: what is left of the one that runs is not known, so all of it is.
            limit_s=record.spent_s + (record.link_s or 0.0) if is_running else None,
            size=record.size,
        )
    waiting = record.links - (record.link or 0)
    if not record.state.is_final and waiting > 0:
        yield JobSpent(
            job_id=f"{job_id}_waiting",
            run_id=record.run_id,
            state=JobState.WAITING,
            limit_s=record.link_s,
            size=record.size,
            tasks=waiting,
        )


def add_later_links(jobs: Iterable[JobSpent], records: Iterable[RunRecord]) -> tuple[JobSpent, ...]:
    """Where links are starts of one job, the queue shows that job and not how often it will start again."""
    known = {one.run_id: one for one in records if one.current is not None and one.current.links > 1}
    return tuple(
        replace(job, later_links=_count_later(job, known[job.run_id]))
        if job.run_id in known and _is_alone(job)
        else job
        for job in jobs
    )


def _is_alone(job: JobSpent) -> bool:
    return job.is_live and "_" not in job.job_id


def _count_later(job: JobSpent, record: RunRecord) -> int:
    begun = (record.link or 0) + 1 if job.is_waiting else record.link or 1
    return max(0, record.links - begun)
