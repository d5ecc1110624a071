"""sacct: what became of jobs, also of those that the queue has forgotten."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from windlass.core.jobs import JobSeen, JobState
from windlass.schedulers.answers import AccountingUnavailable
from windlass.schedulers.slurm.fields import (
    SEPARATOR,
    Fields,
    make_fields,
    read_count,
    read_rows,
    read_time,
)
from windlass.schedulers.slurm.job_ids import is_job_id, pick_valid_ids
from windlass.schedulers.slurm.job_rows import read_job_row
from windlass.schedulers.slurm.refusals import keep_lines

HISTORY_FIELDS = make_fields(
    id="JobID",
    raw_id="JobIDRaw",
    state="State",
    exit="ExitCode",
    submitted="Submit",
    start="Start",
    end="End",
    elapsed_s="ElapsedRaw",
    limit_minutes="TimelimitRaw",
    nodes="NodeList",
    node_count="NNodes",
    partition="Partition",
    reason="Reason",
    comment="Comment",
    name="JobName",  # last: it may hold any character
)
_SINCE_MARGIN = timedelta(days=1)  # sacct reads a time in the site's zone, and clocks differ
_LASTING = ("accounting storage is disabled", "not running a supported accounting_storage")
_PASSING = (
    "problem talking to the database",
    "connection refused",
    "slurm_persist_conn_open",
    "sending persistinit",
    "connection timed out",
    "unable to contact slurmdbd",
    "unable to establish",
)


def make_history_command(job_ids: Iterable[str], fields: Fields = HISTORY_FIELDS) -> list[str]:
    """-D: earlier lives of requeued jobs too, and jobs of the same number from before Slurm began anew."""
    return [*_make_start(fields), "--jobs=" + ",".join(pick_valid_ids(job_ids))]


def make_history_by_name_command(name: str, since: float, fields: Fields = HISTORY_FIELDS) -> list[str]:
    """The comment cannot be searched for, so the name is: it is the run's id. Without -S sacct begins at midnight."""
    moment = datetime.fromtimestamp(max(since, 0), UTC) - _SINCE_MARGIN
    return [*_make_start(fields), f"--name={name}", f"--starttime={moment:%Y-%m-%dT%H:%M:%S}"]


def read_history(text: str, fields: Fields = HISTORY_FIELDS) -> list[JobSeen]:
    """One entry a job: of a requeued one the last life, with the earlier ones counted as restarts."""
    rows = [_read_job(row) for row in read_rows(text, fields) if is_job_id(row.get("id", "")) and _is_whole(row)]
    lives: dict[tuple[str, str | None, str | None], list[JobSeen]] = {}
    for job in sorted(rows, key=lambda job: job.submitted or 0):
        lives.setdefault((job.job_id, job.raw_id, job.name), []).append(job)
    return [job for group in lives.values() for job in _fold_lives(group)]


def read_accounting_problem(out: str, err: str, exit_code: int) -> AccountingUnavailable | None:
    """None when sacct (or sacctmgr) answered."""
    said = keep_lines(err or out)
    words = said.lower()
    if exit_code == 0 and not any(text in words for text in _LASTING):
        return None
    if exit_code == 127:
        return AccountingUnavailable(cause="sacct is not installed there", said=said, is_lasting=True)
    if any(text in words for text in _LASTING):
        return AccountingUnavailable(cause="this Slurm keeps no accounting", said=said, is_lasting=True)
    if any(text in words for text in _PASSING):
        return AccountingUnavailable(cause="Slurm's accounting database does not answer", said=said)
    return AccountingUnavailable(cause=f"sacct failed (exit code {exit_code})", said=said)


def _make_start(fields: Fields) -> list[str]:
    asked = ",".join(field.asked for field in fields)
    return ["sacct", "-X", "-n", "-P", "-D", f"--delimiter={SEPARATOR}", f"--format={asked}"]


def _is_whole(row: Mapping[str, str]) -> bool:
    # For a moment after a start slurmdbd shows a record of which only half has come: PENDING, with start time and
    # node, no partition, and the job's name is "allocation" (22.05).
    return not (row.get("name") == "allocation" and not row.get("partition") and not row.get("comment"))


def _fold_lives(group: Sequence[JobSeen]) -> list[JobSeen]:
    """A number given out twice shows two tokens: two jobs. Lives without a token belong to the one after them."""
    folded: list[JobSeen] = []
    for job in group:
        last = folded[-1] if folded else None
        if last is not None and _is_earlier_life(last, job):
            past = (*last.past, last.state)
            folded[-1] = replace(job, token=job.token or last.token, restarts=last.restarts + 1, past=past)
        else:
            folded.append(job)
    return folded


def _is_earlier_life(earlier: JobSeen, later: JobSeen) -> bool:
    ended_early = earlier.state in (JobState.REQUEUED, JobState.PREEMPTED, JobState.NODE_FAILED)
    return ended_early and (not earlier.token or not later.token or earlier.token == later.token)


def _read_job(row: Mapping[str, str]) -> JobSeen:
    job = read_job_row(row)
    exit_code, signal = read_exit(row.get("exit")) if job.state.is_final else (None, None)
    minutes = read_count(row.get("limit_minutes"))
    return replace(
        job,
        started=read_time(row.get("start")),
        ended=read_time(row.get("end")),
        elapsed_s=read_count(row.get("elapsed_s")),
        limit_s=None if minutes is None else minutes * 60,
        exit_code=exit_code,
        signal=signal,
    )


def read_exit(word: str | None) -> tuple[int | None, int | None]:
    """`3:0` is exit code 3, `0:9` signal 9."""
    code, _, signal = (word or "").partition(":")
    return read_count(code), read_count(signal) or None
