"""The SQLite file behind the store: opened, brought up to date, and moved aside when it is damaged."""

import contextlib
import errno
import fcntl
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from windlass.edges.files import explain, make_private_folder
from windlass.errors import DiskFull, StoreError, WindlassError

APPLICATION_ID = 0x57494E44  # "WIND": another program's SQLite file is not ours to write into
_BUSY_S = 10.0

# One script a version; `user_version` says how many were run. Never change one that was released: add the next.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY, name TEXT NOT NULL, site TEXT NOT NULL, state TEXT NOT NULL,
        created REAL NOT NULL, updated REAL NOT NULL, record BLOB NOT NULL
    );
    CREATE INDEX runs_created ON runs (created);
    CREATE INDEX runs_state ON runs (state, created);
    CREATE INDEX runs_site ON runs (site, created);
    CREATE INDEX runs_name ON runs (name, created);
    CREATE TABLE kept (key TEXT PRIMARY KEY, time REAL NOT NULL, value BLOB NOT NULL);
    """,
    """
    ALTER TABLE runs ADD COLUMN farm TEXT;
    UPDATE runs SET farm = json_extract(CAST(record AS TEXT), '$.farm') WHERE json_valid(CAST(record AS TEXT));
    CREATE INDEX runs_farm ON runs (farm) WHERE farm IS NOT NULL;
    """,
    """
    ALTER TABLE runs ADD COLUMN ended REAL;
    UPDATE runs SET ended = coalesce(json_extract(CAST(record AS TEXT), '$.ended'), updated)
        WHERE json_valid(CAST(record AS TEXT)) AND state NOT IN ('submitting', 'waiting', 'running');
    CREATE INDEX runs_ended ON runs (ended) WHERE ended IS NOT NULL;
    """,
)
# Asked of every file that is opened: SQLite's own checks do not know which tables belong in it.
_PROBES = (
    "SELECT run_id, name, site, state, created, updated, record, farm, ended FROM runs LIMIT 0",
    "SELECT key, time, value FROM kept LIMIT 0",
)
REFILL = "`windlass ps --refresh` fills it again from the sites"


class Damaged(Exception):
    """The file cannot be used; the message says why in words."""


def open_store_file(path: Path, *, tell: Callable[[str], None]) -> sqlite3.Connection:
    """A connection to a file that is whole and up to date. StoreError, DiskFull."""
    make_private_folder(path.parent)
    with _lock(path):
        try:
            return _open(path, tell=tell)
        except Damaged as damage:
            aside = _move_aside(path)
            tell(f"{path} {damage}: it was moved to {aside.name} and a new one was made; {REFILL}")
        try:
            return _open(path, tell=tell)
        except Damaged as damage:
            raise StoreError(f"{path} {damage}, although it is new") from damage


def replace_damaged(path: Path, damage: sqlite3.Error, *, tell: Callable[[str], None]) -> sqlite3.Connection:
    """After damage was met while reading: another process may have replaced the file already."""
    with _lock(path):
        if path.exists() and not _is_sound(path):
            aside = _move_aside(path)
            tell(f"{path} is damaged ({damage}): it was moved to {aside.name} and a new one was made; {REFILL}")
    return open_store_file(path, tell=tell)


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Run the scripts that the file has not seen, each whole or not at all."""
    for number in range(_read_number(connection, "user_version"), len(migrations)):
        statements = [part for part in migrations[number].split(";") if part.strip()]
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise


def is_damage(error: sqlite3.Error) -> bool:
    """A table that is missing is damage too: somebody, or something, took it out."""
    is_lacking = str(error).startswith(("no such table", "no such column"))
    return is_lacking or _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def explain_sqlite(error: sqlite3.Error, path: Path) -> WindlassError:
    """The words for what SQLite says."""
    code = _primary_code(error)
    if code == sqlite3.SQLITE_FULL or (_may_be_full(code) and _is_full(path.parent)):
        return DiskFull(f"{path} could not be written: the disk or the quota is full", hint=f"df -h {path.parent}")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(f"{path} is in use by another process", said=str(error), hint="try again in a moment")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreError(f"{path} cannot be written", said=str(error), hint=f"ls -la {path.parent}")
    return StoreError(f"{path} cannot be used: {error}", said=str(error))


