"""Where a run stands: the record, what Slurm says and the agent's last word, judged together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windlass.core.expected_end import with_progress, without_outlook
from windlass.core.interruptions import CANCELLED, find_interruption, order, tell_cancelling
from windlass.core.jobs import JobSeen, JobState
from windlass.core.record import RunRecord, RunState, Submission
from windlass.core.successors import adopt_successors
from windlass_job import wire

_LAST_WORDS = {
    wire.DONE: RunState.DONE,
    wire.FAILED: RunState.FAILED,
    wire.SPENT: RunState.OUT_OF_BUDGET,
}
_STOPPED = (RunState.CANCELLED, RunState.OUT_OF_TIME)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one look at the site told about one run."""

    jobs: Sequence[JobSeen] = ()  # all the site showed; those of other runs are passed over
    status: Mapping[str, Any] | None = None  # status.json of the run folder
    folder_gone: bool = False
    stop: int | None = None  # somebody cancelled submissions up to this number; 0: all of them
    history_known: bool = True  # False: accounting does not answer just now, so absence proves nothing
    uid: int | None = None  # the user's number at the site


def judge(record: RunRecord, seen: Seen, now: float) -> RunRecord:
    """The record brought up to date. Never a guess: a run nobody knows is lost, not failed."""
    if record.job_id is None:
        return record
    adopted = adopt_successors(record, seen.status)
    if adopted is not record:  # Slurm was not asked for its job yet: the next look will
        word = seen.status if seen.status is not None and _is_of_chain(adopted, seen.status) else None
        adopted = _with_status(replace(adopted, updated=now), word, now)
        return _judge_last_word(adopted, word) or adopted
    pairs = sorted(_pick_own(record, seen.jobs), key=order)
    if seen.status is not None and not _is_of_chain(record, seen.status):
        seen = replace(seen, status=None)  # after a resume, the old word stands until the first new link starts
    record = _with_status(replace(record, updated=now), seen.status, now)
    return without_outlook(_with_budget(_judge(record, pairs, seen)))


def _with_budget(record: RunRecord) -> RunRecord:
    """One that was stopped from the laptop, because a limit of the user's is used up, says so."""
    if record.over_budget is None or record.state not in _STOPPED:
        return record
    return replace(record, state=RunState.OUT_OF_BUDGET, reason=record.over_budget)


def _judge(record: RunRecord, pairs: Sequence[tuple[Submission, JobSeen]], seen: Seen) -> RunRecord:
    """pairs: the jobs of the run, each with its submission, in the order of their links."""
    ended = _judge_last_word(record, seen.status)
    if ended is not None:
        return ended
    jobs = [job for _, job in pairs]
    live = [job for job in jobs if not job.state.is_final]
    if live:
        interrupted = find_interruption(pairs, seen.uid) or record.interrupted
        return replace(_judge_live(record, live), interrupted=interrupted)
    return _judge_over(record, _find_last(jobs), seen)


def _find_last(jobs: Sequence[JobSeen]) -> JobSeen | None:
    """The last link's. Accounting tells who cancelled it a moment later than who cancelled the others."""
    if not jobs or jobs[-1].state is not JobState.CANCELLED or jobs[-1].cancelled_by is not None:
        return jobs[-1] if jobs else None
    told = (job.cancelled_by for job in jobs if job.state is JobState.CANCELLED and job.cancelled_by is not None)
    return replace(jobs[-1], cancelled_by=next(told, None))


def _pick_own(record: RunRecord, jobs: Sequence[JobSeen]) -> list[tuple[Submission, JobSeen]]:
    return [(one, job) for job in jobs for one in record.chain if belongs(job, record, one)]


def belongs(job: JobSeen, record: RunRecord, submission: Submission) -> bool:
    """The token decides; where accounting keeps no comments, the number and the name together."""
    if job.token:
        return job.token == submission.token
    return job.base_id == submission.job_id and job.name == record.run_id


def _with_status(record: RunRecord, status: Mapping[str, Any] | None, now: float) -> RunRecord:
    if status is None:
        return record
    told = replace(
        record,
        link=record.link if _is_unused(status) else _number(status.get("link"), record.link),
        started=record.started or _seconds(status.get("started")),
        exit_code=_read_exit_code(status),
        modules=_read_modules(status) or record.modules,
        spent_s=_seconds(status.get("spent_s")) or record.spent_s,
        link_started=_seconds(status.get("started")) or record.link_started,
        saved=_seconds(status.get("saved")),
    )
    return with_progress(told, status, now)


def _is_unused(status: Mapping[str, Any]) -> bool:
    """It was skipped, or its command never started (nodes could not talk, no hours left): it is still to be done."""
    is_spent = status.get("state") == wire.SPENT and not status.get("tries")
    return is_spent or status.get("state") == wire.SKIPPED or status.get("exit_code") == wire.EXIT_NETWORK


def _read_exit_code(status: Mapping[str, Any]) -> int | None:
    """As the agent left: of a command that a signal ended, 128 more than its number."""
    signal = _number(status.get("signal"), None)
    return _number(status.get("exit_code"), None) if signal is None else 128 + signal


def _read_modules(status: Mapping[str, Any]) -> tuple[str, ...]:
    told = status.get("modules")
    return tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else ()


