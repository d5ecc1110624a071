"""One value of a trial: a truth, a number or a word; read from text, written into commands and tables."""

import math
import re

Value = bool | int | float | str

_INT = re.compile(r"[+-]?[0-9]{1,18}")
_TRUTHS = {"true": True, "false": False, "True": True, "False": False}


def read_value(text: str) -> Value:
    """2 is a number, 2.0 and 1e-3 are floats, true is a truth; all else is a word, and so is nan."""
    text = text.strip()
    if text in _TRUTHS:
        return _TRUTHS[text]
    if _INT.fullmatch(text):
        return int(text)
    number = read_number(text)
    return text if number is None else number


def read_number(text: str) -> float | None:
    """None: it is none, or not a finite one. Python's underscores (1_000) are no part of a number here."""
    try:
        found = float(text) if "_" not in text else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def format_value(value: Value) -> str:
    """So that it is read as the same value again, by `read_value` and by Python."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def show_value(value: Value) -> str:
    """Short, for tables and axes: six digits."""
    if not isinstance(value, float):
        return format_value(value)
    return f"{value:.6g}"
