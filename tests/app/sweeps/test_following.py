"""Following a sweep: it ends when the sweep was cancelled, and goes on when the site does not answer for a while."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Places
from windlass.app.farms.ending import cancel_farm
from windlass.app.farms.looking import load_status
from windlass.app.following import wait
from windlass.app.planning import Wanted
from windlass.app.record_words import format_tasks
from windlass.app.session import Session
from windlass.app.sweeps.following import follow_sweep
from windlass.app.sweeps.resuming import More, resume_sweep
from windlass.app.sweeps.starting import plan_sweep, send_sweep
from windlass.core.farm.values import FarmNeeds
from windlass.core.record import RunRecord
from windlass.core.sweep.trials import TrialState
from windlass.core.sweep.wish import Method, Pruner, Sweep

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)

HOPELESS = """
import sys, time
from windlass_job import run
bad = int(sys.argv[1])
for step in range(600 if bad > 5 else 3):
    run.log(step, loss=bad + 1 / (step + 1))
    time.sleep(0.1 if bad > 5 else 0)
"""
SLOW = "test -e go || sleep 300; echo loss={x}"
Start = Callable[..., RunRecord]


@pytest.fixture
def start(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text('[run]\nname = "follow"\ncommand = "true"\n')

    def act(**wish: Any) -> RunRecord:
        sweep = Sweep(**{"pattern": "loss=(.*)", **wish})
        return send_sweep(
            session, plan_sweep(session, Wanted(project=project, site="here"), sweep, needs=FarmNeeds(), pilots=1)
        )

    (project / "hopeless.py").write_text(HOPELESS)
    return act


@pytest.fixture
def tell(session: Session) -> list[str]:
    told: list[str] = []
    session.tell = told.append
    return told


@pytest.mark.parametrize(
    "wish",
    [
        {"space": {"x": "1,2,3,4,5,6"}},
        {"space": {"x": "0..1"}, "method": Method.OPTUNA, "trials": 6, "parallel": 2, "seed": 1},
    ],
    ids=["grid", "optuna"],
)
def test_it_ends_when_the_sweep_is_cancelled_and_goes_on_later(
    session: Session, start: Start, wish: dict[str, Any]
) -> None:
    record = start(command=SLOW, **wish)

    def cancel(_: float) -> None:
        if not load_status(session, record).is_closed:
            cancel_farm(session, record)

    seen = follow_sweep(session, record, show=lambda _: None, sleep=cancel)

    assert not seen.is_over
    assert {one.state for one in seen.trials} == {TrialState.WAITING}
    (Path(record.folder) / "code" / "go").touch()
    resume_sweep(session, record, More())
    seen = follow_sweep(session, record, show=lambda _: None)
    assert (seen.is_over, len(seen.trials)) == (True, 6)
    assert {one.state for one in seen.trials} == {TrialState.DONE}


@pytest.mark.parametrize(
    "wish",
    [
        {"space": {"x": "1,2,3"}},
        {"space": {"x": "0..1"}, "method": Method.OPTUNA, "trials": 3, "parallel": 2, "seed": 1},
    ],
    ids=["grid", "optuna"],
)
def test_slurm_that_does_not_answer_for_a_while_is_asked_again(
    session: Session, start: Start, places: Places, tell: list[str], wish: dict[str, Any]
) -> None:
    record = start(command="sleep 1; echo loss={x}", **wish)
    mend = break_squeue(places)

    def sleep(_: float) -> None:
        if any("trying again" in line for line in tell):
            mend()

    seen = follow_sweep(session, record, show=lambda _: None, sleep=sleep)

    assert {one.state for one in seen.trials} == {TrialState.DONE}
    assert sum("trying again" in line for line in tell) == 1


def test_hopeless_trials_of_a_grid_are_stopped_and_their_places_are_free(session: Session, start: Start) -> None:
    bad = ",".join(map(str, range(12)))

    record = start(command="python3 hopeless.py {bad}", space={"bad": bad}, prune=Pruner.MEDIAN, pattern=None)
    seen = follow_sweep(session, record, show=lambda _: None)

    assert [one.state for one in seen.trials] == [TrialState.DONE] * 6 + [TrialState.STOPPED] * 6
    assert all(one.seconds is not None and one.seconds < 50 for one in seen.trials)  # of one minute
    assert seen.best is seen.trials[0]
    shown = wait(session, record)
    status = load_status(session, record)
    assert (status.done, status.failed, status.stopped) == (6, 0, 6)
    assert (status.is_over, status.left) == (True, 0)
    told = "".join(path.read_text() for path in (Path(record.folder) / "logs").iterdir())
    assert "6 done here, 0 failed, 6 stopped; 12 of 12 tasks over" in told
    assert format_tasks(shown) == "6 of 12 tasks stopped"


def break_squeue(places: Places) -> Callable[[], None]:
    """Whatever comes back mends it."""
    program = places.pocket / "bin" / "squeue"
    kept = program.with_name("squeue.kept")
    program.rename(kept)
    program.write_text("#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact slurm controller' >&2\nexit 1\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def mend() -> None:
        if kept.is_symlink() or kept.exists():
            kept.replace(program)

    return mend
