"""Searches by Optuna through Windlass: the same as Optuna alone, hopeless trials ended, and on after a crash."""

import math
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import optuna
import pytest

from windlass.app.farms.looking import load_status
from windlass.app.planning import Wanted
from windlass.app.session import Session
from windlass.app.sweeps.following import follow_sweep
from windlass.app.sweeps.knowing import open_study
from windlass.app.sweeps.looking import SweepReader, look_at_sweep
from windlass.app.sweeps.resuming import More, resume_sweep
from windlass.app.sweeps.starting import plan_sweep, send_sweep
from windlass.core.farm.values import FarmNeeds
from windlass.core.record import RunRecord
from windlass.core.sweep.trials import TrialState
from windlass.core.sweep.wish import Method, Pruner, Sampler, Sweep, list_dimensions
from windlass.edges.sweep_files import find_folder, load_seen
from windlass.errors import UsageError

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)

BRANIN = """
import math, sys
from windlass_job import run
x, y = float(sys.argv[1]), float(sys.argv[2])
b, c = 5.1 / (4 * math.pi**2), 5 / math.pi
run.log(0, loss=(y - b * x**2 + c * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)
"""
SLOW = """
import os, sys, time
from windlass_job import run
bad = float(sys.argv[1])
is_long = bad >= 0.5 and int(os.environ["WINDLASS_TASK"]) >= 6  # the pruner looks at five trials first
for step in range(600 if is_long else 3):
    run.log(step, loss=bad + 1 / (step + 1))
    if is_long:
        time.sleep(0.1)
"""
ENDLESS = """
import sys
from windlass_job import run
for step in (0, float("inf"), 2, float("nan"), float("-inf")):
    run.log(step, loss=float(sys.argv[1]))
"""
SPACE = {"x": "-5..10", "y": "0..15"}
Start = Callable[..., RunRecord]


@pytest.fixture
def start(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text('[run]\nname = "search"\ncommand = "true"\n')
    (project / "branin.py").write_text(BRANIN)
    (project / "slow.py").write_text(SLOW)
    (project / "endless.py").write_text(ENDLESS)

    def act(**wish: Any) -> RunRecord:
        wish = {"command": "python3 branin.py {x} {y}", "space": SPACE, "method": Method.OPTUNA, "seed": 3, **wish}
        planned = plan_sweep(session, Wanted(project=project, site="here"), Sweep(**wish), needs=FarmNeeds(), pilots=1)
        return send_sweep(session, planned)

    return act


def load_study(session: Session, record: RunRecord) -> optuna.Study:
    """As anybody reads it who has Optuna."""
    reader = SweepReader(session=session, record=record)
    reader.look()
    assert reader.card is not None
    assert reader.card.study is not None
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(reader.card.study))
    return optuna.load_study(study_name=reader.card.token, storage=storage)


def branin(trial: optuna.trial.BaseTrial) -> float:
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    b, c = 5.1 / (4 * math.pi**2), 5 / math.pi
    return float((y - b * x**2 + c * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def test_one_after_another_it_is_exactly_what_optuna_does_alone(session: Session, start: Start) -> None:
    alone = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=3))
    alone.optimize(branin, n_trials=14)  # the first ten are drawn at random, the others follow from them

    record = start(trials=14, parallel=1)
    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    assert [dict(one.values) for one in seen.trials] == [one.params for one in alone.trials]
    assert [one.metric for one in seen.trials] == [one.value for one in alone.trials]
    assert seen.best is not None
    assert seen.best.metric == alone.best_value
    assert seen.importance_by.endswith(f"Optuna {optuna.__version__}")
    assert dict(seen.importance) == optuna.importance.get_param_importances(alone)


