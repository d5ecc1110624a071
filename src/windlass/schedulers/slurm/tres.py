"""Slurm's lists of resources: `cpu=4,mem=100G,gres/gpu:a100=2`, in limits and in billing weights."""

import re

# Memory is counted in MB; other resources are printed as plain numbers.
_MB = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_PIECE = re.compile(r"(?P<name>[a-z][\w/:.\-]*)=(?P<number>\d{1,18}(?:\.\d{1,9})?)(?P<unit>[KMGTP]?)", re.IGNORECASE)
_NO_LIMIT = 4294967294  # NO_VAL, where a program prints it raw


def read_tres(text: str | None) -> dict[str, int]:
    """By lower-case name; "mem" in MB. What cannot be read is left out."""
    found: dict[str, int] = {}
    for name, number, unit in _pieces(text):
        value = int(number * _MB[unit]) if name == "mem" else int(number)
        if value < _NO_LIMIT:
            found[name] = value
    return found


def read_weights(text: str | None) -> dict[str, float]:
    """TRESBillingWeights `CPU=1.0,Mem=0.25G`: a unit behind the number of memory tells what one costs; here a GB."""
    found: dict[str, float] = {}
    for name, number, unit in _pieces(text):
        found[name] = number * _MB["G"] / _MB[unit] if name == "mem" else number
    return found


def keep_least(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """Both limits hold, so the smaller one counts."""
    return {name: min(limits[name] for limits in (one, other) if name in limits) for name in {**one, **other}}


def _pieces(text: str | None) -> list[tuple[str, float, str]]:
    matches = (_PIECE.fullmatch(piece.strip()) for piece in (text or "").split(","))
    return [(match["name"].lower(), float(match["number"]), match["unit"].upper()) for match in matches if match]
