"""[sweep] and its flags: the method that is meant, and what does not go together."""

import pytest

from windlass.core.sweep.wish import Goal, Method, Pruner, Sweep, settle
from windlass.core.toml.run_file import find_problems, read_run
from windlass.errors import UsageError


def test_the_method_follows_from_what_is_given() -> None:
    assert settle(Sweep(space={"a": "1,2", "b": "0..1/3"})).method is Method.GRID
    assert settle(Sweep(space={"a": "0..1"}, trials=5)).method is Method.RANDOM
    assert settle(Sweep(space={"a": "1,2"}, trials=5)).method is Method.RANDOM
    assert settle(Sweep(table="t.csv")).method is Method.TABLE
    assert settle(Sweep(space={"a": "0..1"}, trials=5, prune=Pruner.MEDIAN)).method is Method.OPTUNA
    assert settle(Sweep(space={"a": "1,2"}, prune=Pruner.MEDIAN)).method is Method.GRID
    assert settle(Sweep(table="t.csv", prune=Pruner.MEDIAN)).method is Method.TABLE


@pytest.mark.parametrize(
    ("sweep", "words", "hint"),
    [
        (Sweep(), "no values", "lr=log"),
        (Sweep(space={"a": "0..1"}), "how many trials", "--trials"),
        (Sweep(space={"a": "1,2"}, method=Method.GRID, trials=3), "as many trials as it has", "--method random"),
        (Sweep(method=Method.TABLE), "needs one", "--table"),
        (Sweep(table="t.csv", space={"a": "1"}), "a has values of its own", "keep one"),
        (Sweep(table="t.csv", method=Method.GRID), "lists the trials", "--method table"),
        (Sweep(space={"a": "1,2"}, method=Method.GRID, prune=Pruner.HYPERBAND), "only Optuna", "--method optuna"),
        (Sweep(space={"a": "1,2"}, pattern="loss=.*"), "where the number is", "( )"),
        (Sweep(space={"a": "1,2"}, pattern="loss=("), "no regular expression", "backslash"),
        (Sweep(space={"a": "1,2"}, trials=0), "not between", "--trials"),
    ],
)
def test_what_does_not_go_together_is_told(sweep: Sweep, words: str, hint: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        settle(sweep)

    assert hint in str(caught.value.hint)


def test_the_run_file_writes_the_same_as_the_command_line() -> None:
    section = {"space": {"lr": "log:1e-5..1e-1", "depth": [2, 4], "opt": "adam,sgd"}, "trials": 4, "goal": "max"}

    spec = read_run({"run": {"command": "x"}, "sweep": section})

    assert not isinstance(spec, tuple)
    assert spec.sweep is not None
    assert dict(spec.sweep.space) == {"lr": "log:1e-05..0.1", "depth": "2,4", "opt": "adam,sgd"}
    assert spec.sweep.goal is Goal.MAX


def test_problems_of_the_section_are_told_by_their_keys() -> None:
    section = {"space": {"lr": "log:0..1", "trial": "1", "x": []}, "pattern": "loss", "method": "gird"}

    found = {one.key: one.message for one in find_problems({"sweep": section})}

    assert "logarithm" in found["sweep.space.lr"]
    assert "number of the trial" in found["sweep.space.trial"]
    assert "no values" in found["sweep.space.x"]
    assert "( )" in found["sweep.pattern"]
    assert "grid" in found["sweep.method"]
