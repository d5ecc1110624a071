"""Slurm's folded lists: `pocket[1-3,7]` for hosts, `1-3,7` for numbers."""

import re
from collections.abc import Iterable


def expand(text: str) -> list[str]:
    """All the names of a folded list, in order. Raises ValueError."""
    names: list[str] = []
    for item in _split_outside_brackets(text):
        names.extend(_expand_one(item))
    return names


def fold(names: Iterable[str]) -> str:
    """The shortest list of names, as Slurm writes it."""
    groups: dict[tuple[str, int], list[int]] = {}
    order: list[tuple[str, int] | str] = []
    for name in names:
        match = re.fullmatch(r"(.*?)(\d+)", name)
        if not match:
            order.append(name)
            continue
        # Numbers written with zeros in front fold only with numbers as wide as they are.
        key = (match[1], len(match[2]) if match[2].startswith("0") else 0)
        if key not in groups:
            order.append(key)
        groups.setdefault(key, []).append(int(match[2]))
    return ",".join(item if isinstance(item, str) else _fold_group(item, groups[item]) for item in order)


def fold_numbers(numbers: Iterable[int]) -> str:
    """1,2,3,7 as `1-3,7`."""
    return ",".join(_ranges(numbers, 0))


def _fold_group(key: tuple[str, int], numbers: list[int]) -> str:
    prefix, width = key
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]:0{width}}"
    return f"{prefix}[{','.join(_ranges(numbers, width))}]"


def _ranges(numbers: Iterable[int], width: int) -> list[str]:
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return [f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in runs]


def _split_outside_brackets(text: str) -> list[str]:
    return [item for item in re.split(r",(?![^\[]*\])", text) if item]


def _expand_one(item: str) -> list[str]:
    match = re.fullmatch(r"([^\[\]]*)\[([^\[\]]*)\](.*)", item)
    if not match:
        if "[" in item or "]" in item:
            raise ValueError(f"Invalid hostlist: {item}")
        return [item]
    names: list[str] = []
    for piece in match[2].split(","):
        span = re.fullmatch(r"(\d+)(?:-(\d+))?", piece)
        if not span:
            raise ValueError(f"Invalid hostlist: {item}")
        first, last = span[1], span[2] or span[1]
        names += [f"{match[1]}{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
    return [name + rest for name in names for rest in _expand_one(match[3])]
