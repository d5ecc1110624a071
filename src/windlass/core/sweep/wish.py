"""What the user wants of a sweep: [sweep] of windlass.toml, and what the command line says on top of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from windlass.core.sweep.space import MOST_TRIALS, Dimension, Kind, format_dimension, read_dimension
from windlass.errors import UsageError

_SOME = 40  # trials, in hints


class Method(StrEnum):
    GRID = "grid"  # each value with each
    RANDOM = "random"  # drawn
    TABLE = "table"  # as a file lists them
    OPTUNA = "optuna"  # chosen by what earlier trials brought


_ENDLESS = (Method.RANDOM, Method.OPTUNA)  # as many trials as one asks for; the others have as many as they have
_LEARNING = (Method.OPTUNA,)  # nothing is known of a trial before others have ended


class Goal(StrEnum):
    MIN = "min"
    MAX = "max"


class Sampler(StrEnum):
    TPE = "tpe"
    RANDOM = "random"
    CMAES = "cmaes"


class Pruner(StrEnum):
    MEDIAN = "median"
    HYPERBAND = "hyperband"


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """[sweep]: many trials of one command, with other values each; `windlass sweep`."""

    command: str | None = None  # with placeholders, such as "python train.py --lr {lr}"; default: run.command
    space: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # lr = "log:1e-5..1e-1", depth = [2]
    table: str | None = None  # a file with a row for each trial: CSV, or JSON lines
    method: Method | None = None  # default: table where one is named, grid where all values are, else random
    trials: int | None = None  # how many, of random and optuna
    seed: int | None = None  # the same seed draws the same values; default: another one each time, told
    metric: str = "loss"  # the number that counts: the last of this name that a trial tells
    goal: Goal = Goal.MIN  # whether small or large numbers are good
    pattern: str | None = None  # finds the number in what a trial prints, such as "loss=([0-9.e+-]+)"; default: run.log
    sampler: Sampler = Sampler.TPE  # of optuna
    prune: Pruner | None = None  # stops trials that do worse than others did at the same step; hyperband: of optuna
    parallel: int = 8  # of optuna: trials at once; the fewer, the more each learns from those before

    @property
    def takes_count(self) -> bool:
        return self.method in _ENDLESS

    @property
    def learns(self) -> bool:
        return self.method in _LEARNING


def settle(sweep: Sweep) -> Sweep:
    """With the method chosen, and refused where parts of it do not go together."""
    settled = replace(sweep, method=sweep.method or _choose_method(sweep))
    _check_source(settled)
    _check_count(settled)
    if settled.prune is Pruner.HYPERBAND and settled.method is not Method.OPTUNA:
        raise UsageError(
            f"only Optuna has the pruner {settled.prune}, and the method is {settled.method}",
            hint="--method optuna, or --prune median",
        )
    if settled.pattern is not None:
        check_pattern(settled.pattern)
    return settled


def list_dimensions(sweep: Sweep) -> tuple[Dimension, ...]:
    return tuple(read_dimension(name, text) for name, text in sweep.space.items())


def make_space(dimensions: tuple[Dimension, ...]) -> Mapping[str, str]:
    return MappingProxyType({one.name: format_dimension(one) for one in dimensions})


def check_pattern(pattern: str) -> None:
    """Raises UsageError: it must say where in it the number stands."""
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as problem:
        hint = "a backslash before ( ) [ * + ? takes them as they are"
        raise UsageError(f"pattern {pattern!r:.80} is no regular expression: {problem}", hint=hint) from problem
    if not groups:
        raise UsageError(
            f"pattern {pattern!r:.80} does not say where the number is",
            hint="put ( ) round it, such as loss=([0-9.e+-]+)",
        )


def _choose_method(sweep: Sweep) -> Method:
    if sweep.table is not None:
        return Method.TABLE
    if sweep.prune is not None and (sweep.trials is not None or sweep.prune is Pruner.HYPERBAND):
        return Method.OPTUNA
    finite = all(one.kind is Kind.CHOICES or one.points for one in list_dimensions(sweep))
    return Method.GRID if finite and sweep.trials is None else Method.RANDOM


def _check_source(sweep: Sweep) -> None:
    if sweep.method is Method.TABLE:
        if sweep.table is None:
            raise UsageError("a sweep by table needs one", hint="--table trials.csv")
        if sweep.space:
            first = next(iter(sweep.space))
            raise UsageError(f"{first} has values of its own, and the trials are in {sweep.table}", hint="keep one")
    elif sweep.table is not None:
        raise UsageError(f"the method is {sweep.method}, and {sweep.table} lists the trials", hint="--method table")
    elif not sweep.space:
        raise UsageError(
            "there are no values to try",
            hint='windlass sweep "python train.py --lr {lr}" lr=log:1e-5..1e-1 --trials 40',
        )


def _check_count(sweep: Sweep) -> None:
    if sweep.takes_count and sweep.trials is None:
        raise UsageError(f"how many trials? {sweep.method} goes on for ever", hint=f"--trials {_SOME}")
    if not sweep.takes_count and sweep.trials is not None:
        raise UsageError(
            f"a {sweep.method} has as many trials as it has", hint=f"some at random: --method random --trials {_SOME}"
        )
    if sweep.trials is not None and not 1 <= sweep.trials <= MOST_TRIALS:
        raise UsageError(f"{sweep.trials:,} trials are not between 1 and {MOST_TRIALS:,}", hint=f"--trials {_SOME}")
