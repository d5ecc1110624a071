"""The one SQLite file: opened, made, and moved aside when it is damaged."""

import fcntl
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windlass.pocket.errors import PocketError
from windlass.pocket.places import Places

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, array_id INTEGER, array_index INTEGER, array_limit INTEGER,
    name TEXT NOT NULL, request TEXT NOT NULL, layout TEXT NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, is_held INTEGER NOT NULL, comment TEXT NOT NULL,
    submit_at REAL NOT NULL, begin_at REAL, start_at REAL, end_at REAL, time_limit_s INTEGER,
    restarts INTEGER NOT NULL, exit_code INTEGER NOT NULL, exit_signal INTEGER NOT NULL,
    gpus TEXT NOT NULL, token TEXT NOT NULL, supervisor_pid INTEGER, cancelled_by INTEGER,
    max_rss_kb INTEGER NOT NULL
);
CREATE INDEX jobs_state ON jobs (state);
CREATE INDEX jobs_array ON jobs (array_id);
CREATE TABLE history (job_id INTEGER NOT NULL, restarts INTEGER NOT NULL, job TEXT NOT NULL);
CREATE TABLE scripts (id INTEGER PRIMARY KEY, script BLOB NOT NULL, environment BLOB NOT NULL);
CREATE TABLE steps (
    job_id INTEGER NOT NULL, restarts INTEGER NOT NULL, step TEXT NOT NULL, name TEXT NOT NULL,
    state TEXT NOT NULL, start_at REAL NOT NULL, end_at REAL, exit_code INTEGER NOT NULL,
    exit_signal INTEGER NOT NULL, nodes INTEGER NOT NULL, tasks INTEGER NOT NULL, cpus INTEGER NOT NULL,
    is_shared INTEGER NOT NULL, pid INTEGER NOT NULL, max_rss_kb INTEGER NOT NULL,
    PRIMARY KEY (job_id, restarts, step)
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job_id INTEGER NOT NULL, kind TEXT NOT NULL,
    signal INTEGER NOT NULL, scope TEXT NOT NULL, uid INTEGER NOT NULL
);
"""
_VERSION = 1
_BUSY_S = 30


def open_database(places: Places) -> sqlite3.Connection:
    """A connection to a database that is there and sound; a damaged one is moved aside with a word."""
    places.make()
    try:
        return _open(places)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        set_aside(places, str(error))
        return _open(places)


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; others wait."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def set_aside(places: Places, why: str) -> None:
    """Move a damaged database out of the way, once, however many programs stumble over it."""
    with open(places.state / "database.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_sound(places.database):
            return
        aside = places.database.with_name(f"pocket.db.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
        for ending in ("", "-wal", "-shm"):
            part = Path(f"{places.database}{ending}")
            if part.exists():
                part.rename(f"{aside}{ending}")
        print(
            f"pocket: the job database was damaged ({why}); it was moved to {aside}, and a new one is used",
            file=sys.stderr,
        )


def save_highest_id(places: Places, job_id: int) -> None:
    """Remember the last id outside of the database too: ids are never given twice."""
    draft = places.state / f"highest_id.{os.getpid()}"
    try:
        draft.write_text(str(job_id), encoding="ascii")
        draft.replace(places.highest_id)
    except OSError:
        draft.unlink(missing_ok=True)


def _open(places: Places) -> sqlite3.Connection:
    db = sqlite3.connect(places.database, timeout=_BUSY_S, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            _make(db, places)
        db.execute("PRAGMA synchronous=FULL")
    except BaseException:
        db.close()
        raise
    return db


def _make(db: sqlite3.Connection, places: Places) -> None:
    db.execute("PRAGMA journal_mode=WAL")
    with writing(db):
        # Another program may have made it while this one waited for the lock.
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == _VERSION:
            return
        if version != 0:
            raise PocketError(f"{places.database} was made by another version of pocket ({version})")
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute("INSERT INTO meta VALUES ('highest_id', ?)", (_load_highest_id(places),))
        db.execute(f"PRAGMA user_version={_VERSION}")
    places.database.chmod(0o600)


def _load_highest_id(places: Places) -> int:
    try:
        return int(places.highest_id.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _is_sound(path: Path) -> bool:
    if not path.exists():
        return True
    try:
        db = sqlite3.connect(path, timeout=_BUSY_S)
        try:
            return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        finally:
            db.close()
    except sqlite3.DatabaseError:
        return False
