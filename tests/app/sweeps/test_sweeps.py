"""Sweeps on every engine: started, followed, looked at, gone on with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from windlass.app.planning import Wanted
from windlass.app.session import Session
from windlass.app.sweeps.following import follow_sweep
from windlass.app.sweeps.looking import look_at_sweep
from windlass.app.sweeps.resuming import More, change, resume_sweep
from windlass.app.sweeps.starting import plan_sweep, send_sweep
from windlass.core.farm.values import FarmNeeds
from windlass.core.record import RunRecord
from windlass.core.sweep.drawing import draw
from windlass.core.sweep.trials import TrialState
from windlass.core.sweep.wish import Sweep, list_dimensions, settle
from windlass.edges.sweep_files import load_seen
from windlass.errors import UsageError

TRAIN = """
import sys
from windlass_job import run
x, kind = float(sys.argv[1]), sys.argv[2]
if kind == "bad":
    raise ValueError("it cannot be done with %s" % x)
for step in range(3):
    run.log(step, loss=(x - 0.3) ** 2 + step, other=1)
run.done()
print("accuracy = %r" % x)
"""
COMMAND = "python3 train.py {x} {kind}"
Start = Callable[[Sweep], RunRecord]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text('[run]\nname = "many"\ncommand = "true"\n')
    (folder / "train.py").write_text(TRAIN)
    return folder


@pytest.fixture
def start(session: Session, project: Path, site_name: str, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")

    def act(sweep: Sweep) -> RunRecord:
        wanted = Wanted(project=project, site=site_name)
        return send_sweep(session, plan_sweep(session, wanted, sweep, needs=FarmNeeds(), pilots=1))

    return act


@pytest.mark.parametrize("session", ENGINES, indirect=True)
def test_trials_are_drawn_run_measured_and_ranked(session: Session, start: Start) -> None:
    sweep = Sweep(command=COMMAND, space={"x": "0..1", "kind": "good,bad"}, trials=8, seed=1)

    record = start(sweep)
    seen = follow_sweep(session, record, show=lambda _: None)

    assert [one.values for one in seen.trials] == [
        draw(list_dimensions(sweep), seed=1, trial=number) for number in range(8)
    ]
    good = [one for one in seen.trials if one.values["kind"] == "good"]
    assert {one.state for one in good} == {TrialState.DONE}
    assert [one.metric for one in good] == [pytest.approx((float(one.values["x"]) - 0.3) ** 2 + 2) for one in good]
    assert seen.best == min(good, key=lambda one: one.metric or 9.0)
    (failure,) = seen.failures
    assert failure.line.startswith("ValueError: it cannot be done with 0.")
    assert len(failure.trials) == 8 - len(good) > 0
    assert seen.told == ("loss", "other")
    assert load_seen(session.folders, record.run_id) == seen


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_number_is_found_in_what_is_printed_and_the_metric_may_be_another(session: Session, start: Start) -> None:
    record = start(
        Sweep(command=COMMAND, space={"x": "1,2", "kind": "a"}, metric="accuracy", pattern="accuracy = (.*)")
    )

    seen = follow_sweep(session, record, show=lambda _: None)

    assert [one.metric for one in seen.trials] == [1.0, 2.0]


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_metric_that_nobody_tells_is_told(session: Session, start: Start) -> None:
    record = start(Sweep(command=COMMAND, space={"x": "1,2", "kind": "a"}, metric="lost"))

    seen = follow_sweep(session, record, show=lambda _: None)

    assert seen.best is None
    assert seen.advice == "no trial told lost; they told loss, other: --metric loss"


@pytest.mark.parametrize(
    ("space", "hint"),
    [
        ({}, "give it more values: x=…"),
        ({"x": "3,4"}, "without --trials"),
        ({"x": "0..9"}, "without --trials, and with how many of x: x=0..9/5"),
    ],
)
def test_a_grid_grows_by_values_and_not_by_a_number(space: dict[str, str], hint: str) -> None:
    grid = settle(Sweep(command="train {x}", space={"x": "1,2"}))

    with pytest.raises(UsageError, match="as many trials as it has") as refusal:
        change(grid, More(trials=2, space=space), 2)

    assert refusal.value.hint == hint


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_more_trials_and_other_values_are_added_once(session: Session, start: Start) -> None:
    record = start(Sweep(command=COMMAND, space={"x": "1,2", "kind": "a"}))
    follow_sweep(session, record, show=lambda _: None)

    first = resume_sweep(session, record, More(space={"x": "2,3"}))
    again = resume_sweep(session, record, More(space={"x": "2,3"}))
    seen = follow_sweep(session, record, show=lambda _: None)

    assert (first.added, again.added) == (1, 0)
    assert [one.values["x"] for one in seen.trials] == [1, 2, 3]
    assert {one.state for one in seen.trials} == {TrialState.DONE}
    with pytest.raises(UsageError, match="no values of y"):
        resume_sweep(session, record, More(space={"y": "1"}))
    with pytest.raises(UsageError, match="as many trials") as caught:
        resume_sweep(session, record, More(trials=3))
    assert caught.value.hint == "give it more values: x=…"


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_random_goes_on_with_the_numbers_that_a_longer_one_would_have_drawn(session: Session, start: Start) -> None:
    sweep = Sweep(command=COMMAND, space={"x": "0..1", "kind": "a"}, trials=2, seed=7)
    record = start(sweep)

    resume_sweep(session, record, More(trials=3))
    seen = follow_sweep(session, record, show=lambda _: None)

    space = list_dimensions(sweep)
    assert [one.values for one in seen.trials] == [draw(space, seed=7, trial=number) for number in range(5)]


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_table_is_tried_row_by_row(session: Session, start: Start, project: Path) -> None:
    (project / "t.csv").write_text('x,kind\n1,a\n2,"it\'s $HOME"\n')
    record = start(Sweep(command=COMMAND, table="t.csv"))

    seen = follow_sweep(session, record, show=lambda _: None)

    assert [one.values for one in seen.trials] == [{"x": 1, "kind": "a"}, {"x": 2, "kind": "it's $HOME"}]
    assert {one.state for one in look_at_sweep(session, record).trials} == {TrialState.DONE}


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_what_is_wrong_is_told_before_anything_is_sent(session: Session, start: Start) -> None:
    for sweep, words in (
        (Sweep(command="train.py {y}", space={"x": "1"}), r"\{y\}"),
        (Sweep(command=COMMAND, table="none.csv"), "cannot be read"),
        (Sweep(command=COMMAND, space={"x": "0..1", "kind": "a"}), "how many trials"),
    ):
        with pytest.raises(UsageError, match=words):
            start(sweep)
    assert not session.store.list(limit=None)
