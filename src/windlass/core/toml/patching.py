"""Settings put into the text of a windlass.toml: lines are changed or added, comments and order stay."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windlass.core.finding import Setting
from windlass.core.toml.lines import find_lines
from windlass.core.toml.reading import Path
from windlass.core.toml.writing import format_key

# A key of one line: what is before the value, the value, and a comment after it.
_ONE_LINE = re.compile(
    r"""(?P<before>\s*[^=\n]*=\s*)
        (?P<value>"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\s#"'\[{][^\s#]*)
        (?P<after>\s*(?:\#.*)?)""",
    re.VERBOSE,
)
_INLINE = re.compile(r"(?P<before>\s*[^=\n]*=\s*\{)(?P<inside>[^\n]*)(?P<after>\}\s*(?:#.*)?)")


def apply_settings(text: str, settings: Sequence[Setting], *, site: str | None = None) -> str | None:
    """The new text; None where it cannot be changed line by line without changing something else.

    A value that `[site.NAME]` sets is changed there, because it would win.
    """
    for setting in settings:
        changed = _apply(text, setting, site)
        if changed is None:
            return None
        text = changed
    return text


def format_settings(settings: Sequence[Setting]) -> list[str]:
    """As lines to paste: tables with their keys."""
    tables: dict[Path, list[str]] = {}
    for setting in settings:
        *table, key = _split(setting.key)
        tables.setdefault(tuple(table), []).append(f"{format_key((key,))} = {setting.value}")
    return [line for table, lines in tables.items() for line in (f"[{format_key(table)}]", *lines)]


def _apply(text: str, setting: Setting, site: str | None) -> str | None:
    try:
        values = tomllib.loads(text)
        wanted = tomllib.loads(f"x = {setting.value}")["x"]
    except ValueError:
        return None
    path = _split(setting.key)
    own = ("site", site, *path) if site else path
    if site and _get(values, own) is not None:
        path = own
    expected = _set(values, path, wanted)
    # Whatever way is taken, what comes out must say exactly this: nothing else may have changed.
    return next((found for found in _try_all(text, path, setting.value) if _loads(found) == expected), None)


def _try_all(text: str, path: Path, value: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    numbers = find_lines(text)
    at = numbers.get(path)
    if at is not None:
        yield from _replace_line(lines, at - 1, value)
        return
    yield from _into_inline_table(lines, numbers.get(path[:-1]), path[-1:], value)
    yield from _into_table(lines, numbers, path, value)
    yield f"{_end_with_blank(text)}[{format_key(path[:-1])}]\n{format_key(path[-1:])} = {value}\n"


def _replace_line(lines: list[str], at: int, value: str) -> Iterator[str]:
    match = _ONE_LINE.fullmatch(lines[at].rstrip("\r\n"))
    if match:
        ending = lines[at][len(lines[at].rstrip("\r\n")) :]
        yield "".join([*lines[:at], match["before"], value, match["after"], ending, *lines[at + 1 :]])


def _into_inline_table(lines: list[str], at: int | None, key: Path, value: str) -> Iterator[str]:
    """`env = { A = "1" }` gets one more."""
    match = _INLINE.fullmatch(lines[at - 1].rstrip("\r\n")) if at else None
    if at and match:
        inside = match["inside"].rstrip()
        comma = "," if inside.strip() else ""
        line = f"{match['before']}{inside}{comma} {format_key(key)} = {value} {match['after']}\n"
        yield "".join([*lines[: at - 1], line, *lines[at:]])


def _into_table(lines: list[str], numbers: Mapping[Path, int], path: Path, value: str) -> Iterator[str]:
    """After the last key of its table, before whatever blank lines and comments lead to the next one."""
    table = path[:-1]
    inside = [line for key, line in numbers.items() if len(key) == len(path) and key[:-1] == table]
    start = max([*inside, numbers.get(table, 0)])
    for at in range(start, len(lines) + 1):  # a value may go on over several lines: the first place that fits
        if start and (at == len(lines) or at == start or not lines[at - 1].startswith((" ", "\t"))):
            new = f"{format_key(path[-1:])} = {value}\n"
            before = lines[:at]
            if before and not before[-1].endswith("\n"):
                before = [*before[:-1], before[-1] + "\n"]
            yield "".join([*before, new, *lines[at:]])


def _end_with_blank(text: str) -> str:
    if not text or text.endswith("\n\n"):
        return text
    return text + ("\n" if text.endswith("\n") else "\n\n")


def _split(key: str) -> Path:
    return tuple(key.split("."))


def _loads(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _get(values: Mapping[str, Any], path: Path) -> object | None:
    found: object = values
    for part in path:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _set(values: Mapping[str, Any], path: Path, value: object) -> dict[str, Any]:
    first = str(path[0])
    if len(path) == 1:
        return {**values, first: value}
    inner = values.get(first)
    return {**values, first: _set(inner if isinstance(inner, Mapping) else {}, path[1:], value)}
