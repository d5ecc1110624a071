"""Values as TOML writes them: what `tomllib` reads back is what was given."""

import re
from collections.abc import Sequence
from datetime import timedelta

from windlass.core.units import format_duration

Value = str | bool | int | float | timedelta | Sequence[str]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def format_value(value: Value) -> str:
    """A duration becomes a text that `read_duration` reads."""
    if isinstance(value, bool):  # before int, which it is too
        return "true" if value else "false"
    if isinstance(value, str):
        return format_string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    if isinstance(value, timedelta):
        return format_string(format_duration(value))
    return f"[{', '.join(map(format_string, value))}]"


def format_string(text: str) -> str:
    """On one line, and harmless to a terminal."""
    return f'"{"".join(map(_escape, text))}"'


def format_key(path: Sequence[str | int]) -> str:
    """A dotted key; only the parts that need quotes get them."""
    return ".".join(str(part) if _BARE.fullmatch(str(part)) else format_string(str(part)) for part in path)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
