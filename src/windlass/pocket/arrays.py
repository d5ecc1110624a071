"""`--array=0-9:2,20%4`: which tasks, and how many at a time."""

import re
from dataclasses import dataclass

from windlass.pocket.errors import PocketError
from windlass.pocket.hostlist import fold_numbers

MAX_INDEX = 1000  # MaxArraySize is 1001 unless a site says otherwise


@dataclass(frozen=True, kw_only=True)
class ArraySpec:
    indices: tuple[int, ...]
    limit: int | None = None  # %N: this many at a time


def read_array(text: str) -> ArraySpec:
    spec, _, limit = text.strip().strip("[]").partition("%")
    if ("%" in text and not re.fullmatch(r"\d+", limit)) or not spec:
        raise _invalid()
    indices: list[int] = []
    for piece in spec.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", piece)
        if not match:
            raise _invalid()
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step == 0 or last > MAX_INDEX:
            raise _invalid()
        indices += range(first, last + 1, step)
    return ArraySpec(indices=tuple(sorted(set(indices))), limit=int(limit) if limit and int(limit) else None)


def format_pending(indices: list[int], limit: int | None) -> str:
    """`[2-5%1]`, as squeue shows the tasks that wait."""
    return f"[{fold_numbers(indices)}{f'%{limit}' if limit else ''}]"


def _invalid() -> PocketError:
    return PocketError("Invalid job array specification")
