"""`lint`: what is wrong with batch scripts that are there already, and mending what is certainly meant."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windlass.core.dependency import list_awaited
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.finding import Severity
from windlass.core.jobs import JobSeen
from windlass.core.sbatch.script import Script, read_script
from windlass.core.site import Site
from windlass.edges.script_files import NoScript, find_scripts, judge_bytes, load_script, replace_script
from windlass.errors import UsageError, WindlassError
from windlass.lint import find_ignored, is_ignored, lint_script, matches
from windlass.lint.mark import Edit, Mark

STDIN = "-"
_MOST_ROUNDS = 10
_NOTHING = read_script(b"")
_MOST_BYTES = 1_000_000
_TOO_LONG = Mark(
    code="S100",
    severity=Severity.WARNING,
    message="only the first megabyte of this script was looked at",
    why="What is longer is data more often than commands.",
    hint="keep the data in a file of its own",
)


@dataclass(frozen=True, kw_only=True)
class Looking:
    """What to look for."""

    site: Site | None = None
    facts: Facts = NOTHING_SEEN
    ask_about: Callable[[Sequence[str]], tuple[JobSeen, ...]] | None = None  # what the site knows of these jobs
    select: tuple[str, ...] = ()  # empty: all
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Linted:
    path: str
    script: Script
    marks: tuple[Mark, ...]
    is_readable: bool = True
    fixes: int = 0  # findings that can be mended, or were
    not_mended: str | None = None  # why its fixes could not be written

    @property
    def errors(self) -> tuple[Mark, ...]:
        return tuple(one for one in self.marks if one.severity is Severity.ERROR)


def lint_paths(paths: Sequence[str], looking: Looking) -> Iterator[Linted]:
    """Files as they are named, folders by what lies in them, `-` for standard input; each file once."""
    seen: set[str] = set()
    for path in paths:
        if path == STDIN:
            yield _lint_loaded("<stdin>", None, looking)
            continue
        folder = Path(path)
        # os.path's says no where Path's raises: what lies in a closed folder is then told by reading it
        for found in find_scripts(folder) if os.path.isdir(path) else (folder,):  # noqa: PTH112
            if str(found) not in seen:
                seen.add(str(found))
                yield _lint_loaded(str(found), found, looking)


def make_mended(linted: Linted, looking: Looking) -> str:
    """The text after all fixes."""
    return _mend_text(linted.script, linted.marks, looking, linted.path)[0]


def mend(linted: Linted, looking: Looking) -> Linted:
    """Write the fixes into the file; says what is left, or why it was not mended."""
    text, fixes = _mend_text(linted.script, linted.marks, looking, linted.path)
    if text == linted.script.text:
        return linted
    path = Path(linted.path)
    before = linted.script.text.encode("utf-8", "surrogateescape")
    after = text.encode("utf-8", "surrogateescape")
    try:
        replace_script(path, before, after)
    except (NoScript, WindlassError) as problem:
        return replace(linted, fixes=0, not_mended=str(problem))
    return replace(_lint_bytes(linted.path, after, looking), fixes=fixes)


def check_can_mend(paths: Sequence[str]) -> None:
    if STDIN in paths:
        raise UsageError("standard input cannot be mended", hint="name the file, or use --diff")


def _lint_loaded(name: str, path: Path | None, looking: Looking) -> Linted:
    try:
        data = load_script(path) if path is not None else judge_bytes(sys.stdin.buffer.read(8 * 1024 * 1024))
    except NoScript as problem:
        return Linted(path=name, script=_NOTHING, marks=lint_script(_NOTHING, problem=str(problem)), is_readable=False)
    return _lint_bytes(name, data, looking)


def _lint_bytes(name: str, data: bytes, looking: Looking) -> Linted:
    part = _cut(data)
    script = read_script(part)
    marks = _find_marks(script, looking, name)
    if part is not data:
        # Of a part nothing is written back.
        marks = (*_keep_wanted((_TOO_LONG,), looking), *(replace(one, fix=()) for one in marks))
    return Linted(path=name, script=script, marks=marks, fixes=sum(1 for one in marks if one.fix))


def _find_marks(script: Script, looking: Looking, name: str) -> tuple[Mark, ...]:
    marks = lint_script(script, site=looking.site)
    if looking.site is not None and script.directives:
        from windlass.app.script_checks import check_script

        quiet = find_ignored(script)
        found = check_script(
            script, looking.site, looking.facts, name=Path(name).stem, awaited=_ask_about(script, looking)
        )
        marks += tuple(one for one in found if not is_ignored(one.code, one.line, quiet))
        marks = tuple(sorted(marks, key=lambda one: (one.line, one.column)))
    return _keep_wanted(marks, looking)


def _cut(data: bytes) -> bytes:
    """The lines of the first megabyte; the same bytes where that is all."""
    return data if len(data) <= _MOST_BYTES else data[: data.rfind(b"\n", 0, _MOST_BYTES) + 1 or _MOST_BYTES]


def _keep_wanted(marks: Sequence[Mark], looking: Looking) -> tuple[Mark, ...]:
    wanted = [one for one in marks if not looking.select or matches(one.code, looking.select)]
    return tuple(one for one in wanted if not matches(one.code, looking.ignore))


def _ask_about(script: Script, looking: Looking) -> tuple[JobSeen, ...] | None:
    """The jobs the script waits for, where somebody can be asked."""
    option = script.last("dependency")
    awaited = list_awaited(option.value) if option else ()
    return looking.ask_about(awaited) if looking.ask_about and awaited else None


def _mend_text(script: Script, marks: Sequence[Mark], looking: Looking, name: str) -> tuple[str, int]:
    """Until nothing changes any more: a mended line may show the next mistake."""
    text, count = script.text, 0
    for _ in range(_MOST_ROUNDS):
        edits = [one for mark in marks for one in mark.fix]
        if not edits:
            break
        count += sum(1 for mark in marks if mark.fix)
        text = _apply(text, edits)
        marks = _find_marks(read_script(text.encode("utf-8", "surrogateescape")), looking, name)
    return text, count


def _apply(text: str, edits: Sequence[Edit]) -> str:
    """From the end to the beginning; of two that overlap the later waits for the next round."""
    pieces: list[str] = []
    last = len(text)
    for edit in sorted(set(edits), key=lambda one: (one.start, one.end), reverse=True):
        if edit.end <= last:
            pieces += [text[edit.end : last], edit.text]
            last = edit.start
    return "".join([text[:last], *reversed(pieces)])
