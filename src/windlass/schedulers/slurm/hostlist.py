"""Slurm's folded lists of hosts, unfolded: `node[1-3,07],login`."""

import re
from itertools import product

_MOST = 200_000  # no machine has more nodes; a slip such as [1-999999999] must not fill the memory
_PIECE = re.compile(r"(?:[^,\[]|\[[^\[\]]*\]?)+")  # a comma in brackets does not end it
_PARTS = re.compile(r"([^\[\]]*)(?:\[([^\]]*)\])?")


def expand_hosts(text: str) -> frozenset[str]:
    """All names; empty for what is no such list."""
    found: set[str] = set()
    for piece in _PIECE.findall(text.strip()):
        found.update(_expand_piece(piece))
        if len(found) > _MOST:
            return frozenset()
    return frozenset(found)


def _expand_piece(piece: str) -> list[str]:
    choices: list[list[str]] = []
    size = 1
    for text, ranges in _PARTS.findall(piece):
        choices.append([text])
        if ranges:
            choices.append(_expand_ranges(ranges))
            size *= len(choices[-1])
    if size > _MOST or piece in ("", "(null)"):
        return []
    return ["".join(words) for words in product(*choices)]


def _expand_ranges(text: str) -> list[str]:
    numbers: list[str] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not (first.isdecimal() and (not dash or last.isdecimal())):
            return []
        end = int(last[:9]) if dash else int(first[:9])
        if end - int(first[:9]) > _MOST:
            return []
        numbers += [str(number).zfill(len(first)) for number in range(int(first[:9]), end + 1)]
    return numbers
