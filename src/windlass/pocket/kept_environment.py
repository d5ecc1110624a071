"""The environment a job was submitted with, until it is over: a file of its own, for the user alone.

Not in the database: it may hold secrets, and a database keeps what was deleted from it in its log for a while.
"""

import json
import os
import sqlite3
from collections.abc import Mapping

from windlass.pocket.model import Job
from windlass.pocket.places import Places

_OF_ACTIVE = (
    "SELECT 1 FROM jobs WHERE (id = :id OR array_id = :id) AND state IN ('PENDING', 'RUNNING') AND id != :but LIMIT 1"
)


def save_environment(places: Places, job_id: int, environment: Mapping[str, str]) -> None:
    """On disk before the job is. An array's tasks share one. Call it inside the transaction that queues the job."""
    path = places.environment(job_id)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f".{path.name}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(json.dumps(dict(environment)).encode())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def load_environment(places: Places, job: Job) -> dict[str, str] | None:
    """None when it is gone."""
    try:
        found = json.loads(places.environment(job.array_id or job.id).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def forget_environment(db: sqlite3.Connection, places: Places, job: Job) -> None:
    """When this job ends now and no other task of its array is left. Call it inside the transaction that ends it."""
    _forget(db, places, job.array_id or job.id, but=job.id)


def forget_old_environments(db: sqlite3.Connection, places: Places) -> None:
    """Those of jobs that are over, however they ended. Call it inside a transaction: a new job's comes first."""
    try:
        names = os.listdir(places.environment(0).parent)  # noqa: PTH208  # names are all that is wanted
    except FileNotFoundError:
        return
    for name in names:
        digits = name.lstrip(".").removeprefix("job")
        if digits.isdecimal():
            _forget(db, places, int(digits), but=0)


def _forget(db: sqlite3.Connection, places: Places, job_id: int, *, but: int) -> None:
    if db.execute(_OF_ACTIVE, {"id": job_id, "but": but}).fetchone() is None:
        path = places.environment(job_id)
        path.unlink(missing_ok=True)
        path.with_name(f".{path.name}").unlink(missing_ok=True)
