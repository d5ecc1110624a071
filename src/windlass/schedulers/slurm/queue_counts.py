"""squeue: how many jobs of mine count against the limits of each account and QOS."""

from collections import Counter
from dataclasses import dataclass, field

from windlass.schedulers.slurm.fields import SEPARATOR, make_fields, read_rows
from windlass.schedulers.slurm.job_ids import count_tasks, is_job_id
from windlass.schedulers.slurm.words import read_state

COUNT_FIELDS = make_fields(id="%i", state="%T", qos="%q", account="%a")


@dataclass(frozen=True, kw_only=True)
class Counts:
    """As Slurm counts for its limits: every task of an array is a job."""

    all: int = 0
    by_account: Counter[str] = field(default_factory=Counter)
    by_qos: Counter[str] = field(default_factory=Counter)


def make_count_command() -> list[str]:
    return ["squeue", "--me", "--noheader", "--format=" + SEPARATOR.join(one.asked for one in COUNT_FIELDS)]


def read_counts(text: str) -> Counts:
    rows = [row for row in read_rows(text, COUNT_FIELDS) if is_job_id(row.get("id", ""))]
    live = [(row, count_tasks(row["id"])) for row in rows if read_state(row.get("state", "")).is_live]
    by_account, by_qos = Counter[str](), Counter[str]()
    for row, tasks in live:
        by_account[row.get("account", "")] += tasks
        by_qos[row.get("qos", "")] += tasks
    return Counts(all=sum(tasks for _, tasks in live), by_account=by_account, by_qos=by_qos)
