"""What became of trials: ranked, grouped, and which of their values mattered."""

import math
import random
from dataclasses import replace

import pytest

from windlass.core.sweep.importance import measure_importance
from windlass.core.sweep.measures import MeasureReader
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import Trial, TrialState, find_best, find_history, group_failures, rank
from windlass.core.sweep.values import Value
from windlass.core.sweep.wish import Goal, Sweep


def make_trial(number: int, metric: float | None, state: TrialState = TrialState.DONE, line: str = "") -> Trial:
    return Trial(number=number, values={}, state=state, metric=metric, last_line=line, code=1)


def test_the_best_comes_first_and_what_has_no_number_last() -> None:
    trials = [
        make_trial(0, 3.0),
        make_trial(1, 1.0),
        make_trial(2, math.nan),
        make_trial(3, 0.5, TrialState.STOPPED),
        make_trial(4, None, TrialState.FAILED),
        make_trial(5, 1.0),
    ]

    assert [one.number for one in rank(trials, Goal.MIN)] == [1, 5, 0, 2, 3, 4]
    assert [one.number for one in rank(trials, Goal.MAX)] == [0, 1, 5, 2, 3, 4]
    best = find_best(trials, Goal.MIN)
    assert best is not None
    assert best.number == 1
    assert find_best(trials[2:5], Goal.MIN) is None
    assert find_history(trials, Goal.MIN) == [(0, 3.0, 3.0), (1, 1.0, 1.0), (5, 1.0, 1.0)]


@pytest.mark.parametrize("goal", Goal)
def test_infinity_of_either_sign_is_the_worst_and_is_told(goal: Goal) -> None:
    metrics = (math.inf, 3.0, -math.inf, math.nan)
    trials = tuple(make_trial(number, metric) for number, metric in enumerate(metrics))
    seen = SweepSeen(sweep_id="s", site="here", sweep=Sweep(goal=goal), trials=trials, asked=0.0, told=("loss",))
    none_ended = replace(seen, trials=trials[2:])

    assert [one.number for one in seen.ranked] == [1, 0, 2, 3]
    assert seen.best == trials[1]
    assert seen.advice == "3 trials ended with a loss that is infinite or no number (0, 2, 3): that counts as the worst"
    assert none_ended.advice == (
        "2 trials ended with a loss that is infinite or no number (2, 3): that counts as the worst"
    )


def test_failures_with_the_same_words_are_one_group() -> None:
    line = "RuntimeError: tried to allocate {} MiB at {}"
    trials = [make_trial(n, None, TrialState.FAILED, line.format(n, hex(n))) for n in (3, 1, 2)]
    trials += [make_trial(9, None, TrialState.FAILED), make_trial(8, 1.0)]

    groups = group_failures(trials)

    assert [(one.line, one.trials) for one in groups] == [(line.format(3, "0x3"), (3, 1, 2)), ("exit code 1", (9,))]


def test_what_matters_is_told_from_what_does_not() -> None:
    source = random.Random(1)
    trials = []
    for number in range(60):
        values: dict[str, Value] = {
            "lr": source.random(),
            "kind": source.choice(["a", "b"]),
            "noise": source.random(),
            "same": 1,
        }
        metric = (float(values["lr"]) - 0.3) ** 2 + (0.2 if values["kind"] == "a" else 0.0)
        trials.append(Trial(number=number, values=values, state=TrialState.DONE, metric=metric))

    found = measure_importance(trials)

    assert set(found) == {"lr", "kind", "noise"}
    assert found["noise"] < 0.1 < min(found["lr"], found["kind"])
    assert sum(found.values()) <= 1.0 + 1e-9


def test_of_few_trials_or_equal_ones_nothing_is_said() -> None:
    few = [Trial(number=n, values={"x": n}, state=TrialState.DONE, metric=float(n)) for n in range(5)]
    equal = [Trial(number=n, values={"x": n}, state=TrialState.DONE, metric=1.0) for n in range(20)]

    assert measure_importance(few) == measure_importance(equal) == measure_importance([]) == {}


def test_numbers_are_read_as_they_grow_and_the_newest_try_counts() -> None:
    reader = MeasureReader("loss")

    reader.add("a", b'3 1 {"step":1,"t":1.0,"loss":5}\n3 1 {"step":2,"t":2.0,"lo')
    reader.add("a", b'ss":4,"other":1}\nrubbish\n3 x {}\n4 1 {"step":1,"t":1.0,"loss":"nan"}\n')
    reader.add("b", b'3 2 {"step":1,"t":3.0,"loss":9}\n')
    reader.add("a", b'3 1 {"step":3,"t":4.0,"loss":1}\n')

    assert reader.curves[3].steps == {1.0: 9.0}
    assert reader.curves[3].newest == 9.0
    assert math.isnan(reader.curves[4].newest or 0.0)
    assert reader.names == {"loss", "other"}