def test_whoever_looks_later_hears_the_same_of_what_mattered(session: Session, start: Start) -> None:
    record = start(trials=10, parallel=4)
    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)
    for journal in find_folder(session.folders).glob("*.journal"):
        journal.unlink()  # as on another laptop

    later = look_at_sweep(session, record)

    assert later.importance_by.startswith("PED-ANOVA of Optuna")
    assert (later.importance, later.importance_by) == (seen.importance, seen.importance_by)
    assert load_seen(session.folders, record.run_id) == later, "which the dashboard shows"


def test_eight_at_once_are_all_tried_and_the_farm_is_closed_behind_them(session: Session, start: Start) -> None:
    record = start(trials=20, parallel=8)
    most = 0

    def count(seen: Any) -> None:
        nonlocal most
        most = max(most, sum(not one.state.is_over for one in seen.trials))

    seen = follow_sweep(session, record, show=count, sleep=lambda _: None)

    assert len(seen.trials) == 20
    assert {one.state for one in seen.trials} == {TrialState.DONE}
    assert most <= 8
    assert load_status(session, record).is_closed


def test_eight_at_once_by_tpe_lose_no_trial_and_double_none(session: Session, start: Start, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    record = start(command=f"echo {{trial}} {{x}} {{y}} >> {ran}; python3 branin.py {{x}} {{y}}", trials=40, parallel=8)

    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    told = [(dict(one.values), one.metric) for one in seen.trials]
    assert len({(one["x"], one["y"]) for one, _ in told}) == 40
    assert [metric for _, metric in told] == [branin(optuna.trial.FixedTrial(one)) for one, _ in told]
    assert sorted(ran.read_text().splitlines()) == sorted(
        f"{n} {one['x']} {one['y']}" for n, (one, _) in enumerate(told)
    )
    assert [(one.params, one.value) for one in load_study(session, record).trials] == told


def test_a_pilot_has_time_for_all_rounds_of_a_search(session: Session, tmp_path: Path) -> None:
    (tmp_path / "windlass.toml").write_text('[run]\nname = "search"\ncommand = "true"\n')
    sweep = Sweep(command="true {x} {y}", space=SPACE, method=Method.OPTUNA, trials=60, parallel=2)
    needs = FarmNeeds(task_time=timedelta(minutes=30))

    planned = plan_sweep(session, Wanted(project=tmp_path, site="here"), sweep, needs=needs)

    assert planned.farm.size.at_once == 2
    assert planned.farm.planned.plan.total_time >= 30 * timedelta(minutes=30)


def test_eight_at_once_lose_nothing_but_order(session: Session, start: Start) -> None:
    alone = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    alone.optimize(branin, n_trials=16)

    seen = follow_sweep(
        session, start(trials=16, parallel=8, sampler=Sampler.RANDOM), show=lambda _: None, sleep=lambda _: None
    )

    assert [(dict(one.values), one.metric) for one in seen.trials] == [(one.params, one.value) for one in alone.trials]


def test_a_hopeless_trial_is_stopped_and_its_slot_is_free(session: Session, start: Start) -> None:
    record = start(
        command="python3 slow.py {bad}", space={"bad": "0..1"}, trials=12, parallel=2, prune=Pruner.MEDIAN, seed=1
    )

    seen = follow_sweep(session, record, show=lambda _: None)

    hopeless = [one for one in seen.trials[6:] if float(one.values["bad"]) >= 0.5]
    assert len(seen.trials) == 12
    assert hopeless
    assert {one.state for one in hopeless} == {TrialState.STOPPED}
    assert all(one.seconds is not None and one.seconds < 50 for one in hopeless)  # of one minute
    assert {one.state for one in seen.trials if one not in hopeless} == {TrialState.DONE}


def test_cmaes_one_after_another_is_exactly_what_optuna_does_alone(session: Session, start: Start) -> None:
    alone = optuna.create_study(sampler=optuna.samplers.CmaEsSampler(seed=3))
    alone.optimize(branin, n_trials=12)

    record = start(trials=12, parallel=1, sampler=Sampler.CMAES)
    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    assert [dict(one.values) for one in seen.trials] == [one.params for one in alone.trials]


def test_steps_that_are_no_numbers_are_none(session: Session, start: Start) -> None:
    record = start(command="python3 endless.py {x}", space={"x": "0..1"}, trials=3, parallel=1, prune=Pruner.MEDIAN)

    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    assert {one.state for one in seen.trials} == {TrialState.DONE}
    study = load_study(session, record)
    assert [sorted(one.intermediate_values) for one in study.trials] == [[0, 2]] * 3


def test_a_search_is_not_resumed_for_somebody_who_leaves(session: Session, start: Start) -> None:
    record = start(trials=1, parallel=1)
    follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)
    before = load_status(session, record)

    with pytest.raises(UsageError, match="must stay"):
        resume_sweep(session, record, More(trials=2, space={"x": "9..10"}), stays=False)

    after = load_status(session, record)
    assert (after.is_closed, len(after.pilots)) == (True, len(before.pilots))
    reader = SweepReader(session=session, record=record)
    reader.look()
    assert reader.card is not None
    assert (reader.card.sweep.trials, dict(reader.card.sweep.space)) == (1, SPACE)