def _open(path: Path, *, tell: Callable[[str], None]) -> sqlite3.Connection:
    is_new = _create(path)
    is_empty = not is_new and path.stat().st_size == 0
    if is_empty and _has_log(path):
        raise Damaged("is empty")
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, path)
    except BaseException as error:
        connection.close()
        if is_new:  # a full disk: an empty file left behind would look like damage to the next command
            _remove_new(path)
        if isinstance(error, sqlite3.Error):
            if is_damage(error):
                raise Damaged(f"is damaged ({error})") from error
            raise explain_sqlite(error, path) from error
        raise
    if is_empty:
        tell(f"{path} was empty: a new one was made; {REFILL}")
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    version = _read_number(connection, "user_version")
    # Without any table it is new, or its maker was killed before the first one.
    has_tables = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    if has_tables and _read_number(connection, "application_id") != APPLICATION_ID:
        raise Damaged("is another program's file")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{path} was written by a newer Windlass",
            hint="update this Windlass, or set WINDLASS_STATE_DIR to a folder of its own",
            done="the file was left as it is",
        )
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if version < len(MIGRATIONS):
        migrate(connection)
    for probe in _PROBES:
        connection.execute(probe)


def _has_log(path: Path) -> bool:
    """A write-ahead log with something in it: SQLite would throw it away beside an empty file."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _remove_new(path: Path) -> None:
    """What this very call made, under the lock: there is nothing in it."""
    with contextlib.suppress(OSError):
        for side in ("-wal", "-shm", "-journal", ""):
            path.with_name(path.name + side).unlink(missing_ok=True)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Readers and a writer side by side. Where a filesystem cannot do it, SQLite keeps its older way."""
    deadline = time.monotonic() + _BUSY_S
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # the change of mode does not heed the busy time-out
            if _primary_code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _create(path: Path) -> bool:
    """For the user alone: SQLite gives its side files the mode of this one. True when it was not there."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077:
            with contextlib.suppress(OSError):
                path.chmod(0o600)
        return False
    except OSError as error:
        raise explain(error, path) from error
    return True


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process at a time makes, changes or moves the file. Reading and writing rows needs no lock of ours."""
    try:
        handle = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise explain(error, path) from error
    try:
        _flock(handle, path)
        yield
    finally:
        os.close(handle)


def _flock(handle: int, path: Path) -> None:
    deadline = time.monotonic() + 2 * _BUSY_S
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL):
                return None  # a filesystem without locks: SQLite's own must do
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                raise explain(error, path) from error
            if time.monotonic() > deadline:
                raise StoreError(f"{path} is in use by another process", hint="try again in a moment") from error
        time.sleep(0.01)


def _is_sound(path: Path) -> bool:
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=_BUSY_S)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.Error as error:
        return not is_damage(error)


def find_damaged(path: Path) -> Path | None:
    """The last that was moved aside, where one was."""
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in itertools.count(1))
    return max(itertools.takewhile(Path.exists, names), key=lambda one: one.stat().st_mtime, default=None)


def _move_aside(path: Path) -> Path:
    """With its write-ahead log, so that what can be saved of it is saved together."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    try:
        for side in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + side).rename(aside.with_name(aside.name + side))
        path.rename(aside)
    except OSError as error:
        raise explain(error, path) from error
    return aside


def _read_number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _may_be_full(code: int) -> bool:
    return code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


def _is_full(folder: Path) -> bool:
    import shutil

    try:
        return shutil.disk_usage(folder).free < 65536
    except OSError:
        return False
