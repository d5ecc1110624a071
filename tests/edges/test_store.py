"""The store: what is saved comes back, by id, name and filter."""

import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.edges.records import RECORD, make_record
from windlass.core.record import RunRecord, RunState, Submission
from windlass.edges.store import Store
from windlass.errors import NotFound, StoreError, UsageError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "state" / "windlass.db", tell=pytest.fail) as store:
        yield store


def test_a_record_comes_back_as_it_was_in_another_process(store: Store) -> None:
    record = replace(RECORD, submissions=(Submission(number=1, token="t", job_id="7"),), results=("out/**",))

    store.save(record)

    assert Store(store.path).load(record.run_id) == record


def test_files_and_folder_are_for_the_user_alone(store: Store) -> None:
    store.save(RECORD)

    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in store.path.parent.iterdir()} == {0o600}


def test_a_word_that_was_overtaken_does_not_replace_the_newer_one(store: Store) -> None:
    running, done = (replace(RECORD, state=state) for state in (RunState.RUNNING, RunState.DONE))
    store.save(RECORD)
    assert store.swap([(RECORD, done)]) == frozenset()

    assert store.swap([(RECORD, running)]) == {RECORD.run_id}

    assert store.load(RECORD.run_id) == done


def test_a_removed_run_does_not_come_back(store: Store) -> None:
    store.save(RECORD)
    store.delete(RECORD.run_id)

    assert store.swap([(RECORD, replace(RECORD, state=RunState.DONE))]) == {RECORD.run_id}
    assert store.list() == ()


@pytest.mark.parametrize("word", ["digits-k3f9w", "digits-k", "d", "digits", "last", "@"])
def test_a_run_is_found_by_what_a_user_types(store: Store, word: str) -> None:
    store.save(RECORD)

    assert store.load(word) == RECORD


def test_an_exact_id_or_name_beats_a_beginning(store: Store) -> None:
    store.save_many([make_record("a-1"), make_record("a-12"), make_record("b-1", name="b"), make_record("b-2-1")])

    assert store.load("a-1").run_id == "a-1"
    assert store.load("b").run_id == "b-1"


def test_an_ambiguous_word_names_the_candidates_newest_first(store: Store) -> None:
    store.save_many([make_record(f"digits-{n}", created=float(n)) for n in range(3)])

    with pytest.raises(UsageError, match="could be 3 runs") as raised:
        store.load("digits")

    assert raised.value.details == ("digits-2", "digits-1", "digits-0")


def test_a_misspelt_word_gets_a_suggestion(store: Store) -> None:
    store.save(RECORD)

    with pytest.raises(NotFound) as raised:
        store.load("digist-k3f9w")

    assert raised.value.hint == "did you mean 'digits-k3f9w'?"


@pytest.mark.parametrize("word", ["", "%", "_", "zzz", "last ", "\udce9", "'; DROP TABLE runs"])
def test_a_word_that_means_nothing_is_not_found(store: Store, word: str) -> None:
    store.save(RECORD)

    with pytest.raises(NotFound):
        store.load(word)


def test_the_latest_of_none_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="there is no run yet"):
        store.load("last")


def test_a_list_is_filtered_and_newest_first(store: Store) -> None:
    store.save_many(
        [
            make_record("a-1", created=1.0, state=RunState.DONE),
            make_record("a-2", created=2.0),
            make_record("b-3", created=3.0, site="lumi", name="b"),
        ]
    )

    assert [record.run_id for record in store.list()] == ["b-3", "a-2", "a-1"]
    assert [record.run_id for record in store.list(limit=1)] == ["b-3"]
    assert [record.run_id for record in store.list(site="narval")] == ["a-2", "a-1"]
    assert [record.run_id for record in store.list(states=[RunState.DONE])] == ["a-1"]
    assert [record.run_id for record in store.list(name="b")] == ["b-3"]
    assert [record.run_id for record in store.live_runs("narval")] == ["a-2"]
    assert [record.run_id for record in store.live_runs()] == ["b-3", "a-2"]


