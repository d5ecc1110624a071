"""What became of every task, as one table; failures by what they said; how fast it goes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from windlass.core.farm.values import TaskResult, TaskState

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Of one task, after all its attempts so far."""

    last: TaskResult
    tries: int  # that ended, in all its lives


@dataclass(frozen=True, kw_only=True)
class FailureGroup:
    """Tasks that ended with the same words, but for numbers."""

    code: int
    state: TaskState
    words: str  # of the first of them
    tasks: tuple[int, ...]


def fold_results(results: Iterable[TaskResult], before: Mapping[int, Outcome] | None = None) -> dict[int, Outcome]:
    """By task; of several ends the one that counts: a success, else the latest."""
    folded = dict(before or {})
    for one in results:
        fold_one(folded, one)
    return folded


def fold_one(folded: dict[int, Outcome], one: TaskResult) -> None:
    known = folded.get(one.task)
    if known is None:
        folded[one.task] = Outcome(last=one, tries=1)
        return
    is_newer = known.last.state is not TaskState.DONE and (one.state is TaskState.DONE or one.order >= known.last.order)
    folded[one.task] = Outcome(last=one if is_newer else known.last, tries=known.tries + 1)


def group_failures(outcomes: Mapping[int, Outcome]) -> tuple[FailureGroup, ...]:
    """The largest first."""
    groups: dict[tuple[int, str], list[TaskResult]] = {}
    for one in outcomes.values():
        if one.last.state.is_bad:
            key = (one.last.code, _NUMBER.sub("#", one.last.last_line))
            groups.setdefault(key, []).append(one.last)
    made = (
        FailureGroup(
            code=code,
            state=some[0].state,
            words=some[0].last_line,
            tasks=tuple(sorted(one.task for one in some)),
        )
        for (code, _), some in groups.items()
    )
    return tuple(sorted(made, key=lambda one: (-len(one.tasks), one.tasks)))


@dataclass(frozen=True, kw_only=True)
class Pace:
    rate: float  # tasks a second
    end: float  # when the last one would end


def format_tasks(tasks: Sequence[int]) -> str:
    """3, 5-9 and 12"""
    parts: list[list[int]] = []
    for task in tasks:
        if parts and parts[-1][-1] == task - 1:
            parts[-1][1:] = [task]
        else:
            parts.append([task])
    return ",".join("-".join(map(str, one)) for one in parts)


def read_tasks(text: str) -> list[int]:
    """What `format_tasks` writes; ValueError for anything else."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(part)
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)
