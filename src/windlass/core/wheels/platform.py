"""For what a wheel is built: Python, processor and C library of a site, as tags and as markers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from packaging.tags import compatible_tags, cpython_tags

from windlass.errors import EnvironmentFailed

_LEGACY = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}
_OLDEST = {"x86_64": (2, 5), "i686": (2, 5)}  # no other processor has wheels for less than 2.17
_OLDEST_ELSEWHERE = (2, 17)


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Of the nodes on which an environment is used."""

    python: tuple[int, int]
    machine: str = "x86_64"  # as uname tells it: "aarch64", "ppc64le"
    glibc: tuple[int, int] | None = None  # None: unknown, or another C library
    python_full: str = ""  # "3.11.4"; for markers

    def __str__(self) -> str:
        glibc = f", glibc {self.glibc[0]}.{self.glibc[1]}" if self.glibc else ""
        return f"Python {self.python[0]}.{self.python[1]} on {self.machine}{glibc}"


def make_platform(python: str, machine: str | None, glibc: str | None) -> Platform:
    """From words such as "3.11.4", "x86_64", "2.28"."""
    numbers = _read_numbers(python)
    if len(numbers) < 2:
        raise EnvironmentFailed(f"{python!r} is no version of Python", hint='as in "3.11"')
    libc = _read_numbers(glibc or "")
    return Platform(
        python=(numbers[0], numbers[1]),
        machine=machine or "x86_64",
        glibc=(libc[0], libc[1]) if len(libc) > 1 else None,
        python_full=python if len(numbers) > 2 else f"{numbers[0]}.{numbers[1]}.0",
    )


@lru_cache(maxsize=32)
def list_platforms(platform: Platform) -> tuple[str, ...]:
    """The platform tags that run there, the best first.

    linux_x86_64 is first: PyPI takes no such wheel, so one that is there was built for this very machine.
    """
    tags = [f"linux_{platform.machine}"]
    if platform.glibc is not None and platform.glibc[0] == 2:
        oldest = _OLDEST.get(platform.machine, _OLDEST_ELSEWHERE)
        for minor in range(platform.glibc[1], oldest[1] - 1, -1):
            tags.append(f"manylinux_2_{minor}_{platform.machine}")
            if (2, minor) in _LEGACY:
                tags.append(f"{_LEGACY[2, minor]}_{platform.machine}")
    return tuple(tags)


@lru_cache(maxsize=32)
def list_tags(platform: Platform) -> Mapping[str, int]:
    """Each tag that can be installed there, with its place: 0 is the best."""
    platforms, abi = list_platforms(platform), make_abi(platform.python)
    tags = [*cpython_tags(platform.python, [abi], platforms)]
    tags += compatible_tags(platform.python, make_interpreter(platform.python), platforms)
    return {str(tag): place for place, tag in enumerate(tags)}


def make_interpreter(python: tuple[int, int]) -> str:
    return f"cp{python[0]}{python[1]}"


def make_abi(python: tuple[int, int]) -> str:
    return make_interpreter(python) + ("m" if python < (3, 8) else "")


def make_markers(platform: Platform) -> dict[str, str]:
    """The variables of PEP 508 on the site's nodes; what only a running system knows is empty."""
    full = platform.python_full or f"{platform.python[0]}.{platform.python[1]}.0"
    return {
        "implementation_name": "cpython",
        "implementation_version": full,
        "os_name": "posix",
        "platform_machine": platform.machine,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": full,
        "python_version": f"{platform.python[0]}.{platform.python[1]}",
        "sys_platform": "linux",
    }


def _read_numbers(text: str) -> tuple[int, ...]:
    numbers = []
    for part in text.split("."):
        if not part.isdecimal() or len(part) > 6:
            break
        numbers.append(int(part))
    return tuple(numbers)
