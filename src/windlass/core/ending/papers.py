"""What the agent leaves in the run folder: its events and the gauges of each node, as values."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windlass.core.ending.symptoms import Event, NodeGauges

_MOST_LINES = 5000


def read_events(text: str) -> tuple[Event, ...]:
    """Of events.jsonl, or its end. A line that was cut is passed over."""
    return tuple(_read_event(values) for values in _read_lines(text) if isinstance(values.get("kind"), str))


def read_gauges(node: str, text: str) -> NodeGauges | None:
    """Of gauges/NODE.jsonl, or its end; None when it holds no samples."""
    samples = [values for values in _read_lines(text) if _number(values.get("t")) is not None]
    if not samples:
        return None
    times = [_number(one["t"]) or 0.0 for one in samples]
    seconds = max(times) - min(times)
    gpus = _read_gpus(samples)
    means = [sum(values) / len(values) for values in gpus.values() if values]
    cpu = [used for one in samples if (used := _number(one.get("cpu_s"))) is not None]
    return NodeGauges(
        node=node,
        seconds=seconds,
        memory_mb=_most(samples, "memory_anonymous_mb"),
        limit_mb=_most(samples, "memory_limit_mb"),
        oom_kills=int(_most(samples, "oom_kills") or 0),
        gpu_utilisation=sum(means) / len(means) if means else None,
        idle_gpus=sum(1 for values in gpus.values() if values and max(values) == 0),
        gpus=len(gpus),
        cpus_used=(max(cpu) - min(cpu)) / seconds if len(cpu) > 1 and seconds > 0 else None,
    )


def _read_lines(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines()[-_MOST_LINES:]:
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict):
            yield values


def _read_event(values: Mapping[str, Any]) -> Event:
    return Event(
        kind=values["kind"],
        time=_number(values.get("t")) or 0.0,
        link=_whole(values.get("link")),
        exit_code=_whole(values.get("exit_code")),
        signal=_whole(values.get("signal")),
        restart=_whole(values.get("restart")) or 0,
        text=str(values.get("text") or values.get("why") or ""),
    )


def _read_gpus(samples: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """The utilisation of each GPU over time."""
    found: dict[str, list[float]] = {}
    for sample in samples:
        listed = sample.get("gpus")
        for gpu in listed if isinstance(listed, list) else ():
            if isinstance(gpu, dict) and (used := _number(gpu.get("utilisation"))) is not None:
                found.setdefault(str(gpu.get("uuid")), []).append(used)
    return found


def _most(samples: Sequence[Mapping[str, Any]], name: str) -> float | None:
    return max((value for one in samples if (value := _number(one.get(name))) is not None), default=None)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
