"""The space of a sweep: for each name the values that are tried, as the command line and [sweep.space] write them.

depth=2,4,8            these values; words, numbers, true and false
x=0..1                 any number between them
lr=log:1e-5..1e-1      the same, each power of ten as often as another
n=int:1..100           whole numbers; also log int:1..4096
lr=log:1e-5..1e-1/5    for a grid: this many of them, evenly spaced
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from windlass.core.sweep.values import Value, format_value, read_number, read_value
from windlass.errors import UsageError

MOST_TRIALS = 1_000_000
MOST_CHOICES = 10_000
MOST_POINTS = 100_000
TRIAL = "trial"  # {trial} is the trial's number
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_RANGE = re.compile(
    r"(?:(?P<words>[A-Za-z ]*):)?(?P<low>[^.:/\s]*(?:\.[^.:/\s]+)?)\.\.(?P<high>[^/\s]+?)(?:/(?P<points>\S*))?"
)
_EXAMPLES = "depth=2,4,8, x=0..1, lr=log:1e-5..1e-1 or n=int:1..100"
_MOST_WHOLE = 2**53  # beyond it a float holds no whole number exactly


class Kind(StrEnum):
    CHOICES = "choices"
    FLOAT = "float"
    INT = "int"


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One name. Of choices only `choices` counts, of ranges the rest."""

    name: str
    kind: Kind
    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_log: bool = False
    points: int | None = None  # of a grid

    @property
    def is_endless(self) -> bool:
        """A grid cannot take all of it, and nobody said how many."""
        is_whole = self.kind is Kind.CHOICES or (self.kind is Kind.INT and not self.is_log)
        return not is_whole and self.points is None


def read_dimensions(texts: Iterable[str]) -> tuple[Dimension, ...]:
    """`lr=log:1e-5..1e-1` `depth=2,4,8`, as the command line gives them."""
    found: dict[str, Dimension] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r:.80} is not NAME=VALUES", hint=f"for example: {_EXAMPLES}")
        if name in found:
            raise UsageError(f"{name} is given twice", hint=f"all its values in one: {name}=…")
        found[name] = read_dimension(name, written)
    return tuple(found.values())


def read_dimension(name: str, written: str) -> Dimension:
    """One that is written as text."""
    check_name(name)
    text = written.strip()
    if not text:
        raise UsageError(f"{name} has no values", hint=f"for example: {_EXAMPLES}")
    if ".." in text and "," not in text:
        return _read_range(name, text)
    return make_choices(name, _split(name, text))


def make_choices(name: str, values: Sequence[Value]) -> Dimension:
    check_name(name)
    if not values:
        raise UsageError(f"{name} has no values", hint=f"for example: {_EXAMPLES}")
    if len(values) > MOST_CHOICES:
        raise UsageError(f"{name} has {len(values)} values; at most {MOST_CHOICES} are allowed", hint="use a range")
    seen: set[tuple[type, Value]] = set()
    for value in values:
        key = (type(value), value)
        if key in seen:
            raise UsageError(f"{name} has the value {format_value(value)} twice", hint="keep one of them")
        seen.add(key)
    return Dimension(name=name, kind=Kind.CHOICES, choices=tuple(values))


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r:.80} is no name for values", hint="use letters, digits and _")
    if name == TRIAL:
        raise UsageError("{trial} is the number of the trial", hint="choose another name for your values")


def format_dimension(dimension: Dimension) -> str:
    """As `read_dimension` reads it."""
    if dimension.kind is Kind.CHOICES:
        return ",".join(_quote(format_value(one)) for one in dimension.choices)
    words = ("log " if dimension.is_log else "") + ("int" if dimension.kind is Kind.INT else "")
    low, high = (_format_bound(one, dimension.kind) for one in (dimension.low, dimension.high))
    points = f"/{dimension.points}" if dimension.points else ""
    return f"{words.strip()}{':' if words else ''}{low}..{high}{points}"


def _read_range(name: str, text: str) -> Dimension:
    found = _RANGE.fullmatch(text)
    words = (found["words"] or "").split() if found else []
    if found is None or not set(words) <= {"log", "int", "float"} or len(set(words)) != len(words):
        raise UsageError(f"{name}={text:.80} is no range", hint=f"for example: {_EXAMPLES}")
    kind = Kind.INT if "int" in words else Kind.FLOAT
    low, high = (_read_bound(name, found[end], kind) for end in ("low", "high"))
    if not low < high:
        raise UsageError(f"{name}={text:.80} is an empty range", hint=_hint_order(name, low, high))
    if "log" in words and low <= 0:
        floor = "1" if kind is Kind.INT else "1e-5"
        raise UsageError(
            f"{name}={text:.80}: the logarithm of {_format_bound(low, kind)} does not exist",
            hint=f"begin above zero, such as {name}={' '.join(words)}:{floor}..{_format_bound(max(high, 1), kind)}",
        )
    points = _read_points(name, text, found["points"])
    return Dimension(name=name, kind=kind, low=low, high=high, is_log="log" in words, points=points)


def _hint_order(name: str, low: float, high: float) -> str:
    if low == high:
        return f"one value is written {name}={low:g}"
    return f"the smaller one first: {name}={high:g}..{low:g}"


def _read_bound(name: str, text: str, kind: Kind) -> float:
    number = read_number(text)
    if number is None:
        raise UsageError(f"{name}: {text!r:.40} is no number to begin or end a range", hint=f"for example: {_EXAMPLES}")
    if kind is Kind.INT and (number != math.floor(number) or abs(number) > _MOST_WHOLE):
        raise UsageError(f"{name}: {text} is no whole number", hint=f"without int: any number, {name}=0..1")
    return number


def _read_points(name: str, text: str, points: str | None) -> int | None:
    if points is None:
        return None
    if not points.isdecimal() or not 2 <= int(points[:9]) <= MOST_POINTS:
        raise UsageError(
            f"{name}={text:.80}: {points!r:.20} is no number of points", hint=f"2 to {MOST_POINTS}, such as /5"
        )
    return int(points)


def _split(name: str, text: str) -> list[Value]:
    """By commas; a value with a comma in it is quoted, as in CSV. What was quoted is a word."""
    import csv  # only where there is something to split

    try:
        cells = next(csv.reader([text], skipinitialspace=True, strict=True))
    except (csv.Error, StopIteration) as problem:
        raise UsageError(f"{name}={text:.80} cannot be split at its commas: {problem}", hint='"a,b",c') from problem
    if any(not cell.strip() for cell in cells):
        raise UsageError(f"{name}={text:.80} has an empty value", hint=f"for example: {_EXAMPLES}")
    return [read_value(cell) for cell in cells]


def _quote(text: str) -> str:
    if set(text) & set(',"\n\r') or ".." in text or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _format_bound(value: float, kind: Kind) -> str:
    return str(int(value)) if kind is Kind.INT else repr(value)
