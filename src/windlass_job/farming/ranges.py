"""Ranges of tasks: (first, end, past), where past is what each has behind it.

That is: failures, workers that died, and pilots whose end cut it short although it had almost all of their time.
"""

from typing import Iterable, List, Tuple

Range = Tuple[int, int, int]

# past = failures * 10,000 + cuts * 100 + losses; more cuts or losses than that nobody allows
_FAILURE, _CUT = 10000, 100


def make_past(failures: int, losses: int, cuts: int = 0) -> int:
    return failures * _FAILURE + min(cuts, 99) * _CUT + min(losses, 99)


def count_failures(past: int) -> int:
    return past // _FAILURE


def count_losses(past: int) -> int:
    """How often a worker died while it ran the task."""
    return past % _CUT


def count_cuts(past: int) -> int:
    return past % _FAILURE // _CUT


def count(ranges: "Iterable[Range]") -> int:
    return sum(end - first for first, end, _ in ranges)


def split(ranges: "List[Range]", number: int) -> "Tuple[List[Range], List[Range]]":
    """The first `number` tasks, and the rest."""
    taken, rest = [], []  # type: List[Range], List[Range]
    for first, end, past in ranges:
        cut = min(end, first + max(number, 0))
        if cut > first:
            taken.append((first, cut, past))
        if end > cut:
            rest.append((cut, end, past))
        number -= cut - first
    return taken, rest


def merge(ranges: "Iterable[Range]") -> "List[Range]":
    """In order, neighbours joined. They do not overlap: no task is held twice."""
    merged: "List[Range]" = []
    for first, end, past in sorted(ranges):
        if merged and merged[-1][1] == first and merged[-1][2] == past:
            merged[-1] = (merged[-1][0], end, past)
        elif end > first:
            merged.append((first, end, past))
    return merged


def read(value: object) -> "List[Range]":
    """From JSON; raises ValueError."""
    if not isinstance(value, list):
        raise ValueError("no list of ranges: {!r}".format(value))
    found = []
    for one in value:
        if not (isinstance(one, list) and len(one) == 3 and all(isinstance(number, int) for number in one)):
            raise ValueError("no range: {!r}".format(one))
        found.append((one[0], one[1], one[2]))
    return found
