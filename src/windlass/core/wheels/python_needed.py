"""`requires-python` of a project or lock: which Pythons it admits, and which of those there are at a site."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from windlass.core.modules.found import sort_newest_first, split_name
from windlass.errors import RequirementsInvalid

if TYPE_CHECKING:  # it costs the start of every command
    from packaging.specifiers import SpecifierSet

_NUMBERS = re.compile(r"\d+(?:\.\d+){0,2}")
_LAST_PATCH = 99  # no release had so many


@dataclass(frozen=True, kw_only=True)
class PythonNeeded:
    text: str  # ">=3.10,<3.13"
    where: str  # "pyproject.toml:4"

    @cached_property
    def _specifiers(self) -> "SpecifierSet":
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.text)

    def admits(self, version: str) -> bool:
        """version: "3.11.4"; or "3.11", which may be any of its releases."""
        found = _NUMBERS.match(version)
        if found is None:
            return True  # nobody knows
        if found[0].count(".") == 2:
            return self._specifiers.contains(found[0], prereleases=True)
        last = f"{found[0]}.{_LAST_PATCH}" if found[0].count(".") == 1 else f"{found[0]}.{_LAST_PATCH}.{_LAST_PATCH}"
        return any(self._specifiers.contains(one, prereleases=True) for one in (found[0], last))

    def __str__(self) -> str:
        return f"{self.where} requires Python {self.text}"


def read_python_needed(value: object, where: str) -> PythonNeeded | None:
    """None: it says nothing about it."""
    from packaging.specifiers import InvalidSpecifier

    if value is None or value == "":
        return None
    needed = PythonNeeded(text=str(value), where=where)
    try:
        needed.admits("3.11.0")
    except InvalidSpecifier:
        raise RequirementsInvalid(
            f"{where}: requires-python = {str(value)[:80]!r} names no versions of Python", hint='as in ">=3.10"'
        ) from None
    return needed


def choose_version(needed: PythonNeeded, versions: Iterable[str]) -> str | None:
    """The newest that will do, of such as "3.11"."""
    fitting = [one for one in versions if needed.admits(one)]
    return max(fitting, key=lambda one: [int(part) for part in one.split(".")], default=None)


def choose_module(needed: PythonNeeded, names: Iterable[str]) -> str | None:
    """The newest module called Python that will do: python/3.11.4, Python/3.11.3-GCCcore-12.3.0."""
    called = [one for one in names if split_name(one)[0].rpartition("/")[2].lower() in ("python", "python3")]
    fitting = [one for one in called if _NUMBERS.match(split_name(one)[1]) and needed.admits(split_name(one)[1])]
    return next(iter(sort_newest_first(fitting)), None)
