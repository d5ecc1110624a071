"""One job as accounting tells it, and what it has used, or may still use, in any unit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windlass.core.cost import count_charged
from windlass.core.jobs import JobState
from windlass.core.site import Accounting, CostUnit
from windlass.core.size import Size


@dataclass(frozen=True, kw_only=True)
class JobSpent:
    """One job, one task of an array, or the tasks of one that still wait."""

    job_id: str
    run_id: str | None = None  # None: it is no run of Windlass's
    user: str | None = None
    account: str | None = None
    state: JobState
    started: float | None = None  # seconds since 1970
    ended: float | None = None
    elapsed_s: float = 0.0  # that count: without the time it was suspended
    limit_s: float | None = None
    size: Size
    tasks: int = 1  # more than one only where they wait
    later_links: int = 0  # starts of this very job that are still to come

    @property
    def links_left(self) -> int:
        """That wait."""
        return (self.tasks if self.is_waiting else 0) + (self.later_links if self.is_live else 0)

    @property
    def is_waiting(self) -> bool:
        return self.state is JobState.WAITING

    @property
    def is_live(self) -> bool:
        return self.state.is_live


def count_used_s(job: JobSpent, *, since: float, until: float) -> float:
    """Seconds of it that fall into this stretch of time."""
    if job.started is None or job.elapsed_s <= 0:
        return 0.0
    ended = job.ended if job.ended is not None and job.ended > job.started else job.started + job.elapsed_s
    inside = min(ended, until) - max(job.started, since)
    return job.elapsed_s * max(0.0, inside) / (ended - job.started)


def count_left_s(job: JobSpent) -> float | None:
    """At most, of all its tasks; None where no limit is known. Nothing for a job that is over."""
    if not job.is_live:
        return 0.0
    if job.limit_s is None:
        return None
    running = 0.0 if job.is_waiting else max(0.0, job.limit_s - job.elapsed_s)
    return running + job.limit_s * job.links_left


def count_rate(size: Size, unit: str, accounting: Accounting) -> float | None:
    """What one hour of it costs in this unit; None for a unit that nobody can count."""
    try:
        known = CostUnit(unit)
    except ValueError:
        return None
    if known in (CostUnit.NONE, CostUnit.UNKNOWN) or (known is CostUnit.BILLING and not size.billing):
        return None
    return count_charged(size, replace(accounting, unit=known))


def join_jobs(history: Sequence[JobSpent], queue: Sequence[JobSpent] | None) -> tuple[JobSpent, ...]:
    """What is over, from accounting; what lives, from the queue, which knows more of it. None: the queue is unknown."""
    if queue is None:
        return tuple(history)
    live = {job.job_id: job for job in queue if job.is_live}
    over = [job for job in history if not job.is_live or _is_missing(job, live)]
    return (*over, *live.values())


def _is_missing(job: JobSpent, live: dict[str, JobSpent]) -> bool:
    """It began or ended between the two answers. One that waits and is not in the queue is over."""
    return job.job_id not in live and not job.is_waiting
