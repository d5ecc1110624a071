"""The project's own source text, for checks that look into it before it is sent."""

from dataclasses import dataclass
from enum import StrEnum


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
class Code:
    """What goes along and can be read: text files of moderate size."""

    files: tuple[SourceFile, ...] = ()
    passed_over: int = 0  # files too large or not text

    def named(self, name: str) -> SourceFile | None:
        return next((one for one in self.files if one.path == name), None)

    def of(self, language: Language) -> tuple[SourceFile, ...]:
        return tuple(one for one in self.files if one.language is language)


NO_CODE = Code()
