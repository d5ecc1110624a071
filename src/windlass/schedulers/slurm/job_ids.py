"""Job numbers as Slurm writes them."""

import re
from collections.abc import Iterable

# `45`, `45_1`, `45_[2-5,7%1]`, `58+0`; with `.batch` or `.0` behind it, it is a step.
_JOB_ID = re.compile(r"(?P<base>\d+)(?:_(?:(?P<task>\d+)|\[(?P<tasks>[^\]]*)\]?)|\+(?P<part>\d+))?", re.ASCII)


def is_job_id(text: str) -> bool:
    return _JOB_ID.fullmatch(text) is not None


def read_base_id(text: str) -> str | None:
    """The number that sbatch answered: `45` of `45_1`, `58` of `58+1`."""
    match = _JOB_ID.fullmatch(text)
    return match["base"] if match else None


def read_array_id(text: str) -> str | None:
    """The array's number when this is an array or a task of one."""
    match = _JOB_ID.fullmatch(text)
    return match["base"] if match and (match["task"] or match["tasks"] is not None) else None


def read_task(text: str) -> int | None:
    match = _JOB_ID.fullmatch(text)
    return int(match["task"][:12]) if match and match["task"] else None


def count_tasks(job_id: str) -> int:
    """How many tasks a row stands for: 4 for `45_[2-5%1]`, 1 for anything else. Slurm cuts long lists at `...`."""
    match = _JOB_ID.fullmatch(job_id)
    if not match or match["tasks"] is None:
        return 1
    parts = match["tasks"].split("%")[0].split(",")
    return max(1, sum(_count_range(part) for part in parts))


def pick_valid_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """Base numbers, each once: what may stand after `-j`."""
    return tuple(dict.fromkeys(base for base in map(read_base_id, ids) if base is not None))


def _count_range(part: str) -> int:
    match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part, re.ASCII)
    if not match:
        return 0
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    return max(0, (last - first) // max(step, 1) + 1)
