"""The laptop's memory of runs: a cache in SQLite that can be rebuilt from the sites at any time."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from windlass.core.record import LIVE, RunRecord, RunState
from windlass.edges.store_where import HEADS, clean, make_where, make_where_of_heads
from windlass.errors import NotFound, StoreError, UsageError

if TYPE_CHECKING:
    import sqlite3

_Value = TypeVar("_Value")
_Kept = TypeVar("_Kept")
_Rows = list[tuple[Any, ...]]

LATEST = ("last", "@")
_MOST_NAMED = 5
_MOST_ASKED = 500  # values in one question
_MOST_SUGGESTED_FROM = 1000

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RunRecord)

_SAVE = """
INSERT INTO runs (run_id, name, site, state, created, updated, record, farm, ended)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET name = excluded.name, site = excluded.site, state = excluded.state,
    created = excluded.created, updated = excluded.updated, record = excluded.record,
    farm = excluded.farm, ended = excluded.ended
"""
_RESUMED = "resumed "  # and the id of a run: when it was resumed last
_LAST = """
SELECT run_id, record FROM (
    SELECT * FROM (SELECT run_id, record, created AS began FROM runs ORDER BY created DESC, run_id DESC LIMIT 1)
    UNION ALL SELECT * FROM (
        SELECT run_id, record, time FROM kept JOIN runs ON run_id = substr(key, 9)
        WHERE key >= 'resumed ' AND key < 'resumed!' ORDER BY time DESC LIMIT 1
    )
) ORDER BY began DESC LIMIT 1
"""
_KEEP = """
INSERT INTO kept (key, time, value) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET time = excluded.time, value = excluded.value
"""


class Store:
    """Opened at first use. Threads may share one; each process has its own."""

    def __init__(
        self,
        path: Path,
        *,
        tell: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`tell` gets a line for the user when a damaged file was replaced."""
        self.path = path
        self._tell = tell
        self._clock = clock
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # which one is open

    def save(self, record: RunRecord) -> None:
        """On disk before it returns when the run is about to be submitted: then even a power cut keeps it."""
        self._write(_SAVE, [_make_row(record)], is_durable=record.state is RunState.SUBMITTING)

    def save_many(self, records: Iterable[RunRecord]) -> None:
        """All or none."""
        self._write(_SAVE, [_make_row(record) for record in records])

    def swap(self, pairs: Sequence[tuple[RunRecord, RunRecord]]) -> frozenset[str]:
        """(as it was read, as it shall be): each is written only where nobody has changed it since.

        The ids of those somebody changed, or removed, meanwhile come back: their new word is not lost under ours.
        """

        def work(connection: "sqlite3.Connection") -> frozenset[str]:
            return frozenset(old.run_id for old, new in pairs if not self._swap_one(connection, old, new))

        return self._in_transaction(work, is_durable=any(new.state is RunState.SUBMITTING for _, new in pairs))

    def load(self, word: str) -> RunRecord:
        """By run id, its beginning, or a name that only one run has; `last` or `@` was started or resumed last."""
        return self._decode_one(*self._find(word))

    def find_id(self, word: str) -> str:
        """The run id behind a word, also of a row that `load` cannot read."""
        return self._find(word)[0]

    def unreadable(self, site: str) -> tuple[str, ...]:
        """The ids of a site's rows that cannot be read."""
        rows = self._read("SELECT run_id, record FROM runs WHERE site = ?", (clean(site),))
        return tuple(run_id for run_id, stored in rows if _try_decode(stored) is None)

    def list(
        self,
        *,
        limit: int | None = 20,
        site: str | None = None,
        states: Sequence[RunState] = (),
        name: str | None = None,
        query: str = "",
        offset: int = 0,
    ) -> tuple[RunRecord, ...]:
        """Newest first; only the rows shown are decoded. query: what stands somewhere in the run's id."""
        where, values = make_where(site, states, name, query)
        asked = f"SELECT record FROM runs WHERE {where} ORDER BY created DESC, run_id DESC LIMIT ? OFFSET ?"
        rows = self._read(asked, (*values, -1 if limit is None else limit, offset))
        return tuple(record for row in rows if (record := self._decode(row[0])) is not None)

    def heads(
        self,
        *,
        limit: int | None,
        offset: int = 0,
        site: str | None = None,
        states: Sequence[RunState] = (),
        query: str = "",
    ) -> tuple[RunRecord, ...]:
        """As `list`, without the pilots of farms. states: of a run, or of any pilot of the farm that it leads."""
        where, values = make_where_of_heads(site, states, query)
        asked = f"SELECT record FROM runs WHERE {where} ORDER BY created DESC, run_id DESC LIMIT ? OFFSET ?"
        rows = self._read(asked, (*values, -1 if limit is None else limit, offset))
        return tuple(record for row in rows if (record := self._decode(row[0])) is not None)

    def ended_since(self, moment: float, *, limit: int) -> tuple[RunRecord, ...]:
        """Those of `heads` that ended after it, the last one first; of an unknown end, when it was noticed."""
        where = f"ended > ? AND {HEADS}"
        rows = self._read(f"SELECT record FROM runs WHERE {where} ORDER BY ended DESC LIMIT ?", (moment, limit))
        return tuple(record for row in rows if (record := self._decode(row[0])) is not None)

    def pilots(self, farms: Sequence[str]) -> tuple[RunRecord, ...]:
        """All runs that work or worked on these farms, those that lead them too."""
        rows: _Rows = []
        for first in range(0, len(farms), _MOST_ASKED):
            names = [clean(one) for one in farms[first : first + _MOST_ASKED]]
            rows += self._read(f"SELECT record FROM runs WHERE farm IN ({', '.join('?' * len(names))})", names)
        return tuple(record for row in rows if (record := self._decode(row[0])) is not None)

    def count(self) -> int:
        """All that are known."""
        return int(self._read("SELECT count(*) FROM runs")[0][0])

    def count_heads(self, *, site: str | None = None, states: Sequence[RunState] = (), query: str = "") -> int:
        """How many `heads` would give without a limit."""
        where, values = make_where_of_heads(site, states, query)
        return int(self._read(f"SELECT count(*) FROM runs WHERE {where}", values)[0][0])

    def sites(self) -> tuple[str, ...]:
        """All that have a run here."""
        return tuple(str(row[0]) for row in self._read("SELECT DISTINCT site FROM runs ORDER BY site"))

    def live_runs(self, site: str | None = None) -> tuple[RunRecord, ...]:
        """Those that may still change, at one site or everywhere."""
        return self.list(limit=None, site=site, states=LIVE)

    def note_resumed(self, run_id: str) -> None:
        """It is the last one, until another is started or resumed."""
        self.keep(_RESUMED + run_id, True)

    def delete(self, run_id: str) -> bool:
        """False when it was not there."""
        return self._write("DELETE FROM runs WHERE run_id = ?", [(run_id,)]) > 0

    def keep(self, key: str, value: object) -> None:
        """Anything msgspec can write as JSON, dataclasses included."""
        self._write(_KEEP, [(clean(key), self._clock(), _encode(value))])

    def kept(self, key: str, max_age_s: float | None = None, *, kind: type[_Kept]) -> _Kept | None:
        """None when it was never kept, is too old, or is not (no longer) of this kind."""
        rows = self._read("SELECT time, value FROM kept WHERE key = ?", (clean(key),))
        try:
            # A time in the future means that a clock was set: as unreliable as an old one.
            if not rows or (max_age_s is not None and abs(self._clock() - rows[0][0]) > max_age_s):
                return None
            return msgspec.json.decode(rows[0][1], type=kind)
        except (msgspec.MsgspecError, UnicodeError, TypeError):  # TypeError: no number, or no bytes, where one belongs
            return None

    def kept_below(self, prefix: str, *, kind: type[_Kept], limit: int) -> tuple[_Kept, ...]:
        """All that was kept under keys that begin so, the newest first; what cannot be read is passed over."""
        query = "SELECT value FROM kept WHERE key >= ? AND key < ? ORDER BY time DESC LIMIT ?"
        begin = clean(prefix)
        rows = self._read(query, (begin, begin + "\U0010ffff", limit))
        return tuple(value for row in rows if (value := _try_decode_as(row[0], kind)) is not None)

    def change(self, key: str, change: Callable[[_Kept | None], _Kept | None], *, kind: type[_Kept]) -> _Kept | None:
        """What is kept there, changed while nobody else can; None, and nothing is written, where `change` says so."""

        def work(connection: "sqlite3.Connection") -> _Kept | None:
            row = connection.execute("SELECT value FROM kept WHERE key = ?", (clean(key),)).fetchone()
            value = change(_try_decode_as(row[0], kind) if row else None)
            if value is not None:
                connection.execute(_KEEP, (clean(key), self._clock(), _encode(value)))
            return value

        return self._in_transaction(work, is_durable=False)

    def stamp(self) -> tuple[object, int, int]:
        """Another one means that something was written since, by this process or by another."""

        def work(connection: "sqlite3.Connection") -> tuple[object, int, int]:
            return self._file, connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes

        return self._attempt(work)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _find(self, word: str) -> tuple[str, bytes | str]:
        if word in LATEST:
            return self._find_latest()
        word = clean(word)
        exact = self._read("SELECT run_id, record FROM runs WHERE run_id = ?", (word,))
        named = exact or self._read("SELECT run_id, record FROM runs WHERE name = ? ORDER BY created DESC", (word,))
        query = "SELECT run_id, record FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY created DESC LIMIT 1000"
        begun = self._read(query, (word, word + "\U0010ffff")) if word and len(named) != 1 else []
        candidates = _leave_out_pilots(dict((*named, *begun)))
        if len(candidates) == 1:
            return next(iter(candidates.items()))
        if candidates:
            raise _make_ambiguous(word, tuple(candidates))
        raise self._make_not_found(word)

    def _find_latest(self) -> tuple[str, bytes | str]:
        rows = self._read(_LAST)
        if not rows:
            raise NotFound("there is no run yet", hint="windlass run")
        newest = _try_decode(rows[0][1])
        if newest is not None and newest.farm not in (None, newest.run_id):
            rows = self._read("SELECT run_id, record FROM runs WHERE run_id = ?", (clean(newest.farm),)) or rows
        return rows[0][0], rows[0][1]

    def _make_not_found(self, word: str) -> NotFound:
        import difflib

        query = "SELECT run_id, name FROM runs ORDER BY created DESC LIMIT ?"
        words = [one for row in self._read(query, (_MOST_SUGGESTED_FROM,)) for one in row]
        near = difflib.get_close_matches(word, list(dict.fromkeys(words)), n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else "windlass ps --all"
        return NotFound(f"there is no run {word!r}", hint=hint)

    def _decode_one(self, run_id: str, stored: bytes | str) -> RunRecord:
        record = _try_decode(stored)
        if record is None:
            raise StoreError(
                f"what {self.path} says of run {run_id} cannot be read",
                hint=f"windlass ps --refresh asks its site again; windlass rm --keep-folder {run_id} forgets it here",
            )
        return record

    def _decode(self, stored: bytes | str) -> RunRecord | None:
        record = _try_decode(stored)
        if record is None:
            self._tell(f"a run in {self.path} cannot be read; `windlass ps --refresh` asks the sites again")
        return record

    def _read(self, query: str, values: Sequence[Any] = ()) -> _Rows:
        return self._attempt(lambda connection: connection.execute(query, values).fetchall())

    def _swap_one(self, connection: "sqlite3.Connection", old: RunRecord, new: RunRecord) -> bool:
        row = connection.execute("SELECT record FROM runs WHERE run_id = ?", (clean(old.run_id),)).fetchone()
        if row is None or self._decode(row[0]) != _decoder.decode(_encode(old)):
            return False
        connection.execute(_SAVE, _make_row(new))
        return True

    def _write(self, query: str, rows: _Rows, *, is_durable: bool = False) -> int:
        return self._in_transaction(
            lambda connection: connection.executemany(query, rows).rowcount, is_durable=is_durable
        )

    def _in_transaction(self, change: "Callable[[sqlite3.Connection], _Value]", *, is_durable: bool) -> _Value:
        def work(connection: "sqlite3.Connection") -> _Value:
            # Has no effect inside a transaction, so it comes before.
            connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                value = change(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return value

        return self._attempt(work)

    def _attempt(self, work: "Callable[[sqlite3.Connection], _Value]") -> _Value:
        """Do it; when the file turns out to be damaged, once more on a fresh one."""
        import sqlite3

        from windlass.edges.store_file import explain_sqlite, is_damage, open_store_file, replace_damaged

        with self._lock:
            if self._connection is not None and _find_file(self.path) != self._file:
                self.close()  # removed, or moved aside by another process: what is open has no name any more
            try:
                if self._connection is None:
                    self._connection = open_store_file(self.path, tell=self._tell)
                    self._file = _find_file(self.path)
                return work(self._connection)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise explain_sqlite(error, self.path) from error
                damage = error
            self.close()
            try:
                self._connection = replace_damaged(self.path, damage, tell=self._tell)
                self._file = _find_file(self.path)
                return work(self._connection)
            except sqlite3.Error as error:
                raise explain_sqlite(error, self.path) from error


def _find_file(path: Path) -> tuple[int, int] | None:
    """Which file has this name now; None: none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _try_decode(stored: bytes | str) -> RunRecord | None:
    try:
        return _decoder.decode(stored)
    except (msgspec.MsgspecError, UnicodeError, TypeError):  # TypeError: a number, where SQLite was told to keep one
        return None


def _try_decode_as(stored: bytes | str, kind: type[_Kept]) -> _Kept | None:
    try:
        return msgspec.json.decode(stored, type=kind)
    except (msgspec.MsgspecError, UnicodeError, TypeError):
        return None


def _leave_out_pilots(candidates: dict[str, bytes | str]) -> dict[str, bytes | str]:
    """A farm is meant by the run that leads it, and not by its other pilots, which are called the same."""
    if len(candidates) < 2:
        return candidates
    found = {run_id: _try_decode(stored) for run_id, stored in candidates.items()}
    return {
        run_id: candidates[run_id]
        for run_id, record in found.items()
        if record is None or record.farm in (None, run_id) or record.farm not in candidates
    }


def _make_row(record: RunRecord) -> tuple[Any, ...]:
    state = str(record.state)
    words = clean(record.run_id), clean(record.name), clean(record.site), state
    farm = clean(record.farm) if record.farm is not None else None
    ended = (record.ended or record.updated) if record.state.is_final else None
    return (*words, record.created, record.updated, _encode(record), farm, ended)


def _encode(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # a path of the laptop that is not UTF-8
        return _encoder.encode(_clean_all(msgspec.to_builtins(value)))


def _clean_all(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_clean_all(key): _clean_all(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_all(inner) for inner in value]
    return value


def _make_ambiguous(word: str, run_ids: Sequence[str]) -> UsageError:
    named = list(run_ids[:_MOST_NAMED])
    if len(run_ids) > _MOST_NAMED:
        named.append(f"and {len(run_ids) - _MOST_NAMED} more")
    return UsageError(f"{word!r} could be {len(run_ids)} runs", details=named, hint="give more letters, or `last`")
