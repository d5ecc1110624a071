"""What lint found, for people, for programs, for a forge's checks."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import overload
from urllib.parse import quote

from windlass import __version__
from windlass.app.linting import Linted
from windlass.checks import CHECKS
from windlass.cli.output import make_printable
from windlass.core.finding import Severity
from windlass.core.secret_words import HIDDEN, cover_secrets, hide_secrets
from windlass.errors import ERRORS
from windlass.lint import RULES
from windlass.lint.mark import Mark

Paint = Callable[[str, str], str]
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ADVICE: "blue"}
_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}
_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}
_COVER = "\ue000"  # stands for each letter of a secret until it is shown; no script holds it
_WIDEST = 160  # letters of a source line that are shown
_LONGEST = 8 * _WIDEST  # those that are looked at: a secret is shown shorter than it is


def format_text(linted: Linted, paint: Paint) -> str:
    """As a compiler: place, text, the line with a mark under it, why, fix."""
    source = cover_secrets(linted.script.text, _COVER).split("\n")
    return "\n".join(line for mark in linted.marks for line in _format_mark(linted, mark, source, paint))


def format_name(path: str) -> str:
    """A file's name within one line, whatever letters it has."""
    return make_printable(path).replace("\n", "\\n").replace("\t", "\\t")


def make_json(found: Sequence[Linted]) -> dict[str, object]:
    return {
        "files": [
            {
                "path": _encode(one.path),
                "readable": one.is_readable,
                "accepted": one.script.is_accepted if one.is_readable else None,
                "refusal": _clean(one.script.troubles[0].said) if one.is_readable and one.script.troubles else None,
                "fixes": one.fixes,
                "not_mended": _clean(one.not_mended),
                "findings": [_make_json_mark(mark) for mark in one.marks],
            }
            for one in found
        ]
    }


def format_github(linted: Linted) -> str:
    """Workflow commands: a forge shows them beside the line."""
    lines = []
    for mark in linted.marks:
        text = f"{mark.message}\nwhy: {mark.why}" + (f"\nfix: {mark.hint}" if mark.hint else "")
        place = (
            f"file={_property(linted.path)},line={mark.line},col={mark.column},endColumn={mark.column + mark.length}"
        )
        lines.append(f"::{_GITHUB[mark.severity]} {place},title={mark.code}::{_data(make_printable(text))}")
    return "\n".join(lines)


def make_sarif(found: Sequence[Linted]) -> dict[str, object]:
    """SARIF 2.1.0."""
    used = {mark.code for one in found for mark in one.marks}
    rules: dict[str, Callable[..., object]] = {
        **RULES,
        **{code: CHECKS[code] for code in sorted(used) if code in CHECKS},
        **{code: ERRORS[code] for code in sorted(used) if code in ERRORS},
    }
    order = {code: index for index, code in enumerate(rules)}
    return {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "windlass lint",
                        "version": __version__,
                        "rules": [_make_rule(code, rule) for code, rule in rules.items()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_make_result(one, mark, order[mark.code]) for one in found for mark in one.marks],
            }
        ],
    }


def _format_mark(linted: Linted, mark: Mark, source: Sequence[str], paint: Paint) -> list[str]:
    path = format_name(linted.path)
    head = paint(f"{mark.severity}[{mark.code}]", _COLOURS[mark.severity])
    lines = [f"{path}:{mark.line}:{mark.column}: {head}: {make_printable(mark.message)}"]
    if linted.is_readable:
        lines += _show_place(source, mark, paint)
    lines.append(f"  why: {make_printable(mark.why)}")
    if mark.hint:
        lines.append(f"  {paint('fix', 'green')}: {make_printable(mark.hint)}")
    return [*lines, ""]


def _show_place(source: Sequence[str], mark: Mark, paint: Paint) -> list[str]:
    if not 0 < mark.line <= len(source):
        return []
    if mark.column > _LONGEST:
        return []
    raw = source[mark.line - 1][:_LONGEST].rstrip("\r")
    before = _show(raw[: mark.column - 1])
    end = mark.column - 1 + mark.length
    while raw[end - 1 : end + 1] == _COVER * 2:
        end += 1  # a secret is not cut in two
    marked = _show(raw[mark.column - 1 : end])
    after = _show(raw[end:])
    number = f"{mark.line:>5}"
    if len(before) > _WIDEST:
        return []
    text = (before + marked + after)[:_WIDEST]
    carets = "^" * max(1, min(len(marked), _WIDEST - len(before)))
    return [f"{number} | {text}", f"{'':5} | {' ' * len(before)}{paint(carets, _COLOURS[mark.severity])}"]


def _show(text: str) -> str:
    return make_printable(re.sub(f"{_COVER}+", HIDDEN, text).expandtabs(4))


def _make_json_mark(mark: Mark) -> dict[str, object]:
    return {
        "code": mark.code,
        "severity": mark.severity.value,
        "message": _clean(mark.message),
        "line": mark.line,
        "column": mark.column,
        "length": mark.length,
        "why": mark.why,
        "hint": _clean(mark.hint),
        "fixable": bool(mark.fix),
    }


@overload
def _clean(text: str) -> str: ...
@overload
def _clean(text: None) -> None: ...
def _clean(text: str | None) -> str | None:
    return None if text is None else _encode(hide_secrets(text))


def _encode(text: str) -> str:
    """Bytes that are no UTF-8, in words: JSON has no letters for them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(make_printable(text)).replace(":", "%3A").replace(",", "%2C")


def _make_rule(code: str, rule: Callable[..., object]) -> dict[str, object]:
    words = [" ".join(part.split()) for part in (rule.__doc__ or code).strip().split("\n\n")]
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in rule.__name__.split("_")),
        "shortDescription": {"text": words[0]},
        "fullDescription": {"text": " ".join(words)},
    }


def _make_result(linted: Linted, mark: Mark, index: int) -> dict[str, object]:
    text = mark.message + (f"; {mark.hint}" if mark.hint else "")
    region = {"startLine": mark.line, "startColumn": mark.column, "endColumn": mark.column + max(1, mark.length)}
    address = quote(PurePath(linted.path).as_posix().encode("utf-8", "surrogateescape"))
    return {
        "ruleId": mark.code,
        "ruleIndex": index,
        "level": _SARIF[mark.severity],
        "message": {"text": make_printable(text)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": address}, "region": region}}],
    }
