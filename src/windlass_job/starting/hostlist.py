"""Slurm's folded lists of hosts, written out in Slurm's order, which is that of the ranks."""

import re
from typing import List


def read_hosts(text: str) -> List[str]:
    """`n[2,10],login1` -> n2, n10, login1; `r[1-2]c[5,7]` -> r1c5, r1c7, r2c5, r2c7; `gpu[08-10]` keeps its zeros."""
    hosts: List[str] = []
    for item in re.split(r",(?![^\[]*\])", text):
        if item.strip():
            hosts.extend(_expand(item.strip()))
    return hosts


def read_first_host(text: str) -> str:
    """`gpu[003-007,9],login1` -> gpu003; `r[1-2]c[5,7]` -> r1c5. The rest of a long list is not written out."""
    first = re.split(r",(?![^\[]*\])", text, maxsplit=1)[0]
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first)


def _expand(item: str) -> List[str]:
    found = re.match(r"([^\[]*)\[([^\]]*)\](.*)", item)
    if not found:
        return [item]
    head, inner, tail = found.groups()
    tails = _expand(tail)
    return [head + number + rest for part in inner.split(",") for number in _count(part) for rest in tails]


def _count(part: str) -> List[str]:
    first, dash, last = part.partition("-")
    if not dash:
        return [first]
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
