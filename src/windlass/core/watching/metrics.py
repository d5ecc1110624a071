"""metrics/*.jsonl as series: every number a training told, by step and by time."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

_OURS = ("step", "t")
_MOST_NAMES = 500  # a training that invents a name for each step must not fill the memory
_LONGEST_NAME = 60  # on a page; a name may be of any length
_decoder = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Columns of one length. Values may be NaN or infinite: a training that broke down tells so."""

    name: str
    times: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """Its name as a page has room for it."""
        return shorten_name(self.name)

    @property
    def last(self) -> float | None:
        return self.values[-1] if self.values else None

    @property
    def best(self) -> tuple[float, float] | None:
        """(least, most) of what is a number at all."""
        known = [value for value in self.values if math.isfinite(value)]
        return (min(known), max(known)) if known else None

    @property
    def is_broken(self) -> bool:
        return self.last is not None and not math.isfinite(self.last)


class Reader:
    """Takes files as they grow; a line that is not yet whole waits for its rest."""

    def __init__(self) -> None:
        self.metrics: dict[str, Metric] = {}
        self._rests: dict[str, bytes] = {}

    def add(self, file: str, content: bytes) -> None:
        """New bytes of one file."""
        lines, _, rest = (self._rests.get(file, b"") + content).rpartition(b"\n")
        self._rests[file] = rest if len(rest) < 1 << 20 else b""
        for line in lines.splitlines():
            try:
                values = _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeError, RecursionError):  # cut, or another program's
                continue
            self._take(values)

    def _take(self, values: Mapping[str, Any]) -> None:
        time = read_logged(values.get("t"))
        if time is None:
            return
        step = read_logged(values.get("step"))
        for name, value in values.items():
            number = read_logged(value) if name not in _OURS else None
            if number is None:
                continue
            metric = self.metrics.get(name)
            if metric is None:
                if len(self.metrics) >= _MOST_NAMES:
                    continue
                metric = self.metrics[name] = Metric(name=name)
            metric.times.append(time)
            metric.steps.append(step if step is not None else float(len(metric.steps)))
            metric.values.append(number)


def read_metrics(files: Mapping[str, bytes]) -> dict[str, Metric]:
    """Of rank 0 of every link first: other ranks tell the same mostly."""
    reader = Reader()
    for name in choose_files(files):
        reader.add(name, files[name] + b"\n")
    return reader.metrics


def shorten_name(name: str) -> str:
    if not name.strip():
        return "(without a name)"
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 16]}…{name[-15:]}"


def choose_files(names: Iterable[str]) -> list[str]:
    """`metrics/LINK.RANK.jsonl`: the lowest rank of each link, in the order of links."""
    found: dict[int, tuple[int, str]] = {}
    for name in names:
        link, rank = _read_name(name)
        if link not in found or rank < found[link][0]:
            found[link] = rank, name
    return [found[link][1] for link in sorted(found)]


def read_logged(value: object) -> float | None:
    """`run.log` writes infinity and NaN as words: JSON has none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and value.lower() not in ("nan", "inf", "-inf"):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _read_name(name: str) -> tuple[int, int]:
    parts = name.rpartition("/")[2].split(".")
    numbers = [int(part) for part in parts[:2] if part.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
