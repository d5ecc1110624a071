"""Jobs, steps and orders in the database."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any

from windlass.pocket.model import Job, Kind, Order, OrderKind, Request, Share, State, Step

_JOB_COLUMNS = tuple(field.name for field in fields(Job))
_REQUEST_FIELDS = frozenset(field.name for field in fields(Request))
_STEP_COLUMNS = tuple(field.name for field in fields(Step))


def take_ids(db: sqlite3.Connection, count: int) -> int:
    """The first of `count` new ids. Call it inside a transaction."""
    (highest,) = db.execute("SELECT value FROM meta WHERE key = 'highest_id'").fetchone()
    db.execute("UPDATE meta SET value = ? WHERE key = 'highest_id'", (highest + count,))
    return int(highest) + 1


def insert_job(db: sqlite3.Connection, job: Job) -> None:
    marks = ",".join("?" * len(_JOB_COLUMNS))
    db.execute(f"INSERT INTO jobs ({','.join(_JOB_COLUMNS)}) VALUES ({marks})", _to_row(job))


def insert_script(db: sqlite3.Connection, job_id: int, script: bytes) -> None:
    # Its environment is not kept here: see kept_environment.py.
    db.execute("INSERT INTO scripts VALUES (?, ?, x'')", (job_id, script))


def fetch_script(db: sqlite3.Connection, job: Job) -> bytes | None:
    row = db.execute("SELECT script FROM scripts WHERE id = ?", (job.array_id or job.id,)).fetchone()
    return None if row is None else bytes(row[0])


def fetch_job(db: sqlite3.Connection, job_id: int) -> Job | None:
    return next(iter(fetch_jobs(db, "id = ?", (job_id,))), None)


def fetch_jobs(db: sqlite3.Connection, where: str = "1", values: Sequence[object] = ()) -> list[Job]:
    rows = db.execute(f"SELECT {','.join(_JOB_COLUMNS)} FROM jobs WHERE {where} ORDER BY id", tuple(values))
    return [_to_job(row) for row in rows]


def fetch_active(db: sqlite3.Connection) -> list[Job]:
    return fetch_jobs(db, "state IN ('PENDING', 'RUNNING')")


def count_starts(db: sqlite3.Connection) -> int:
    """How often any job was started so far; a requeued one counts once more."""
    (now,) = db.execute("SELECT count(*) FROM jobs WHERE start_at IS NOT NULL").fetchone()
    (before,) = db.execute("SELECT count(*) FROM history").fetchone()
    return int(now) + int(before)


def fetch_named(db: sqlite3.Connection, ids: Iterable[int]) -> list[Job]:
    """Jobs by id or by the id of their array."""
    listed = ",".join(str(int(job_id)) for job_id in ids)
    return fetch_jobs(db, f"id IN ({listed}) OR array_id IN ({listed})") if listed else []


def update_job(db: sqlite3.Connection, job_id: int, **changes: object) -> None:
    names = ", ".join(f"{name} = ?" for name in changes)
    db.execute(f"UPDATE jobs SET {names} WHERE id = ?", (*changes.values(), job_id))


def save_history(db: sqlite3.Connection, job: Job) -> None:
    """Keep a run that is over, because the job will run again."""
    row = dict(zip(_JOB_COLUMNS, _to_row(job), strict=True))
    db.execute("INSERT INTO history VALUES (?, ?, ?)", (job.id, job.restarts, json.dumps(row)))


def fetch_history(db: sqlite3.Connection, job_id: int) -> list[Job]:
    rows = db.execute("SELECT job FROM history WHERE job_id = ? ORDER BY restarts", (job_id,))
    return [_to_job(json.loads(row[0])) for row in rows]


def insert_step(db: sqlite3.Connection, step: Step) -> None:
    marks = ",".join("?" * len(_STEP_COLUMNS))
    values = tuple(getattr(step, name) for name in _STEP_COLUMNS)
    db.execute(f"INSERT OR REPLACE INTO steps ({','.join(_STEP_COLUMNS)}) VALUES ({marks})", values)


def update_step(db: sqlite3.Connection, step: Step, **changes: object) -> None:
    names = ", ".join(f"{name} = ?" for name in changes)
    db.execute(
        f"UPDATE steps SET {names} WHERE job_id = ? AND restarts = ? AND step = ?",
        (*changes.values(), step.job_id, step.restarts, step.step),
    )


def fetch_steps(db: sqlite3.Connection, job: Job) -> list[Step]:
    rows = db.execute(
        f"SELECT {','.join(_STEP_COLUMNS)} FROM steps WHERE job_id = ? AND restarts = ? ORDER BY start_at, rowid",
        (job.id, job.restarts),
    )
    return [Step(**{**dict(row), "state": State(row["state"]), "is_shared": bool(row["is_shared"])}) for row in rows]


def insert_order(
    db: sqlite3.Connection, job_id: int, kind: OrderKind, *, uid: int, signal: int = 0, scope: str = "steps"
) -> None:
    db.execute(
        "INSERT INTO orders (job_id, kind, signal, scope, uid) VALUES (?, ?, ?, ?, ?)",
        (job_id, kind, signal, scope, uid),
    )


def fetch_orders(db: sqlite3.Connection, job_id: int) -> list[Order]:
    rows = db.execute("SELECT * FROM orders WHERE job_id = ? ORDER BY id", (job_id,))
    return [Order(**{**dict(row), "kind": OrderKind(row["kind"])}) for row in rows]


def delete_orders(db: sqlite3.Connection, job_id: int) -> None:
    db.execute("DELETE FROM orders WHERE job_id = ?", (job_id,))


def _to_row(job: Job) -> tuple[object, ...]:
    values: list[object] = []
    for name in _JOB_COLUMNS:
        value = getattr(job, name)
        if name == "request":
            value = _write_request(value)
        elif name == "layout":
            value = json.dumps([asdict(share) for share in value])
        elif name == "gpus":
            value = json.dumps(value)
        values.append(value)
    return tuple(values)


def _to_job(row: sqlite3.Row | dict[str, Any]) -> Job:
    values: dict[str, Any] = {name: row[name] for name in _JOB_COLUMNS}
    values["request"] = _read_request(str(row["request"]))
    values["layout"] = _read_layout(str(row["layout"]))
    values["state"] = State(str(row["state"]))
    values["is_held"] = bool(row["is_held"])
    values["gpus"] = tuple(tuple(node) for node in json.loads(str(row["gpus"])))
    return Job(**values)


# All tasks of an array have the same request and layout: read and written once.
@lru_cache(maxsize=512)
def _write_request(request: Request) -> str:
    return json.dumps(asdict(request))


@lru_cache(maxsize=512)
def _read_request(text: str) -> Request:
    # A job queued by another version of pocket may know more than this one.
    raw = {name: value for name, value in json.loads(text).items() if name in _REQUEST_FIELDS}
    raw["kind"] = Kind(raw["kind"])
    raw["script_args"] = tuple(raw["script_args"])
    raw["array_indices"] = tuple(raw["array_indices"])
    return Request(**raw)


@lru_cache(maxsize=512)
def _read_layout(text: str) -> tuple[Share, ...]:
    return tuple(Share(**share) for share in json.loads(text))
