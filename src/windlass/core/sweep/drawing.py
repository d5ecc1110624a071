"""Which values each trial gets: all of a grid, or drawn at random. The same seed draws the same, trial by trial."""

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from windlass.core.sweep.space import MOST_TRIALS, Dimension, Kind, format_dimension
from windlass.core.sweep.values import Value
from windlass.errors import UsageError

Values = Mapping[str, Value]
_DIGITS = 12  # of 17 that a float has
_LOST = 1e-12


def make_grid(space: Sequence[Dimension]) -> Iterator[dict[str, Value]]:
    """Each with each; the last name changes fastest."""
    columns = [make_points(one) for one in space]
    count = math.prod(map(len, columns))
    if count > MOST_TRIALS:
        sizes = " x ".join(str(len(column)) for column in columns)
        raise UsageError(
            f"the grid has {sizes} = {count:,} trials; at most {MOST_TRIALS:,} are allowed",
            hint="take fewer values, or some of them at random: --method random --trials 1000",
        )
    names = [one.name for one in space]
    return (dict(zip(names, row, strict=True)) for row in itertools.product(*columns))


def make_points(dimension: Dimension) -> Sequence[Value]:
    """The values that a grid takes."""
    if dimension.kind is Kind.CHOICES:
        return dimension.choices
    count = dimension.points
    if count is None and not dimension.is_endless:
        return range(int(dimension.low), int(dimension.high) + 1)
    if count is None:
        written = f"{dimension.name}={format_dimension(dimension)}"
        raise UsageError(
            f"a grid cannot take all of {written}",
            hint=f"say how many of them: {written}/5; or draw: --method random --trials 40",
        )
    points = list(dict.fromkeys(_go(dimension, number / (count - 1)) for number in range(count)))
    short = list(dict.fromkeys([points[0], *(_round(one, dimension) for one in points[1:-1]), points[-1]]))
    return short if len(short) == len(points) else points  # of a range narrower than what is rounded off


def _round(value: Value, dimension: Dimension) -> Value:
    """Without what was lost in reckoning: the middle of 1e-4 and 1 is 0.01, and of -0.2 and 0.4 a third is 0."""
    if not isinstance(value, float):
        return value
    is_nothing = not dimension.is_log and abs(value) < (dimension.high - dimension.low) * _LOST
    return 0.0 if is_nothing else float(f"{value:.{_DIGITS}g}")


def draw(space: Sequence[Dimension], *, seed: int, trial: int) -> dict[str, Value]:
    """Of this trial, whatever others were drawn before: more trials, or another range of one name, change no other."""
    return {one.name: _draw_one(one, _throw(f"{seed}:{trial}:{one.name}")) for one in space}


def _throw(text: str) -> int:
    """128 bits that follow from the text alone, by any version of Python."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")


def _draw_one(dimension: Dimension, thrown: int) -> Value:
    part = (thrown >> 75) / 2**53  # from 0 to below 1
    if dimension.kind is Kind.CHOICES:
        return dimension.choices[thrown % len(dimension.choices)]
    if dimension.kind is Kind.INT and not dimension.is_log:
        return int(dimension.low) + thrown % (int(dimension.high) - int(dimension.low) + 1)
    if dimension.kind is Kind.INT:
        # Each whole number has the room from half below to half above it, so that the ends are not drawn half as often.
        low, high = math.log(dimension.low - 0.5), math.log(dimension.high + 0.5)
        drawn = round(math.exp(low + part * (high - low)))
        return max(int(dimension.low), min(int(dimension.high), drawn))
    return _go(dimension, part)


def _go(dimension: Dimension, part: float) -> Value:
    """From low (0) to high (1); both ends exactly."""
    low, high = dimension.low, dimension.high
    if part in (0.0, 1.0):
        found = low if part == 0.0 else high
    elif dimension.is_log:
        found = math.exp(math.log(low) + part * (math.log(high) - math.log(low)))
    else:
        found = low + part * (high - low)
    if dimension.kind is Kind.INT:
        return round(found)
    return max(low, min(high, found))
