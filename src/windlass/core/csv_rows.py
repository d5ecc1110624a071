"""Rows of CSV, which table programs open: a cell that they would run as a formula is text there."""

import csv
import io
from collections.abc import Iterable

# The wide ones too: they count where Japanese or Chinese is written.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

_END = "\r\n"


def format_row(cells: Iterable[object], *, end: str = "\n") -> str:
    """None is an empty cell. What others wrote (names, last lines of a log) begins as no formula does."""
    text = io.StringIO(newline="")
    # With both letters in the end of a line, cells that hold one of them are quoted.
    csv.writer(text, lineterminator=_END).writerow([_disarm(cell) for cell in cells])
    return text.getvalue().removesuffix(_END) + end


def _disarm(cell: object) -> object:
    is_formula = isinstance(cell, str) and cell.startswith(_FORMULAS) and not _is_number(cell)
    return f"'{cell}" if is_formula else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
