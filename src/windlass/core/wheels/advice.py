"""What to write instead, where a wheelhouse has not what is asked for."""

import re
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from windlass.core.wheels.house import House, filter_versions
from windlass.core.wheels.names import Wheel
from windlass.core.wheels.platform import Platform

if TYPE_CHECKING:
    from windlass.core.wheels.checking import Entry, State

_LAPTOP = 'wheels = "laptop" in [environment]: downloaded here, and sent'
_MOST = 6


def advise(
    entry: "Entry", state: "State", house: House, specifiers: list[SpecifierSet], platform: Platform
) -> tuple[tuple[str, ...], str]:
    """What is there instead, and a line to paste."""
    wheels = house.by_name.get(entry.name, ())
    if not wheels:
        alike = house.suggest(entry.name)
        return alike, f"{alike[0]} in place of {entry.name}, or {_LAPTOP}" if alike else _LAPTOP
    if state == "other python":
        pythons = _list_pythons(wheels, specifiers)
        return tuple(f"Python {one}" for one in pythons), _advise_python(pythons, platform)
    fitting = sorted({one.version for one in wheels if one.find_place(platform) is not None}, reverse=True)
    if state == "other platform" or not fitting:
        tags = sorted({tag.rpartition("-")[2] for one in wheels for tag in one.tags})
        return tuple(tags[:_MOST]), _LAPTOP
    there = tuple(str(one) for one in fitting[:_MOST])
    if state == "conflict":
        pairs = (f"{wanted} by {by}" for wanted, by in zip(entry.wanted, entry.by, strict=False))
        return there, f"one of them must give way: {', '.join(pairs)}"
    nearest = _find_nearest(fitting, specifiers)
    places = [one for one in entry.by if ":" in one or "." in one.partition(" ")[0]]
    place = f" in {places[0]}" if places and not entry.is_dependency else ""
    return there, f"{entry.name}=={nearest}{place}, or {_LAPTOP}"


def _find_nearest(versions: list[Version], specifiers: list[SpecifierSet]) -> str:
    """The first one above what was asked for in the same series, else the newest; without the site's own mark."""
    asked = [Version(one.version.removesuffix(".*")) for some in specifiers for one in some if _is_plain(one.version)]
    wanted = max(asked, default=None)
    if wanted is None:
        return versions[0].public
    same = [one for one in versions if one.release[:2] == wanted.release[:2]]
    above = [one for one in versions if one >= wanted]
    return (same or sorted(above) or versions)[0].public


def _is_plain(version: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)*(\.\*)?", version) is not None


def _list_pythons(wheels: tuple[Wheel, ...], specifiers: list[SpecifierSet]) -> tuple[str, ...]:
    """3.10, 3.11: the newest first."""
    allowed = filter_versions({one.version for one in wheels}, specifiers)
    tags = {tag for one in wheels if one.version in allowed for tag in one.pythons}
    found = {(int(match[1]), int(match[2])) for tag in tags if (match := re.fullmatch(r"[a-z]+(\d)(\d+)", tag))}
    return tuple(f"{one}.{two}" for one, two in sorted(found, reverse=True))


def _advise_python(pythons: tuple[str, ...], platform: Platform) -> str:
    if not pythons:
        return _LAPTOP
    now = f"{platform.python[0]}.{platform.python[1]}"
    return f'python = "{pythons[0]}" in [environment], with its module, in place of {now}; or {_LAPTOP}'
