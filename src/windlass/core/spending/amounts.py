"""Hours of GPUs, cores or nodes: text people write into values, and back."""

import re
from dataclasses import dataclass

MOST_HOURS = 1e12
# The word in front of the hours -> the unit, as the site file has it, and how it is shown.
_UNITS = {
    "gpu": ("gpu-hours", "GPU-h"),
    "core": ("core-hours", "core-h"),
    "cpu": ("core-hours", "core-h"),
    "node": ("node-hours", "node-h"),
    "billing": ("billing-hours", "billing-h"),
}
_SHOWN = dict(_UNITS.values())
_AMOUNT = re.compile(
    r"(?P<number>\d{1,3}(?:[,_ ]\d{3})+|\d{1,13})(?P<part>\.\d{1,6})?\s*(?P<word>[a-z]+)[ _-]?(?:h|hours?|hrs?)",
    re.ASCII,
)


@dataclass(frozen=True, kw_only=True)
class Amount:
    hours: float
    unit: str  # "gpu-hours", "core-hours", "node-hours" or "billing-hours"

    def __str__(self) -> str:
        return format_amount(self.hours, self.unit)


class NoAmount(ValueError):
    """The text is no such quantity; the message says what to write instead."""


def read_amount(text: str) -> Amount:
    """`200 GPU-h`, `1500 core-hours`, `12.5 node-h`. Never a bare number: nobody knows of what."""
    word = text.strip().lower()
    found = _AMOUNT.fullmatch(word)
    if found is None or found["word"] not in _UNITS:
        if re.fullmatch(r"[\d.,_ ]{1,40}h?", word, re.ASCII):
            raise NoAmount(f'has no unit; write "{word.rstrip("h ")} GPU-h" or "{word.rstrip("h ")} core-h"')
        raise NoAmount('is no amount; write it as "200 GPU-h", "5000 core-h", "30 node-h" or "100 billing-h"')
    hours = float(re.sub(r"[,_ ]", "", found["number"]) + (found["part"] or ""))
    if not 0 < hours <= MOST_HOURS:
        raise NoAmount("must be more than nothing")
    return Amount(hours=hours, unit=_UNITS[found["word"]][0])


def format_amount(hours: float, unit: str) -> str:
    return f"{format_hours(hours)} {format_unit(unit)}"


def format_unit(unit: str) -> str:
    """As people write it: `GPU-h`; a unit nobody knows as it is."""
    return _SHOWN.get(unit, unit)


def format_hours(hours: float) -> str:
    """No more digits than matter, and never in the form 1.5e+04: `0.05`, `12.3`, `199.7`, `12,345`."""
    size = abs(hours)
    if size >= 1000:
        return f"{hours:,.0f}"
    digits = 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{hours:.{digits}f}".rstrip("0").rstrip(".") if size >= 0.0005 else "0"