def _judge_last_word(record: RunRecord, status: Mapping[str, Any] | None) -> RunRecord | None:
    """`done`, `failed` and `spent` of the agent's are final: later links leave by themselves."""
    state = _LAST_WORDS.get(str((status or {}).get("state")))
    if state is None or status is None:
        return None
    ended = replace(record, state=state, ended=_seconds(status.get("ended")), reason=None, expected_start=None)
    if state is RunState.DONE:
        return ended
    told = status.get("reason")
    if isinstance(told, str) and told:
        return replace(ended, reason=told)
    signal = _number(status.get("signal"), None)
    how = f"was killed by signal {signal}" if signal else f"ended with exit code {record.exit_code}"
    return replace(ended, reason=f"the command {how}")


def _is_of_chain(record: RunRecord, status: Mapping[str, Any]) -> bool:
    """After a resume, the old status stands until the first new link starts."""
    number, link = _number(status.get("submission"), None), _number(status.get("link"), None)
    if number is not None:
        return any(number == one.number for one in record.chain)
    return link is None or link >= record.chain[0].first_link


def _judge_live(record: RunRecord, live: list[JobSeen]) -> RunRecord:
    running = next((job for job in live if job.state not in (JobState.WAITING, JobState.REQUEUED)), None)
    if running is not None:
        unknown = running.state is JobState.UNKNOWN
        return replace(
            record,
            state=RunState.RUNNING,
            reason=running.word if unknown else None,
            nodes=running.nodes,
            started=record.started or running.started,
            expected_start=None,
        )
    first = live[0]
    return replace(record, state=RunState.WAITING, reason=first.reason, nodes=None, expected_start=first.expected_start)


def _judge_over(record: RunRecord, last: JobSeen | None, seen: Seen) -> RunRecord:
    ended = last.ended if last else None
    record = replace(record, ended=ended, expected_start=None, nodes=last.nodes if last else record.nodes)
    if last is None:
        return _judge_unknown(record, seen)
    status = seen.status or {}
    was_cut = status.get("state") == wire.CUT or (status.get("state") == wire.RUNNING and status.get("stop_requested"))
    match last.state:
        case JobState.CANCELLED:
            words = tell_cancelling(last, seen.uid, by_windlass=_was_stopped(record, seen))
            return replace(record, state=RunState.CANCELLED, reason=words)
        case JobState.DONE if status.get("state") == wire.SKIPPED and status.get("reason") == wire.NO_LINK_LEFT:
            return replace(record, state=RunState.OUT_OF_TIME, reason=_tell_time_used(record))
        case JobState.TIMED_OUT:
            return replace(record, state=RunState.OUT_OF_TIME, reason="killed at the end of its time")
        case JobState.DONE if status.get("state") == wire.SKIPPED:
            return replace(record, state=RunState.CANCELLED, reason=CANCELLED)
        case JobState.DONE if _left_unasked(status) and _was_stopped(record, seen):
            # It had just started when it was cancelled, saw the marker, and left with 0 before the signal came.
            return replace(record, state=RunState.CANCELLED, reason=CANCELLED)
        case JobState.DONE if was_cut:
            return replace(record, state=RunState.OUT_OF_TIME, reason=_tell_time_used(record))
        case JobState.DONE:
            # No verdict of the agent's: it could not write, or there was no Python to run it.
            reason = "by Slurm's word alone: the run left no last word"
            return replace(record, state=RunState.DONE, reason=reason, exit_code=0)
        case _:
            return replace(record, state=RunState.FAILED, reason=last.state.value, exit_code=_find_code(record, last))


def _left_unasked(status: Mapping[str, Any]) -> bool:
    """Without a last word, or unfinished though nobody had asked it to stop, as a budget does."""
    return not status or (status.get("state") == wire.CUT and not status.get("stop_requested"))


def _tell_time_used(record: RunRecord) -> str:
    used = "all links are used" if record.links > 1 else "its time is used up"
    return f"{used}; it was not finished"


def _find_code(record: RunRecord, last: JobSeen) -> int | None:
    """The command's own, else Slurm's; 0 is no exit code of something that failed."""
    by_signal = 128 + last.signal if last.signal else None
    return record.exit_code or last.exit_code or by_signal


def _was_stopped(record: RunRecord, seen: Seen) -> bool:
    return seen.stop is not None and (seen.stop == 0 or seen.stop >= record.submissions[-1].number)


def _judge_unknown(record: RunRecord, seen: Seen) -> RunRecord:
    """Nobody in Slurm knows the job."""
    state = (seen.status or {}).get("state")
    if state == wire.CUT and record.link is not None and record.link >= record.links:
        return replace(record, state=RunState.OUT_OF_TIME, reason=_tell_time_used(record))
    if seen.folder_gone:
        return replace(record, state=RunState.LOST, reason="its folder at the site is gone")
    if state == wire.TERMINATED:
        return replace(record, state=RunState.CANCELLED, reason="it was told to stop: cancelled or preempted")
    if not seen.history_known:
        return replace(record, reason="it left the queue without a last word, and accounting does not answer")
    return replace(record, state=RunState.LOST, reason=f"Slurm has no record of job {record.job_id}")


def _number(value: object, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
