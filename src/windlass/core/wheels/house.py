"""A wheelhouse: the wheels that lie at a site, and which of them a requirement gets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from windlass.core.wheels.names import Wheel, normal_name
from windlass.core.wheels.platform import Platform


@dataclass(frozen=True, kw_only=True)
class House:
    """What was seen of it."""

    folders: tuple[str, ...] = ()  # that hold wheels: for --find-links
    wheels: tuple[Wheel, ...] = ()
    problem: str | None = None  # why it could not be listed, or not all of it
    installed: Mapping[str, str] = field(default_factory=dict)  # name and version: what modules bring already

    @cached_property
    def by_name(self) -> dict[str, tuple[Wheel, ...]]:
        """The newest first."""
        found: dict[str, list[Wheel]] = {}
        for wheel in self.wheels:
            found.setdefault(wheel.name, []).append(wheel)
        return {name: tuple(sorted(some, key=_make_age, reverse=True)) for name, some in found.items()}

    def find_installed(self, name: str, specifiers: Iterable[SpecifierSet]) -> str | None:
        """The version that is there without being installed, where it is good enough."""
        version = self.installed.get(name)
        if version is None or not all(one.contains(version, prereleases=True) for one in specifiers):
            return None
        return version

    def suggest(self, name: str) -> tuple[str, ...]:
        """Names that are there and look alike."""
        known = self.by_name
        parts = [one for one in known if name in one.split("-") or one in name.split("-")]
        return tuple(dict.fromkeys((*get_close_matches(name, known, n=2, cutoff=0.75), *sorted(parts))))[:3]


def pick_wheel(candidates: Iterable[Wheel], specifiers: Iterable[SpecifierSet], platform: Platform) -> Wheel | None:
    """As pip would: the newest that all allow; among those the best tag. One before its release only where no other."""
    fitting = [(wheel, place) for wheel in candidates if (place := wheel.find_place(platform)) is not None]
    allowed = filter_versions({wheel.version for wheel, _ in fitting}, specifiers)
    if not allowed:
        return None
    newest = max(allowed)
    found = [(place, tuple(-1 * one for one in wheel.build[:1]), wheel) for wheel, place in fitting]
    return min((one for one in found if one[2].version == newest), key=lambda one: (*one[:2], one[2].path))[2]


def filter_versions(versions: Iterable[Version], specifiers: Iterable[SpecifierSet]) -> tuple[Version, ...]:
    asked = tuple(specifiers)
    wants_early = any(one.prereleases for one in asked)
    allowed = [one for one in versions if all(asks.contains(one, prereleases=True) for asks in asked)]
    final = tuple(one for one in allowed if not one.is_prerelease)
    return tuple(allowed) if wants_early or not final else final


def find_wheels(
    house: House, words: Iterable[str], platform: Platform | None, *, all_versions: bool = False
) -> tuple[Wheel, ...]:
    """words: a name, a pattern (*cdf*) or a requirement (numpy<1.23); platform None: for any Python."""
    found: list[Wheel] = []
    for word in words:
        found += _find_word(house, word, platform, all_versions=all_versions)
    return tuple(dict.fromkeys(found))


def _find_word(house: House, word: str, platform: Platform | None, *, all_versions: bool) -> list[Wheel]:
    requirement = None if set(word) & set("*?") else Requirement(word)
    pattern = normal_name(requirement.name) if requirement else word.lower().replace("_", "-")
    found: list[Wheel] = []
    for name, wheels in sorted(house.by_name.items()):
        if not fnmatchcase(name, pattern):
            continue
        fitting = [one for one in wheels if platform is None or one.find_place(platform) is not None]
        specifiers = [requirement.specifier] if requirement else []
        allowed = filter_versions({one.version for one in fitting}, specifiers)
        if not all_versions and allowed:
            allowed = (max(allowed),)
        found += [one for one in fitting if one.version in allowed]
    return found


def _make_age(wheel: Wheel) -> tuple[Version, tuple[int, str] | tuple[()]]:
    return wheel.version, wheel.build
