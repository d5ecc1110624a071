"""What squeue and sacct tell alike of a job: the columns that both have, by our names."""

from collections.abc import Mapping

from windlass.core.jobs import JobSeen
from windlass.core.names import read_token
from windlass.schedulers.slurm.fields import read_count, read_text, read_time
from windlass.schedulers.slurm.job_ids import read_array_id, read_task
from windlass.schedulers.slurm.words import read_canceller, read_state


def read_job_row(row: Mapping[str, str]) -> JobSeen:
    """Start, end and limit are told differently: those are the caller's."""
    job_id, word = row["id"], row.get("state", "")
    return JobSeen(
        job_id=job_id,
        raw_id=read_text(row.get("raw_id")),
        array_id=read_array_id(job_id),
        task=read_task(job_id),
        state=read_state(word),
        word=word,
        reason=read_text(row.get("reason")),
        token=read_token(row.get("comment")),
        name=row.get("name"),
        submitted=read_time(row.get("submitted")),
        nodes=read_text(row.get("nodes")),
        node_count=read_count(row.get("node_count")),
        partition=read_text(row.get("partition")),
        cancelled_by=read_canceller(word),
    )
