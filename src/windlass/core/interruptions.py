"""What ended a job before its time, in words: a lost node, a preemption, the clock, you, or an operator."""

from collections.abc import Sequence
from math import inf

from windlass.core.jobs import JobSeen, JobState
from windlass.core.record import Submission

CANCELLED = "cancelled"
_ROOT = 0


def tell_cancelling(job: JobSeen, uid: int | None, *, by_windlass: bool) -> str:
    """Who cancelled it, as far as accounting says; uid: the number of the job's owner, where it is known."""
    who = job.cancelled_by
    if by_windlass or who is None:
        return CANCELLED
    if who == uid:
        return f"{CANCELLED} by you, with scancel"
    if who == _ROOT or uid is not None:
        return f"{CANCELLED} by an operator of the site (user number {who})"
    return f"{CANCELLED} by user number {who}"


def find_interruption(jobs: Sequence[tuple[Submission, JobSeen]], uid: int | None) -> str | None:
    """The last link that ended before its time while the chain went on: "link 2: preempted"."""
    ends = [(link, words) for submission, job in jobs for link, words in _list_ends(submission, job, uid)]
    link, words = max(ends, default=(0, ""))
    return f"link {link}: {words}" if words else None


def order(pair: tuple[Submission, JobSeen]) -> tuple[int, float, float]:
    """Links run one after another; the rest of an array that never started (`45_[3-5%1]`) has no task number."""
    submission, job = pair
    never_started = job.array_id is not None and job.task is None
    return submission.first_link, inf if never_started else job.task or 0, job.started or 0


def _list_ends(submission: Submission, job: JobSeen, uid: int | None) -> list[tuple[int, str]]:
    is_queued_again = submission.links > 1 and job.array_id is None  # then every start is a link
    first = submission.first_link + ((job.task or 1) - 1)
    ends = []
    for place, state in enumerate(job.past):
        # Where every start is a link, the agent itself puts the job back at the end of each.
        if not (is_queued_again and state is JobState.REQUEUED):
            ends.append((first + (place if is_queued_again else 0), state.value))
    if job.state.is_final and job.state is not JobState.DONE and job.started is not None:
        words = tell_cancelling(job, uid, by_windlass=False) if job.state is JobState.CANCELLED else job.state.value
        ends.append((first + (len(job.past) if is_queued_again else 0), words))
    return ends
