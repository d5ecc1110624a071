"""The project's own source text, for checks that look into it before it is sent."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property


class Language(StrEnum):
    PYTHON = "python"
    SHELL = "shell"
    OTHER = "other"  # requirements.txt, pyproject.toml, environment.yml and their kin


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    path: str  # as in the snapshot, with /
    text: str
    language: Language


@dataclass(frozen=True, kw_only=True)
class Binary:
    """A program, a library or a container that goes along."""

    path: str
    architecture: str  # "x86_64", as `uname -m` says it


@dataclass(frozen=True, kw_only=True)
class Code:
    """What goes along and can be read: text files of moderate size."""

    files: tuple[SourceFile, ...] = ()
    passed_over: int = 0  # files too large or not text
    paths: frozenset[str] | None = field(default=None, repr=False)  # all that is sent; None: not known
    binaries: tuple[Binary, ...] = ()

    @cached_property
    def by_path(self) -> dict[str, SourceFile]:
        return {one.path: one for one in self.files}

    def named(self, name: str) -> SourceFile | None:
        return self.by_path.get(name)

    def of(self, language: Language) -> tuple[SourceFile, ...]:
        return tuple(one for one in self.files if one.language is language)


NO_CODE = Code()
