"""The store when things go wrong: damage, other processes, a full disk, no rights, a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edges.places import FULL_PLACES, FullPlace, fill, small_disk, unprivileged
from tests.edges.records import RECORD, make_record
from windlass.core.record import RunState
from windlass.edges.store import Store
from windlass.edges.store_file import MIGRATIONS, migrate
from windlass.errors import DiskFull, StoreError


def _write_garbage(path: Path) -> None:
    path.write_bytes(b"garbage " * 1000)


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _scramble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:] = b"\xa5" * (len(data) - 100)
    path.write_bytes(data)


def _drop(table: str) -> Callable[[Path], None]:
    def drop(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
        connection.close()

    return drop


def _write_foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()


@pytest.mark.parametrize("harm", [_write_garbage, _truncate, _scramble, _drop("runs"), _drop("kept"), _write_foreign])
def test_a_damaged_file_is_moved_aside_and_told(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    path = tmp_path / "windlass.db"
    with Store(path) as store:
        store.save_many(make_record(f"r-{n}", created=float(n)) for n in range(200))
    harm(path)
    harmed = path.read_bytes()
    told: list[str] = []

    with Store(path, tell=told.append) as store:
        assert store.list(limit=None) == ()
        store.save(RECORD)

    assert (tmp_path / "windlass.db.damaged-1").read_bytes() == harmed
    assert len(told) == 1
    assert "windlass.db.damaged-1" in told[0]
    assert Store(path, tell=pytest.fail).load("last") == RECORD


def test_an_empty_file_is_used_again_and_told(tmp_path: Path) -> None:
    path, told = tmp_path / "windlass.db", list[str]()
    path.touch()

    with Store(path, tell=told.append) as store:
        store.save(RECORD)

    assert len(told) == 1
    assert "was empty" in told[0]
    assert Store(path, tell=pytest.fail).load("last") == RECORD
    assert not list(tmp_path.glob("*.damaged-*"))


def test_the_log_beside_an_empty_file_is_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    path.touch()
    (tmp_path / "windlass.db-wal").write_bytes(b"the last words")

    Store(path).list()

    assert (tmp_path / "windlass.db.damaged-1-wal").read_bytes() == b"the last words"


def test_a_table_that_is_lost_while_open_is_damage(tmp_path: Path) -> None:
    path, told = tmp_path / "windlass.db", list[str]()
    store = Store(path, tell=told.append)
    store.save(RECORD)
    _drop("kept")(path)

    assert store.kept("facts", kind=int) is None

    assert len(told) == 1
    assert (tmp_path / "windlass.db.damaged-1").exists()


def test_the_file_of_a_newer_windlass_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    with Store(path) as store:
        store.save(RECORD)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(StoreError, match="newer Windlass") as caught:
        Store(path, tell=pytest.fail).save(make_record("r-2"))

    assert "WINDLASS_STATE_DIR" in (caught.value.hint or "")
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.damaged-*"))


def test_a_second_damaged_file_does_not_replace_the_first(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    for _ in range(2):
        _write_garbage(path)
        with Store(path) as store:
            store.list()

    assert (tmp_path / "windlass.db.damaged-1").exists()
    assert (tmp_path / "windlass.db.damaged-2").exists()


def test_damage_met_while_open_is_healed(tmp_path: Path) -> None:
    path, told = tmp_path / "windlass.db", list[str]()
    store = Store(path, tell=told.append)
    store.save(RECORD)
    with Store(path) as other:  # the last one to close copies the log into the file
        other.list()
    store.close()
    store.list()
    _write_garbage(path)
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)

    store.save(RECORD)

    assert Store(path).load("last") == RECORD
    assert len(told) == 1


def test_two_processes_that_meet_damage_make_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    _write_garbage(path)

    children = [_start(_SAVE_ONE, str(path), f"r-{n}") for n in range(6)]

    assert [child.wait() for child in children] == [0] * 6
    assert len(Store(path).list(limit=None)) == 6
    assert not (tmp_path / "windlass.db.damaged-2").exists()


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state" / "windlass.db"

    children = [_start(_SAVE_MANY, str(path), f"p{n}", "50") for n in range(4)]

    assert [child.wait() for child in children] == [0] * 4
    assert len(Store(path).list(limit=None)) == 200


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "db")
    threads = [threading.Thread(target=lambda n=n: store.save(make_record(f"r-{n}"))) for n in range(20)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(store.list(limit=None)) == 20


def test_a_record_survives_the_kill_of_its_process(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"

    child = _start(_SAVE_AND_DIE, str(path), "r-1")

    assert child.wait() == -signal.SIGKILL
    assert Store(path, tell=pytest.fail).load("last").state is RunState.SUBMITTING


def test_a_store_in_use_for_too_long_is_said(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    store = Store(path)
    store.save(RECORD)
    store._attempt(lambda connection: connection.execute("PRAGMA busy_timeout = 50"))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError, match="in use by another process"):
        store.save(RECORD)

    assert store.list() == (RECORD,)
    holder.close()


# Not with a quota of btrfs: it copies pages before they are changed, and where it may not, the kernel ends who changes
# SQLite's mapped index of the log by SIGBUS, which no program can turn into words.
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    with small_disk(tmp_path, size_kb=512) as disk, Store(disk / "windlass.db") as store:
        store.save(RECORD)
        fill(disk)

        with pytest.raises(DiskFull):
            store.save_many(make_record(f"r-{n}", command="x" * 1000) for n in range(500))

        (disk / "filler").unlink()
        assert store.list() == (RECORD,)


@pytest.mark.parametrize("small", FULL_PLACES)
def test_a_disk_that_is_full_from_the_start_is_said(tmp_path: Path, small: FullPlace) -> None:
    with small(tmp_path, size_kb=512) as disk:
        fill(disk)

        for _ in range(3):
            with pytest.raises(DiskFull):
                Store(disk / "windlass.db", tell=pytest.fail).save(RECORD)

        assert not list(disk.glob("windlass.db*damaged*"))
        (disk / "filler").unlink()
        with Store(disk / "windlass.db", tell=pytest.fail) as store:
            store.save(RECORD)


@pytest.mark.parametrize("small", FULL_PLACES)
def test_an_empty_file_on_a_full_disk_is_not_moved_aside(tmp_path: Path, small: FullPlace) -> None:
    with small(tmp_path, size_kb=512) as disk:
        (disk / "windlass.db").touch()
        fill(disk)

        for _ in range(2):
            with pytest.raises(DiskFull):
                Store(disk / "windlass.db").save(RECORD)

        assert not list(disk.glob("windlass.db*damaged*"))


def test_a_folder_without_rights_is_said() -> None:
    with unprivileged() as folder:
        folder.chmod(0o500)

        with pytest.raises(StoreError, match="Permission denied"):
            Store(folder / "windlass.db").save(RECORD)
        with pytest.raises(StoreError, match="Permission denied"):
            Store(folder / "state" / "windlass.db").list()

        folder.chmod(0o700)


def test_a_file_without_rights_is_said() -> None:
    with unprivileged() as folder:
        with Store(folder / "windlass.db") as store:
            store.save(RECORD)
        (folder / "windlass.db").chmod(0o400)

        with pytest.raises(StoreError, match="cannot be written"):
            Store(folder / "windlass.db").save(RECORD)


def test_a_folder_in_place_of_the_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "windlass.db").mkdir()

    with pytest.raises(StoreError):
        Store(tmp_path / "windlass.db").list()


def test_pilots_of_an_older_file_are_known_as_such(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "db", isolation_level=None)
    migrate(connection, MIGRATIONS[:1])
    for name, content in (("lead", '{"farm": "lead"}'), ("pilot", '{"farm": "lead"}'), ("bad", "no JSON")):
        row = (name, name, "alpha", "done", 1.0, 1.0, content.encode())
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    migrate(connection)

    found = connection.execute("SELECT run_id, farm FROM runs ORDER BY run_id").fetchall()
    assert found == [("bad", None), ("lead", "lead"), ("pilot", "lead")]


def test_ends_of_runs_of_an_older_file_are_known(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "db", isolation_level=None)
    migrate(connection, MIGRATIONS[:2])
    told = (
        ("ended", "done", '{"ended": 5.0}'),
        ("lost", "lost", "{}"),
        ("live", "running", "{}"),
        ("bad", "done", "?"),
    )
    for name, state, content in told:
        row = (name, name, "alpha", state, 1.0, 2.0, content.encode())
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)

    migrate(connection)

    found = connection.execute("SELECT run_id, ended FROM runs ORDER BY run_id").fetchall()
    assert found == [("bad", None), ("ended", 5.0), ("live", None), ("lost", 2.0)]


def test_a_migration_keeps_what_is_there(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        store.save(RECORD)
    connection = sqlite3.connect(tmp_path / "db", isolation_level=None)

    migrate(connection, (*MIGRATIONS, "ALTER TABLE runs ADD COLUMN project TEXT"))

    assert connection.execute("SELECT run_id, project FROM runs").fetchall() == [(RECORD.run_id, None)]
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "db", isolation_level=None)
    migrate(connection)

    with pytest.raises(sqlite3.Error):
        migrate(connection, (*MIGRATIONS, "CREATE TABLE half (x); SELECT nonsense FROM nowhere"))

    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchall()


_HEAD = """
import sys
from pathlib import Path
from tests.edges.records import make_record
from windlass.core.record import RunState
from windlass.edges.store import Store
store = Store(Path(sys.argv[1]))
"""
_SAVE_ONE = _HEAD + "store.save(make_record(sys.argv[2]))"
_SAVE_MANY = _HEAD + "[store.save(make_record(f'{sys.argv[2]}-{n}')) for n in range(int(sys.argv[3]))]"
_SAVE_AND_DIE = _HEAD + (
    "import os, signal\n"
    "store.save(make_record(sys.argv[2], state=RunState.SUBMITTING))\n"
    "os.kill(os.getpid(), signal.SIGKILL)"
)


def _start(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=env)


def test_a_store_that_was_removed_or_moved_under_it_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "windlass.db"
    with Store(path) as watching:
        watching.save(RECORD)
        stamp = watching.stamp()
        for side in ("", "-wal", "-shm"):
            path.with_name(path.name + side).rename(tmp_path / f"aside{side}")
        assert watching.list() == ()

        watching.save(make_record("written-after"))
        assert watching.stamp() != stamp
        with Store(path) as other:
            other.save(make_record("of-another"))
            assert {one.run_id for one in other.list()} == {"written-after", "of-another"}
        assert {one.run_id for one in watching.list()} == {"written-after", "of-another"}
