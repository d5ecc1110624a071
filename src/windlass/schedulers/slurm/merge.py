"""One list of jobs from the two answers of Slurm's: the queue knows what lives, the history what became of it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from windlass.core.jobs import JobSeen, JobState


def merge_jobs(queue: Sequence[JobSeen], history: Iterable[JobSeen]) -> tuple[JobSeen, ...]:
    """Each job once. What the queue shows wins; the history adds exit codes and what the queue has forgotten."""
    merged = list(queue)
    places = {job.job_id: place for place, job in enumerate(merged)}
    waiting_arrays = {job.array_id for job in queue if job.array_id and job.task is None}
    for old in history:
        place = places.get(old.job_id)
        if place is not None and _is_same(merged[place], old):
            merged[place] = _complete(merged[place], old)
        elif not (_is_waiting_array(old) and old.array_id in waiting_arrays):
            merged.append(_doubt_if_live(old))
    return tuple(merged)


def _is_same(seen: JobSeen, old: JobSeen) -> bool:
    """A number is given out again when Slurm's controller lost its memory: then token or name differ."""
    if seen.token and old.token:
        return seen.token == old.token
    return seen.name is None or old.name is None or seen.name == old.name


def _complete(seen: JobSeen, old: JobSeen) -> JobSeen:
    seen = replace(seen, restarts=max(seen.restarts, old.restarts), past=seen.past or _tell_past(seen, old))
    if not (seen.state.is_final and old.state.is_final):
        return seen
    return replace(
        seen,
        cancelled_by=old.cancelled_by if seen.cancelled_by is None else seen.cancelled_by,
        exit_code=old.exit_code if seen.exit_code is None else seen.exit_code,
        signal=old.signal if seen.signal is None else seen.signal,
        ended=seen.ended or old.ended,
        nodes=seen.nodes or old.nodes,
    )


def _tell_past(seen: JobSeen, old: JobSeen) -> tuple[JobState, ...]:
    """A job that waits to be started again: the history's newest row may still be the life that ended."""
    ended_early = old.state in (JobState.REQUEUED, JobState.PREEMPTED, JobState.NODE_FAILED)
    return (*old.past, old.state) if ended_early and not seen.state.is_final else old.past


def _is_waiting_array(job: JobSeen) -> bool:
    # The history's row of an array still names tasks that the queue has started meanwhile.
    return job.array_id is not None and job.task is None and job.state is JobState.WAITING


def _doubt_if_live(old: JobSeen) -> JobSeen:
    """Records of jobs that "run" stay in the database when a controller crashes, or for a moment after the end."""
    return replace(old, state=JobState.UNKNOWN) if old.state.is_live else old