def test_a_farm_is_one_of_the_list_however_many_pilots_it_has(store: Store) -> None:
    lead = replace(make_record("lead", created=1.0), farm="lead", state=RunState.DONE)
    pilots = [replace(make_record(f"p{number}", created=2.0 + number), farm="lead") for number in range(3)]
    stray = replace(make_record("stray", created=9.0), farm="gone", state=RunState.RUNNING)
    store.save_many(
        [
            lead,
            *pilots,
            replace(pilots[0], state=RunState.RUNNING),
            stray,
            make_record("other", created=8.0, state=RunState.DONE),
        ]
    )

    assert [one.run_id for one in store.heads(limit=2)] == ["stray", "other"]
    assert [one.run_id for one in store.heads(limit=2, offset=2)] == ["lead"]
    assert [one.run_id for one in store.heads(limit=None, states=(RunState.RUNNING,))] == ["stray", "lead"]
    assert store.count_heads() == 3
    assert {one.run_id for one in store.pilots(["lead"])} == {"lead", "p0", "p1", "p2"}


def test_what_ended_since_a_time_is_found_however_long_ago_it_was_submitted(store: Store) -> None:
    old = make_record("old", created=1.0, state=RunState.DONE, ended=900.0)
    newer = [make_record(f"r-{n}", created=10.0 + n, state=RunState.DONE, ended=100.0) for n in range(20)]
    unknown = make_record("unknown", created=2.0, updated=700.0, state=RunState.LOST)
    pilot = make_record("pilot", created=3.0, state=RunState.DONE, ended=950.0, farm="old")
    store.save_many([old, *newer, unknown, pilot, make_record("live", updated=990.0)])

    assert [one.run_id for one in store.ended_since(500.0, limit=9)] == ["old", "unknown"]
    assert [one.run_id for one in store.ended_since(500.0, limit=1)] == ["old"]

    store.save(make_record("old", created=1.0))
    assert [one.run_id for one in store.ended_since(500.0, limit=9)] == ["unknown"]


def test_a_deleted_run_is_gone(store: Store) -> None:
    store.save(RECORD)

    assert store.delete(RECORD.run_id)
    assert not store.delete(RECORD.run_id)
    assert store.list() == ()


@dataclass(frozen=True, kw_only=True)
class Facts:
    gpus: int


def test_a_kept_value_comes_back_until_it_is_too_old(tmp_path: Path) -> None:
    Store(tmp_path / "db", clock=lambda: 100.0).keep("facts", Facts(gpus=4))
    later = Store(tmp_path / "db", clock=lambda: 150.0)

    assert later.kept("facts", 60, kind=Facts) == Facts(gpus=4)
    assert later.kept("facts", 40, kind=Facts) is None
    assert later.kept("facts", kind=dict) == {"gpus": 4}
    assert later.kept("facts", kind=int) is None
    assert later.kept("other", kind=dict) is None


def test_a_value_kept_in_the_future_is_not_believed(tmp_path: Path) -> None:
    Store(tmp_path / "db", clock=lambda: 9000.0).keep("facts", 1)

    assert Store(tmp_path / "db", clock=lambda: 100.0).kept("facts", 60, kind=int) is None


def test_a_path_that_is_not_text_can_be_saved(store: Store) -> None:
    store.save(replace(RECORD, project="/home/caf\udce9"))

    assert store.load("last").project == "/home/caf\\udce9"


def test_listing_few_of_many_decodes_only_those(tmp_path: Path) -> None:
    told: list[str] = []
    store = Store(tmp_path / "db", tell=told.append)
    store.save_many(make_record(f"r-{n}", created=float(n)) for n in range(300))
    store._write("UPDATE runs SET record = x'00' WHERE created < ?", [(200.0,)])

    assert len(store.list(limit=20)) == 20
    assert told == []


