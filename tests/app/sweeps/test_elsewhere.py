"""A search goes on from another laptop: its study is made anew there from what the trials told, and caught up with."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import optuna
import pytest

from windlass.app.farms.adding import add_tasks
from windlass.app.farms.sending import pack_rows
from windlass.app.planning import Wanted
from windlass.app.refreshing import rebuild
from windlass.app.session import Session
from windlass.app.sweeps.following import follow_sweep
from windlass.app.sweeps.knowing import open_study
from windlass.app.sweeps.looking import SweepReader, find_sweep
from windlass.app.sweeps.resuming import More, resume_sweep
from windlass.app.sweeps.starting import plan_sweep, send_sweep
from windlass.core.farm.rows import Task, make_row
from windlass.core.farm.values import COMMANDS, FarmNeeds
from windlass.core.record import RunRecord
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import TrialState
from windlass.core.sweep.wish import Method, Pruner, Sweep, list_dimensions
from windlass.edges.sweep_files import find_journal
from windlass.errors import StoreError, UsageError

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)

TRAIN = """
import sys
from windlass_job import run
x, kind = float(sys.argv[1]), sys.argv[2]
for step in range(3):
    run.log(step, loss=x * x + step)
sys.exit(kind == "bad" and 3)
"""


@pytest.fixture
def record(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """A search of six trials that has come to its end."""
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text('[run]\nname = "search"\ncommand = "true"\n')
    (project / "train.py").write_text(TRAIN)
    sweep = Sweep(
        command="python3 train.py {x} {kind}",
        space={"x": "0..1", "kind": "good,bad"},
        method=Method.OPTUNA,
        prune=Pruner.MEDIAN,
        trials=6,
        parallel=2,
        seed=4,
    )
    planned = plan_sweep(session, Wanted(project=project, site="here"), sweep, needs=FarmNeeds(), pilots=1)
    record = send_sweep(session, planned)
    follow(session, record)
    return record


@pytest.fixture
def other(tmp_path: Path, session: Session) -> Iterator[Session]:
    """Another laptop, with the same site."""
    folders = replace(session.folders, state=tmp_path / "another-laptop")
    with Session(folders=folders, environ=os.environ) as opened:
        yield opened


@pytest.fixture
def leave(session: Session, record: RunRecord, tmp_path: Path) -> Callable[[], Callable[[], Path]]:
    """Takes the study's file away with its laptop; what comes back brings it."""
    path = find_journal(session.folders, find_token(session, record))

    def act() -> Callable[[], Path]:
        kept = path.rename(tmp_path / "kept.journal")
        return lambda: kept.replace(path)

    return act


def follow(session: Session, record: RunRecord) -> SweepSeen:
    return follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)


def find_token(session: Session, record: RunRecord) -> str:
    reader = SweepReader(session=session, record=record)
    reader.look()
    assert reader.card is not None
    return reader.card.token


def load_trials(session: Session, record: RunRecord) -> list[optuna.trial.FrozenTrial]:
    token = find_token(session, record)
    backend = optuna.storages.journal.JournalFileBackend(str(find_journal(session.folders, token)))
    return optuna.load_study(study_name=token, storage=optuna.storages.JournalStorage(backend)).trials


def test_it_goes_on_there_and_then_here_again(
    session: Session, other: Session, record: RunRecord, leave: Callable[[], Callable[[], Path]]
) -> None:
    ours = load_trials(session, record)
    come_back = leave()
    rebuild(other, "here")

    there = find_sweep(other, record.run_id)
    resume_sweep(other, there, More(trials=4, space={"x": "2..3"}))
    seen = follow(other, there)

    assert len(seen.trials) == 10
    assert all(2 <= float(one.values["x"]) <= 3 for one in seen.trials[6:])
    assert len({one.values["x"] for one in seen.trials}) == 10
    assert {one.state for one in seen.trials} <= {TrialState.DONE, TrialState.FAILED, TrialState.STOPPED}
    theirs = load_trials(other, record)
    assert [(one.number, one.params, one.state, one.value, one.intermediate_values) for one in theirs[:6]] == [
        (one.number, one.params, one.state, one.value, one.intermediate_values) for one in ours
    ]
    come_back()
    resume_sweep(session, record, More(trials=2))
    assert len(follow(session, record).trials) == 12
    assert [one.params for one in load_trials(session, record)[:10]] == [one.params for one in theirs]


def test_a_study_that_went_another_way_is_told(
    session: Session, other: Session, record: RunRecord, leave: Callable[[], Callable[[], Path]]
) -> None:
    reader = SweepReader(session=session, record=record)
    reader.look()
    assert reader.card is not None
    open_study(session, reader.card).ask(list_dimensions(reader.card.sweep))  # and then this laptop dies
    come_back = leave()
    rebuild(other, "here")
    resume_sweep(other, find_sweep(other, record.run_id), More(trials=2))
    follow(other, find_sweep(other, record.run_id))
    come_back()

    with pytest.raises(UsageError, match="trial 6 of this machine's study is another") as caught:
        follow(session, record)

    assert caught.value.hint is not None
    Path(caught.value.hint.split()[1].rstrip(";")).unlink()
    assert follow(session, record).is_over
    assert len(load_trials(session, record)) == 8


def test_who_searches_while_another_adds_is_told(session: Session, record: RunRecord) -> None:
    resume_sweep(session, record, More(trials=6))
    rows = [make_row(Task(command="true", values={"x": "0.5", "kind": "good"}))]

    def add(_: float) -> None:
        add_tasks(session, record, pack_rows(rows), COMMANDS)

    with pytest.raises(StoreError, match="somebody else adds trials"):
        follow_sweep(session, record, show=lambda _: None, sleep=add)
