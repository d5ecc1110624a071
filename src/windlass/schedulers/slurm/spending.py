"""What this user's jobs have used since a moment, by sacct, and what those in the queue may still use, by squeue.

sacct (22.05) shows neither jobs that wait nor, before their end, the comment by which runs are known.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from windlass.core.jobs import JobState
from windlass.core.names import read_token
from windlass.core.size import Size
from windlass.core.spending.jobs import JobSpent
from windlass.schedulers.slurm.fields import (
    SEPARATOR,
    Fields,
    make_fields,
    read_count,
    read_rows,
    read_seconds,
    read_text,
    read_time,
)
from windlass.schedulers.slurm.job_ids import count_tasks, is_job_id
from windlass.schedulers.slurm.tres import read_tres
from windlass.schedulers.slurm.words import read_state

SPENT_FIELDS = make_fields(
    id="JobID",
    state="State",
    user="User",
    account="Account",
    start="Start",
    end="End",
    elapsed_s="ElapsedRaw",
    limit_minutes="TimelimitRaw",
    nodes="NNodes",
    cpus="NCPUS",
    given="AllocTRES",
    asked="ReqTRES",
    comment="Comment",
    name="JobName",  # last: it may hold any character
)
QUEUED_FIELDS = make_fields(
    id="JobArrayID",
    state="State",
    user="UserName",
    account="Account",
    start="StartTime",
    elapsed="TimeUsed",
    limit="TimeLimit",
    nodes="NumNodes",
    cpus="NumCPUs",
    given="tres-alloc",
    comment="Comment",
    name="Name",  # last: it may hold any character
)
_MARGIN = timedelta(days=1)  # sacct reads a time in the site's zone, and clocks differ


def make_spent_command(since: float, fields: Fields = SPENT_FIELDS) -> list[str]:
    """-D: earlier lives of jobs that were queued again have used hours too."""
    moment = datetime.fromtimestamp(max(since, 0), UTC) - _MARGIN
    asked = ",".join(field.asked for field in fields)
    start = f"--starttime={moment:%Y-%m-%dT%H:%M:%S}"
    return ["sacct", "-X", "-n", "-P", "-D", f"--delimiter={SEPARATOR}", f"--format={asked}", start]


def read_spent(text: str, fields: Fields = SPENT_FIELDS, *, runs: Collection[str] = ()) -> tuple[JobSpent, ...]:
    """runs: ids of runs that are known, for sites that keep no comments: there the name tells."""
    rows = (row for row in read_rows(text, fields) if is_job_id(row.get("id", "")))
    return tuple(_read_job(row, runs) for row in rows)


def make_queued_command(fields: Fields = QUEUED_FIELDS) -> list[str]:
    """By words, since no letter tells the GPUs of a job; behind each column our separator, so that none is cut."""
    return ["squeue", "--me", "--noheader", "--Format=" + ",".join(f"{field.asked}:{SEPARATOR}" for field in fields)]


def read_queued(text: str, fields: Fields = QUEUED_FIELDS, *, runs: Collection[str] = ()) -> tuple[JobSpent, ...]:
    rows = (row for row in read_rows(text, fields) if is_job_id(row.get("id", "")))
    return tuple(_read_queued(row, runs) for row in rows)


def _read_queued(row: Mapping[str, str], runs: Collection[str]) -> JobSpent:
    state, limit = read_state(row.get("state", "")), read_seconds(row.get("limit"))
    is_waiting = state is JobState.WAITING
    return JobSpent(
        job_id=row["id"],
        run_id=_find_run(row, runs),
        user=read_text(row.get("user")),
        account=read_text(row.get("account")),
        state=state,
        started=None if is_waiting else read_time(row.get("start")),
        elapsed_s=0.0 if is_waiting else float(read_seconds(row.get("elapsed")) or 0),
        limit_s=None if limit is None else float(limit),
        size=_read_size(row),
        tasks=count_tasks(row["id"]) if is_waiting else 1,
    )


def _read_job(row: Mapping[str, str], runs: Collection[str]) -> JobSpent:
    state, minutes = read_state(row.get("state", "")), read_count(row.get("limit_minutes"))
    return JobSpent(
        job_id=row["id"],
        run_id=_find_run(row, runs),
        user=read_text(row.get("user")),
        account=read_text(row.get("account")),
        state=state,
        started=read_time(row.get("start")) if state is not JobState.WAITING else None,
        ended=read_time(row.get("end")),
        elapsed_s=float(read_count(row.get("elapsed_s")) or 0),
        limit_s=None if minutes is None else minutes * 60.0,
        size=_read_size(row),
        tasks=count_tasks(row["id"]) if state is JobState.WAITING else 1,
    )


def _find_run(row: Mapping[str, str], runs: Collection[str]) -> str | None:
    token = read_token(row.get("comment"))
    if token:
        return token.split(":")[1]
    name = row.get("name", "")
    return name if name in runs else None


def _read_size(row: Mapping[str, str]) -> Size:
    """What it was given; of a job that waits, what it asks for."""
    tres = read_tres(row.get("given")) or read_tres(row.get("asked"))
    typed = sum(count for name, count in tres.items() if name.startswith("gres/gpu:"))
    return Size(
        nodes=tres.get("node") or read_count(row.get("nodes")) or 0,
        cores=tres.get("cpu") or read_count(row.get("cpus")) or 0,
        gpus=tres.get("gres/gpu", typed),
        billing=float(tres.get("billing", 0)),
    )
