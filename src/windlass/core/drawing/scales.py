"""From values to places on a picture, and the round numbers written at an axis."""

import math
from dataclasses import dataclass

_MOST_TICKS = 200
_TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A straight one, from values to pixels."""

    low: float
    high: float
    begin: float  # where low is drawn
    end: float

    def place(self, value: float) -> float:
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)


def make_scale(low: float, high: float, *, begin: float, end: float) -> Scale:
    """One value alone gets room on both sides; nothing alone lies on the ground."""
    if low == high == 0:
        high = 1.0
    if not high > low or not math.isfinite(high - low):
        room = abs(low) / 2
        low, high = low - room, low + room
    return Scale(low=low, high=high, begin=begin, end=end)


def choose_ticks(low: float, high: float, count: int) -> list[float]:
    """About so many round numbers between them: 1, 2 or 5 times a power of ten apart."""
    if not high > low or not math.isfinite(high - low):
        return [low]
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    return _list_multiples(low, high, step)


def choose_time_ticks(low: float, high: float, count: int, *, offset_s: float = 0.0) -> list[float]:
    """Full minutes, hours or days of a clock that is offset_s ahead of UTC."""
    raw = (high - low) / max(1, count)
    step = next((one for one in _TIME_STEPS_S if one >= raw), 86_400 * math.ceil(raw / 86_400))
    return [tick - offset_s for tick in _list_multiples(low + offset_s, high + offset_s, step)]


def format_tick(value: float) -> str:
    """12000 is 12k: axes have little room."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and value % (size / 10) == 0):
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def _list_multiples(low: float, high: float, step: float) -> list[float]:
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, min(last, first + _MOST_TICKS) + 1)]
