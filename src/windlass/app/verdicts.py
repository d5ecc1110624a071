"""The lines of `site check` and `doctor`: what was looked at, how it stands, and what to do."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"  # not looked at, and why


@dataclass(frozen=True, kw_only=True)
class Line:
    verdict: Verdict
    what: str
    words: str
    hint: str | None = None  # a command to paste


def ok(what: str, words: str) -> Line:
    return Line(verdict=Verdict.OK, what=what, words=words)


def warn(what: str, words: str, hint: str | None = None) -> Line:
    return Line(verdict=Verdict.WARN, what=what, words=words, hint=hint)


def fail(what: str, words: str, hint: str | None = None) -> Line:
    return Line(verdict=Verdict.FAIL, what=what, words=words, hint=hint)


def skip(what: str, words: str, hint: str | None = None) -> Line:
    return Line(verdict=Verdict.SKIP, what=what, words=words, hint=hint)


def has_failed(lines: Iterable[Line]) -> bool:
    return any(line.verdict is Verdict.FAIL for line in lines)
