"""squeue: all my jobs in one query, those that ended a moment ago too."""

from collections.abc import Mapping
from dataclasses import replace

from windlass.core.jobs import JobSeen, JobState
from windlass.schedulers.slurm.fields import (
    SEPARATOR,
    Fields,
    make_fields,
    read_rows,
    read_seconds,
    read_time,
)
from windlass.schedulers.slurm.job_ids import is_job_id
from windlass.schedulers.slurm.job_rows import read_job_row

QUEUE_FIELDS = make_fields(
    id="%i",
    raw_id="%A",
    state="%T",
    reason="%r",
    submitted="%V",
    start="%S",
    end="%e",
    elapsed="%M",
    limit="%l",
    nodes="%N",
    node_count="%D",
    partition="%P",
    comment="%k",
    name="%j",  # last: it may hold any character
)


def make_queue_command(fields: Fields = QUEUE_FIELDS) -> list[str]:
    """Without -r: a waiting array stays one row (`45_[2-5%1]`), where -r makes 5000 rows of 5000 tasks.

    `-t all` adds the jobs that ended within MinJobAge (300 s by default).
    """
    return ["squeue", "--me", "--noheader", "--states=all", "--format=" + SEPARATOR.join(f.asked for f in fields)]


def read_queue(text: str, fields: Fields = QUEUE_FIELDS) -> list[JobSeen]:
    return [_read_job(row) for row in read_rows(text, fields) if is_job_id(row.get("id", ""))]


def _read_job(row: Mapping[str, str]) -> JobSeen:
    job = read_job_row(row)
    is_waiting, start = job.state is JobState.WAITING, read_time(row.get("start"))
    return replace(
        job,
        # A job cancelled in the queue shows the time of its end as its start.
        started=None if is_waiting or (job.state.is_final and job.nodes is None) else start,
        ended=read_time(row.get("end")) if job.state.is_final else None,  # of a live job it is the time limit
        expected_start=start if is_waiting else None,
        elapsed_s=read_seconds(row.get("elapsed")),
        limit_s=read_seconds(row.get("limit")),
    )
