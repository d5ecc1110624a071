"""Hopeless trials are those that Optuna's own MedianPruner would stop, at a step that others have told."""

import math
from dataclasses import replace

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.sweep.pruning import find_hopeless
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.wish import Goal

NUMBERS = st.one_of(st.integers(-5, 5).map(float), st.just(math.nan))
CURVES = st.lists(st.lists(NUMBERS, min_size=1, max_size=4), min_size=1, max_size=9)


def make_trial(number: int, *, runs: bool = False) -> Trial:
    state = TrialState.RUNNING if runs else TrialState.DONE
    return Trial(number=number, values={}, state=state, metric=None if runs else 1.0)


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("goal", Goal)
@given(ended=CURVES, told=st.lists(NUMBERS, min_size=1, max_size=5))
def test_the_same_as_by_optuna(goal: Goal, ended: list[list[float]], told: list[float]) -> None:
    study = optuna.create_study(direction="minimize" if goal is Goal.MIN else "maximize")
    for values in ended:
        steps = dict(enumerate(values))
        study.add_trial(optuna.trial.create_trial(value=1.0, intermediate_values=steps))
    mine = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING, intermediate_values=dict(enumerate(told)))

    trials = [*(make_trial(number) for number in range(len(ended))), make_trial(len(ended), runs=True)]
    curves = {number: {float(step): one for step, one in enumerate(told)} for number, told in enumerate([*ended, told])}

    is_hopeless = optuna.pruners.MedianPruner().prune(study, mine)
    if any(not math.isnan(values[len(told) - 1]) for values in ended if len(values) >= len(told)):
        assert bool(find_hopeless(trials, curves, goal)) is bool(is_hopeless)


def test_a_step_that_is_no_number_is_none() -> None:
    curves: dict[int, dict[float, float]] = {number: {0.0: 1.0} for number in range(5)}
    curves[5] = {0.0: 2.0, math.inf: 0.5, math.nan: 9.0}
    curves[6] = {math.inf: 3.0}
    trials = [*map(make_trial, range(5)), make_trial(5, runs=True), make_trial(6, runs=True)]

    assert find_hopeless(trials, curves, Goal.MAX) == []
    assert find_hopeless(trials, {**curves, 5: {0.0: 2.0}}, Goal.MIN) == [5]


def test_one_that_is_further_than_all_others_ever_came_is_judged_where_they_were() -> None:
    curves: dict[int, dict[float, float]] = {number: {0.0: 1.0, 1.0: 0.5} for number in range(5)}
    trials = [*map(make_trial, range(5)), make_trial(5, runs=True)]

    assert find_hopeless(trials, {**curves, 5: dict.fromkeys((0.0, 1.0, 30.0), 2.0)}, Goal.MIN) == [5]
    assert find_hopeless(trials, {**curves, 5: {0.0: 2.0, 1.0: 2.0, 30.0: 0.1}}, Goal.MIN) == []  # it came on
    assert find_hopeless(trials[1:], {**curves, 5: {0.0: 2.0}}, Goal.MIN) == []  # too few have ended


@pytest.mark.parametrize("lost", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("goal", Goal)
def test_those_that_ended_in_infinity_count_as_the_worst(goal: Goal, lost: float) -> None:
    diverged = [Trial(number=number, values={}, state=TrialState.DONE, metric=lost) for number in range(4)]
    good = [replace(make_trial(number), metric=1.0) for number in range(4, 9)]
    bad = 2.0 if goal is Goal.MIN else 0.5
    curves = {number: {0.0: 1.0, 1.0: lost if number < 4 else 1.0} for number in range(9)}
    running = [make_trial(9, runs=True), make_trial(10, runs=True), make_trial(11, runs=True)]
    curves |= {9: {0.0: bad, 1.0: bad}, 10: {0.0: 1.0, 1.0: 1.0}, 11: {1.0: lost}}

    assert find_hopeless([*diverged, *good, *running], curves, goal) == [9, 11]
    # One good trial is enough, where five have ended: at step 1 nothing is worse than the others, at step 0 it is.
    assert find_hopeless([*diverged, good[0], running[0]], {**curves, 9: {0.0: bad}}, goal) == [9]
    assert find_hopeless([*diverged, good[0], running[0]], curves, goal) == []
