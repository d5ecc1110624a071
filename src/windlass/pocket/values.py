"""The values of sbatch options, read with Slurm's own complaints."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from windlass.pocket.arrays import read_array
from windlass.pocket.errors import PocketError, UsageError
from windlass.pocket.signals import read_warning
from windlass.pocket.timeforms import read_duration, read_moment

_MEMORY_UNITS = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024 * 1024, "P": 1024**3}
_MAIL_TYPES = (
    "NONE", "BEGIN", "END", "FAIL", "REQUEUE", "ALL", "INVALID_DEPEND", "STAGE_OUT", "TIME_LIMIT",
    "TIME_LIMIT_90", "TIME_LIMIT_80", "TIME_LIMIT_50", "ARRAY_TASKS",
)  # fmt: skip


@dataclass(frozen=True)
class Gpus:
    type: str
    count: int


def read_memory_mb(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMGTP]?)[Bb]?", text.upper())
    if not match:
        raise ValueError(text)
    megabytes = int(match[1]) * _MEMORY_UNITS[match[2]]
    return int(megabytes) if megabytes == int(megabytes) else int(megabytes) + 1


def read_nodes(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)([kKmM]?)(?:-(\d+)([kKmM]?))?", text)
    if not match or int(match[1]) == 0:
        raise UsageError(f'"{text}" is not a valid node count')
    first, last = int(match[1]), int(match[3] or match[1])
    if last < first:
        raise UsageError(f"Maximum node count {last} is less than minimum node count {first}")
    return first, last


def read_gpus(text: str) -> Gpus:
    """`2`, `a100`, `a100:2`."""
    kind, _, count = text.rpartition(":")
    if not count.isdigit():
        if ":" in text or not re.fullmatch(r"[A-Za-z][\w.-]*", text):
            raise _bad_gres()
        return Gpus(text, 1)
    return Gpus(kind, int(count))


def read_gres(text: str) -> Gpus | None:
    """The GPUs of `--gres`; pocket has no other generic resource."""
    found: Gpus | None = None
    for item in text.split(","):
        if item.lower() in ("none", ""):
            continue
        name, _, rest = item.replace("=", ":").partition(":")
        if name not in ("gpu", "gres/gpu"):
            raise _bad_gres()
        found = read_gpus(rest or "1")
    return found


def _bad_gres() -> PocketError:
    return PocketError("Invalid generic resource (gres) specification")


def _number(name: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\d+", text) or int(text) == 0:
            raise UsageError(f'Invalid numeric value "{text}" for --{name}.')
        return int(text)

    return read


def _checked(name: str, read: Callable[[str], object]) -> Callable[[str], object]:
    def checked(text: str) -> object:
        try:
            return read(text)
        except ValueError:
            raise UsageError(f"Invalid --{name} specification") from None

    return checked


def _begin(text: str) -> float:
    try:
        return read_moment(text, time.time())
    except ValueError:
        raise UsageError(
            f"Invalid time specification (pos=0): {text}",
            "sbatch: error: Invalid --begin specification",
            bare=True,
        ) from None


def _word_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return read


def _mail_type(text: str) -> str:
    if any(word not in _MAIL_TYPES for word in text.upper().split(",")):
        raise ValueError(text)
    return text


def _same_after(check: Callable[[str], object]) -> Callable[[str], str]:
    def read(text: str) -> str:
        check(text)
        return text

    return read


_NUMBERS = (
    "ntasks", "cpus-per-task", "cpus-per-gpu", "ntasks-per-node", "ntasks-per-core", "ntasks-per-socket",
    "ntasks-per-gpu", "mincpus", "threads-per-core", "cores-per-socket", "sockets-per-node",
)  # fmt: skip
_READERS: dict[str, Callable[[str], object]] = {
    **{name: _number(name) for name in _NUMBERS},
    "nodes": read_nodes,
    "time": _checked("time", read_duration),
    "time-min": _checked("time-min", read_duration),
    "mem": _checked("mem", read_memory_mb),
    "mem-per-cpu": _checked("mem-per-cpu", read_memory_mb),
    "mem-per-gpu": _checked("mem-per-gpu", read_memory_mb),
    "tmp": _checked("tmp", read_memory_mb),
    "gres": read_gres,
    "gpus": read_gpus,
    "gpus-per-node": read_gpus,
    "gpus-per-task": read_gpus,
    "begin": _begin,
    "signal": _checked("signal", _same_after(read_warning)),
    "array": read_array,
    "exclusive": _checked("exclusive", _word_of("", "user", "mcs")),
    "open-mode": _checked("open-mode", lambda text: {"a": "append", "t": "truncate"}[text[:1]]),
    "kill-on-invalid-dep": _checked("kill-on-invalid-dep", _word_of("yes", "no")),
    "mail-type": _checked("mail-type", _mail_type),
}


def read_value(name: str, text: str) -> object:
    """One option's value; most are plain text."""
    try:
        return _READERS[name](text) if name in _READERS else text
    except KeyError:
        raise UsageError(f"Invalid --{name} specification") from None
