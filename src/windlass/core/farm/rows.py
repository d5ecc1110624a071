"""A row of a farm's table, as a pilot reads it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    command: str
    values: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


def make_row(task: Task) -> bytes:
    told: dict[str, object] = {"command": task.command}
    if task.values:
        told["values"] = dict(task.values)
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n".encode("utf-8", "surrogatepass")


def read_row(row: bytes) -> Task:
    """Of a call, which is no text, nothing is known."""
    try:
        told = json.loads(row.decode("utf-8", "surrogatepass"))
        values = {str(name): str(value) for name, value in (told.get("values") or {}).items()}
        return Task(command=str(told["command"]), values=values or _NOTHING)
    except (ValueError, KeyError, AttributeError, TypeError):
        return Task(command="")
