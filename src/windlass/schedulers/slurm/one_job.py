"""scontrol show job: the fallback where the site has no accounting, for exit code and restarts."""

import re

from windlass.core.jobs import JobSeen, JobState
from windlass.core.names import read_token
from windlass.schedulers.slurm.fields import read_count, read_pairs, read_seconds, read_text, read_time
from windlass.schedulers.slurm.history import read_exit
from windlass.schedulers.slurm.words import read_state

_HEAD = re.compile(r"JobId=(?P<raw>\d+) (?P<ids>[^\n]*?)JobName=", re.ASCII)
# Name and comment are free text: what lies between them and the next word of Slurm's own is theirs.
_NAME = re.compile(r"JobName=(?P<name>.*?)(?: HetJobIdSet=\S+)? UserId=\S+\(\d+\) GroupId=(?P<rest>.*)", re.DOTALL)
_COMMENT = re.compile(
    r" (?:Admin|System)?Comment=(?P<comment>.*?)  ?(?:StdErr|StdIn|StdOut|Power|TresPerNode)=", re.DOTALL
)


def make_job_command(job_id: str) -> list[str]:
    return ["scontrol", "--oneliner", "show", "job", job_id]


def read_jobs(text: str) -> list[JobSeen]:
    """All records of the answer: `scontrol show job 45` shows every task of an array. Unknown jobs: none."""
    starts = [match.start() for match in re.finditer(r"^JobId=\d+ ", text, re.MULTILINE | re.ASCII)]
    parts = [text[begin:end] for begin, end in zip(starts, [*starts, len(text)][1:], strict=True)]
    return [job for job in map(_read_job, parts) if job is not None]


def _read_job(record: str) -> JobSeen | None:
    head, body = _HEAD.match(record), _NAME.search(record)
    if head is None or body is None:
        return None
    ids, values = read_pairs(head["ids"]), read_pairs(body["rest"])
    state = read_state(values.get("JobState", ""))
    is_waiting = state is JobState.WAITING
    start, nodes = read_time(values.get("StartTime")), read_text(values.get("NodeList"))
    exit_code, signal = read_exit(values.get("ExitCode")) if state.is_final else (None, None)
    comment = _COMMENT.search(body["rest"])
    task = ids.get("ArrayTaskId")
    return JobSeen(
        job_id=_make_job_id(head["raw"], ids),
        raw_id=head["raw"],
        array_id=ids.get("ArrayJobId"),
        task=int(task[:12]) if task and task.isascii() and task.isdecimal() else None,
        state=state,
        word=values.get("JobState", ""),
        reason=read_text(values.get("Reason")),
        token=read_token(comment["comment"] if comment else None),
        name=body["name"],
        submitted=read_time(values.get("SubmitTime")),
        started=None if is_waiting or (state.is_final and nodes is None) else start,
        ended=read_time(values.get("EndTime")) if state.is_final else None,
        expected_start=start if is_waiting else None,
        elapsed_s=read_seconds(values.get("RunTime")),
        limit_s=read_seconds(values.get("TimeLimit")),
        nodes=nodes,
        node_count=read_count(values.get("NumNodes")),
        exit_code=exit_code,
        signal=signal,
        restarts=read_count(values.get("Restarts")) or 0,
        partition=read_text(values.get("Partition")),
    )


def _make_job_id(raw: str, ids: dict[str, str]) -> str:
    """As squeue writes it."""
    if "HetJobId" in ids:
        return f"{ids['HetJobId']}+{ids.get('HetJobOffset', '0')}"
    task = ids.get("ArrayTaskId")
    if task is None or "ArrayJobId" not in ids:
        return raw
    return f"{ids['ArrayJobId']}_{task}" if task.isdecimal() else f"{ids['ArrayJobId']}_[{task}]"
