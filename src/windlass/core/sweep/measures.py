"""Numbers that trials told, read from pilots/WORKER.met: `TASK ATTEMPT {"step":5,"t":1.5,"loss":0.25}` a line."""

import math
from dataclasses import dataclass, field
from typing import Any

import msgspec

from windlass.core.watching.metrics import read_logged

_decoder = msgspec.json.Decoder(dict[str, Any])
_MOST_NAMES = 200


@dataclass
class Curve:
    """One metric of one trial: what its newest try told, by step."""

    attempt: int = 0
    steps: dict[float, float] = field(default_factory=dict)
    newest: float | None = None  # told last
    newest_t: float = -math.inf

    def take(self, attempt: int, step: float, t: float, value: float) -> None:
        if attempt < self.attempt:
            return
        if attempt > self.attempt:  # a new try begins anew
            self.attempt, self.steps, self.newest_t = attempt, {}, -math.inf
        if t >= self.newest_t:
            self.newest, self.newest_t = value, t
        self.steps[step] = value


class MeasureReader:
    """Takes files as they grow; a line that is not whole yet waits for its rest. Keeps one metric."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.curves: dict[int, Curve] = {}
        self.names: set[str] = set()  # of all numbers told: one of them may be what was meant
        self._rests: dict[str, bytes] = {}

    def add(self, file: str, content: bytes) -> None:
        whole, _, self._rests[file] = (self._rests.get(file, b"") + content).rpartition(b"\n")
        for line in whole.splitlines():
            self._take(line)

    def _take(self, line: bytes) -> None:
        words = line.split(b" ", 2)
        if len(words) != 3 or not (words[0].isdigit() and words[1].isdigit()):
            return
        try:
            told = _decoder.decode(words[2])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        if len(self.names) < _MOST_NAMES:
            self.names |= told.keys() - {"step", "t"}
        value, t = read_logged(told.get(self.metric)), read_logged(told.get("t"))
        if value is None or t is None:
            return
        curve = self.curves.setdefault(int(words[0]), Curve())
        step = read_logged(told.get("step"))
        curve.take(int(words[1]), step if step is not None else float(len(curve.steps)), t, value)