def test_after_a_crash_between_asking_and_adding_nothing_is_asked_twice(session: Session, start: Start) -> None:
    record = start(trials=6, parallel=2)
    reader = SweepReader(session=session, record=record)
    reader.look()
    assert reader.card is not None
    study = open_study(session, reader.card)
    number, values = study.ask(list_dimensions(reader.card.sweep))  # and then the laptop dies
    with open(str(reader.card.study), "ab") as journal:
        journal.write(b'{"op_code": 4, "work')

    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    assert number == 2
    assert seen.trials[2].values == values
    assert len(seen.trials) == 6
    assert {one.state for one in seen.trials} == {TrialState.DONE}
    again = open_study(session, reader.card)
    assert (again.count, again.list_open()) == (6, frozenset())


def test_a_trial_that_was_cut_short_while_it_was_asked_for_gets_the_rest_of_its_values(
    session: Session, start: Start
) -> None:
    record = start(trials=3, parallel=1)
    reader = SweepReader(session=session, record=record)
    reader.look()
    assert reader.card is not None
    study = open_study(session, reader.card)
    study.ask(list_dimensions(reader.card.sweep)[:1])

    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    assert [set(one.values) for one in seen.trials] == [{"x", "y"}] * 3
    assert {one.state for one in seen.trials} == {TrialState.DONE}


def test_more_trials_in_another_range(session: Session, start: Start) -> None:
    record = start(trials=3, parallel=2)
    follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    resume_sweep(session, record, More(trials=4, space={"x": "9..10"}))
    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    assert len(seen.trials) == 7
    assert all(9 <= float(one.values["x"]) <= 10 for one in seen.trials[3:])


def test_optuna_refuses_other_words_before_anything_changes(session: Session, start: Start) -> None:
    record = start(command="python3 branin.py {x} {y}", space={"x": "1,2", "y": "0..15"}, trials=1, parallel=1)

    for other in ({"x": "1,3"}, {"y": "log:1..15"}, {"y": "int:0..15"}):
        with pytest.raises(UsageError, match="a range may change, a list may not"):
            resume_sweep(session, record, More(trials=1, space=other))

    seen = follow_sweep(session, record, show=lambda _: None)
    assert seen.sweep.space["x"] == "1,2"


def test_a_study_that_is_gone_is_made_anew_from_the_trials(session: Session, start: Start) -> None:
    record = start(trials=2, parallel=1)
    reader = SweepReader(session=session, record=record)
    reader.look()
    assert reader.card is not None
    Path(str(reader.card.study)).unlink()

    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: None)

    assert [(one.params, one.value) for one in load_study(session, record).trials] == [
        (dict(one.values), one.metric) for one in seen.trials
    ]
    assert len({one.values["x"] for one in seen.trials}) == 2