def test_a_row_that_cannot_be_read_is_told_and_skipped(tmp_path: Path) -> None:
    told: list[str] = []
    store = Store(tmp_path / "db", tell=told.append)
    store.save_many([make_record("a-1"), make_record("a-2")])
    store._write("UPDATE runs SET record = ? WHERE run_id = ?", [(b'{"state": "new word"}', "a-1")])

    assert [record.run_id for record in store.list()] == ["a-2"]
    assert len(told) == 1


@pytest.mark.parametrize("nonsense", ["[1]", b"\xff", 7, '{"state": "new word"}'])
def test_a_row_that_cannot_be_read_can_be_named_and_deleted(store: Store, nonsense: object) -> None:
    store.save_many([make_record("a-1"), make_record("b-1", created=5000.0)])
    store._write("UPDATE runs SET record = ? WHERE run_id = ?", [(nonsense, "b-1")])

    with pytest.raises(StoreError, match="of run b-1") as caught:
        store.load("b-1")

    assert "rm --keep-folder b-1" in (caught.value.hint or "")
    assert store.unreadable(RECORD.site) == ("b-1",)
    assert store.unreadable("elsewhere") == ()
    assert store.find_id("b") == store.find_id("last") == "b-1"
    assert store.delete("b-1")
    assert store.load("last").run_id == "a-1"


def test_a_kept_value_that_is_nonsense_is_as_if_it_were_not_there(store: Store) -> None:
    for time, value in ((1, 7), ("noon", b"1"), (1, b"\xff")):
        store._write("INSERT OR REPLACE INTO kept VALUES ('k', ?, ?)", [(time, value)])

        assert store.kept("k", 1e12, kind=int) is None


def test_importing_the_store_does_not_import_sqlite() -> None:
    import subprocess

    code = "import sys, windlass.edges.store; sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_when = st.floats(0, 1e10)
_records = st.builds(
    RunRecord,
    run_id=_text.filter(bool),
    name=_text,
    site=_text,
    folder=_text,
    command=_text,
    state=st.sampled_from(RunState),
    created=_when,
    updated=_when,
    project=st.none() | _text,
    submissions=st.lists(st.builds(Submission, number=st.integers(1, 9), token=_text), max_size=3).map(tuple),
    started=st.none() | _when,
    exit_code=st.none() | st.integers(-300, 300),
    results=st.lists(_text, max_size=3).map(tuple),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_records)
def test_any_record_survives_the_round_trip(tmp_path_factory: pytest.TempPathFactory, record: RunRecord) -> None:
    with Store(tmp_path_factory.mktemp("store") / "db") as store:
        store.save(record)

        assert store.list() == (record,)


def test_what_was_kept_under_one_beginning_is_found_together(tmp_path: Path) -> None:
    with Store(tmp_path / "db", clock=iter([1.0, 2.0, 3.0, 4.0]).__next__) as store:
        for key, value in (("a:1", 1), ("a:2", 2), ("ab", 3), ("a:3", "no number")):
            store.keep(key, value)

        assert store.kept_below("a:", kind=int, limit=10) == (2, 1)
        assert store.kept_below("a:", kind=int, limit=2) == (2,)


def test_last_is_the_run_that_was_started_or_resumed_last(tmp_path: Path) -> None:
    now = 100.0
    with Store(tmp_path / "windlass.db", clock=lambda: now) as store:
        store.save_many([make_record("old-1", created=1.0), make_record("new-1", created=50.0)])
        assert store.load("last").run_id == "new-1"

        store.note_resumed("old-1")
        assert store.load("last").run_id == "old-1"
        store.save(make_record("newest-1", created=150.0))
        assert store.load("last").run_id == "newest-1"
        store.delete("newest-1")
        store.delete("old-1")
        assert store.load("last").run_id == "new-1"
