"""A study asked and told by numbers: as Optuna's own loop does it."""

from pathlib import Path

import optuna

from windlass.core.sweep.space import Dimension
from windlass.core.sweep.trials import TrialState
from windlass.core.sweep.wish import Method, Pruner, Sweep, list_dimensions
from windlass.edges.study import Study

SWEEP = Sweep(
    command="t {bad}",
    space={"bad": "0..1"},
    method=Method.OPTUNA,
    trials=40,
    parallel=1,
    seed=3,
    prune=Pruner.HYPERBAND,
)
NAME = "one"  # by which Optuna puts trials into brackets
STEPS = 27


def curve(bad: float, step: int) -> float:
    return bad + 1 / (step + 1)


def train(trial: optuna.Trial) -> float:
    bad = trial.suggest_float("bad", 0, 1)
    for step in range(STEPS):
        trial.report(curve(bad, step), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return curve(bad, STEPS)


def train_by_numbers(study: Study, space: tuple[Dimension, ...]) -> None:
    number, values = study.ask(space)
    bad = float(values["bad"])
    for step in range(STEPS):
        study.report(number, step, curve(bad, step))
        if study.is_hopeless(number):
            return study.tell(number, TrialState.STOPPED, None)
    return study.tell(number, TrialState.DONE, curve(bad, STEPS))


def test_hyperband_stops_the_same_trials_as_optuna_alone(tmp_path: Path) -> None:
    alone = optuna.create_study(
        study_name=NAME, sampler=optuna.samplers.TPESampler(seed=3), pruner=optuna.pruners.HyperbandPruner()
    )
    alone.optimize(train, n_trials=40)

    ours = Study(tmp_path / "journal", NAME, SWEEP, memory=tmp_path / "memory")
    for _ in range(40):
        train_by_numbers(ours, tuple(list_dimensions(SWEEP)))

    found = ours._study.get_trials(deepcopy=False)
    assert [one.params for one in found] == [one.params for one in alone.trials]
    assert [one.state for one in found] == [one.state for one in alone.trials]
    assert {one.state for one in found} == {optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED}
