"""What is told of a farm's results as they come, without keeping those of all tasks: failures and pace."""

import heapq
from collections.abc import Iterable, Mapping

from windlass.core.farm.results import FailureGroup, Outcome, Pace, fold_one, group_failures
from windlass.core.farm.values import FarmStatus, TaskResult, TaskState

_MANY = 1000  # of the last ends, by which the pace is told


class Overview:
    def __init__(self) -> None:
        self._done = bytearray()  # of each task: whether it is
        self._others: dict[int, Outcome] = {}
        self._ends: list[float] = []  # a heap

    def take(self, results: Iterable[TaskResult]) -> None:
        """In any order."""
        for one in results:
            self._take_end(one.start + one.seconds)
            if one.state is TaskState.DONE:
                self._done.extend(bytes(max(0, one.task + 1 - len(self._done))))
                self._done[one.task] = 1
                self._others.pop(one.task, None)
            elif not (one.task < len(self._done) and self._done[one.task]):
                fold_one(self._others, one)

    def _take_end(self, end: float) -> None:
        if len(self._ends) < _MANY:
            heapq.heappush(self._ends, end)
        else:
            heapq.heappushpop(self._ends, end)

    @property
    def others(self) -> Mapping[int, Outcome]:
        """Of tasks that are not done."""
        return self._others

    @property
    def failures(self) -> tuple[FailureGroup, ...]:
        return group_failures(self._others)

    def find_pace(self, status: FarmStatus, now: float) -> Pace | None:
        """By the tasks that ended last; None: too few, or nobody works."""
        if not status.running or not status.left:
            return None
        recent = [one for one in sorted(self._ends) if one <= now]
        if len(recent) < 2 or recent[0] >= now:
            return None
        rate = len(recent) / (now - recent[0])
        return Pace(rate=rate, end=now + status.left / rate)
