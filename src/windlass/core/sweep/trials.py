"""What became of the trials of a sweep: each with its values, its number, and how it ended."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from windlass.core.sweep.values import Value
from windlass.core.sweep.wish import Goal

_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class TrialState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"  # it was hopeless, or somebody stopped it

    @property
    def is_over(self) -> bool:
        return self not in (TrialState.WAITING, TrialState.RUNNING)


@dataclass(frozen=True, kw_only=True)
class Trial:
    number: int  # and of its task in the farm
    values: Mapping[str, Value]
    state: TrialState = TrialState.WAITING
    metric: float | None = None  # told last
    seconds: float | None = None
    code: int | None = None
    last_line: str = ""  # of what it printed, where it failed

    @property
    def is_ranked(self) -> bool:
        """It has come to its end with a number."""
        return self.has_ended and not self.is_lost

    @property
    def is_lost(self) -> bool:
        """It has come to its end with infinity, of whatever sign, or NaN: that counts as the worst."""
        return self.has_ended and not math.isfinite(self.metric or 0.0)

    @property
    def has_ended(self) -> bool:
        return self.state is TrialState.DONE and self.metric is not None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Trials that failed with the same last line, but for the numbers in it."""

    line: str  # of the first of them
    trials: tuple[int, ...]


def rank(trials: Iterable[Trial], goal: Goal) -> list[Trial]:
    """The best first; behind them those that are lost, then those without an end, by their own numbers."""
    sign = 1.0 if goal is Goal.MIN else -1.0

    def key(trial: Trial) -> tuple[bool, bool, bool, float, int]:
        number = trial.metric if trial.metric is not None and math.isfinite(trial.metric) else None
        return (not trial.is_ranked, not trial.is_lost, number is None, sign * (number or 0.0), trial.number)

    return sorted(trials, key=key)


def find_best(trials: Iterable[Trial], goal: Goal) -> Trial | None:
    return next((one for one in rank(trials, goal) if one.is_ranked), None)


def group_failures(trials: Iterable[Trial]) -> tuple[Failure, ...]:
    """The most frequent first."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.state is TrialState.FAILED:
            groups.setdefault(_NUMBERS.sub("#", trial.last_line), []).append(trial)
    found = [
        Failure(line=group[0].last_line or f"exit code {group[0].code}", trials=tuple(one.number for one in group))
        for group in groups.values()
    ]
    return tuple(sorted(found, key=lambda one: (-len(one.trials), one.trials[0])))


def find_history(trials: Sequence[Trial], goal: Goal) -> list[tuple[int, float, float]]:
    """Of each ranked trial, in order: its number, what it brought, and the best so far."""
    better = min if goal is Goal.MIN else max
    history: list[tuple[int, float, float]] = []
    for trial in sorted(trials, key=lambda one: one.number):
        if trial.is_ranked and trial.metric is not None:
            best = better(history[-1][2], trial.metric) if history else trial.metric
            history.append((trial.number, trial.metric, best))
    return history
