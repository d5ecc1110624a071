"""Was this submission taken by Slurm? The token decides, never the job's number alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from windlass.core.jobs import JobSeen

_CLOCKS_DIFFER_S = 60.0  # login node and controller


class Outcome(StrEnum):
    SUBMITTED = "submitted"
    REFUSED = "refused"
    NOT_SUBMITTED = "not submitted"  # for certain: it may be sent (again)
    IN_FLIGHT = "in flight"  # sbatch still runs there
    UNCLEAR = "unclear"  # Slurm does not answer: nothing may be sent
    LOST = "lost"  # taken, forgotten by Slurm, and its number is another job's now


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that is known about one submission, read in this order: the folder, then Slurm."""

    has_intent: bool
    has_receipt: bool
    folder_gone: bool = False  # never made, or removed: then only Slurm can tell
    in_flight: bool = False
    told_id: str | None = None  # what sbatch answered
    is_refused: bool = False  # sbatch said so, in words that leave no doubt
    queue_answered: bool = False
    jobs: tuple[JobSeen, ...] = ()  # all that the queue and the history showed
    claimed_id: str | None = None  # a job with this token has taken a link
    other_ids: frozenset[str] = frozenset()  # numbers of the run's other submissions
    since: float | None = None  # when the intent was written, by the site's clock


def decide(evidence: Evidence, *, run_id: str, token: str) -> tuple[Outcome, str | None]:
    """The outcome, and the job's number where there is one."""
    if not evidence.has_intent and not evidence.has_receipt and not evidence.folder_gone:
        return Outcome.NOT_SUBMITTED, None
    if evidence.in_flight and not evidence.has_receipt:
        return Outcome.IN_FLIGHT, None
    if evidence.is_refused:
        # Slurm keeps a job it refused for its nodes in queue and history: FAILED (BadConstraints), with our token.
        return Outcome.REFUSED, None
    found = _find_job(evidence, run_id=run_id, token=token)
    if found is not None:
        return Outcome.SUBMITTED, found
    if evidence.told_id is not None:
        # Killed within seconds of a submission, slurmctld forgets the job and gives its number to the next one.
        of_number = [job for job in evidence.jobs if job.base_id == evidence.told_id]
        is_lost = any(is_certainly_not_of(job, run_id=run_id, token=token) for job in of_number)
        return (Outcome.LOST if is_lost else Outcome.SUBMITTED), evidence.told_id
    return (Outcome.NOT_SUBMITTED if evidence.queue_answered else Outcome.UNCLEAR), None


def is_of(job: JobSeen, *, run_id: str, token: str) -> bool:
    """The token decides; where the comment is not kept, the name (the run's id) must do.

    Accounting keeps a comment only from the job's end on, and at many sites not at all.
    """
    return job.token == token if job.token else job.name == run_id


def is_certainly_not_of(job: JobSeen, *, run_id: str, token: str) -> bool:
    """A row without comment and name tells nothing either way."""
    return not is_of(job, run_id=run_id, token=token) and bool(job.token or job.name)


def pick_own_jobs(jobs: Iterable[JobSeen], *, run_id: str, token: str) -> tuple[JobSeen, ...]:
    return tuple(job for job in jobs if is_of(job, run_id=run_id, token=token))


def _find_job(evidence: Evidence, *, run_id: str, token: str) -> str | None:
    ours = pick_own_jobs(evidence.jobs, run_id=run_id, token=token)
    likely = [job for job in ours if job.token or _may_be_new(job, evidence)]
    ranked = sorted(likely, key=lambda job: (job.base_id == evidence.told_id, bool(job.token), job.submitted or 0))
    return ranked[-1].base_id if ranked else evidence.claimed_id


def _may_be_new(job: JobSeen, evidence: Evidence) -> bool:
    """Without a token only the name speaks, and all submissions of a run share it."""
    if job.base_id in evidence.other_ids:
        return False
    return job.submitted is None or evidence.since is None or job.submitted >= evidence.since - _CLOCKS_DIFFER_S
