"""events.jsonl as values: everything that the agents of a run wrote down."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from windlass.core.moments import LATEST, read_moment

_MOMENTS = ("t", "at")


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of it: what all look at by name, and whatever else stands there."""

    kind: str
    time: float = 0.0  # 0: not known
    link: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    restart: int = 0
    text: str = ""  # of a note; of stop_requested: why
    job: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def word(self, name: str) -> str:
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        return _number(self.values.get(name))


def read_events(text: str) -> tuple[Event, ...]:
    """By time, as far as it is told. A line that was cut or is damaged is passed over."""
    return tuple(sorted(_read(text), key=lambda event: event.time))


def _read(text: str) -> Iterator[Event]:
    for line in text.splitlines():
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict) and isinstance(values.get("kind"), str):
            yield _make_event(values)


def _make_event(told: Mapping[str, Any]) -> Event:
    values = {name: value for name, value in told.items() if _may_be_true(name, value)}
    return Event(
        kind=values["kind"],
        time=read_moment(values.get("t")) or 0.0,
        link=_whole(values.get("link")),
        exit_code=_whole(values.get("exit_code")),
        signal=_whole(values.get("signal")),
        restart=_whole(values.get("restart")) or 0,
        text=str(values.get("text") or values.get("why") or ""),
        job=str(values.get("job") or ""),
        values=values,
    )


def _may_be_true(name: str, value: object) -> bool:
    """A time that no calendar has, or a link before the first, is dropped; what happened is still told."""
    if name in _MOMENTS:
        return read_moment(value) is not None
    if name == "seconds":
        return (number := _number(value)) is not None and 0 <= number < LATEST
    return name != "link" or (_whole(value) or 0) >= 1


def _number(value: object) -> float | None:
    """Finite, as JSON's numbers should be and Python's reader does not make sure of."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        return None
    return float(value)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
