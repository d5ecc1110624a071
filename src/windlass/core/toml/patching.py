"""Settings put into the text of a windlass.toml: lines are changed or added, comments and order stay."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from windlass.core.finding import Setting
from windlass.core.toml.lines import find_lines
from windlass.core.toml.reading import Path
from windlass.core.toml.writing import format_key
from windlass.core.units import read_duration, read_memory

# A key of one line: what is before the value, the value, and a comment after it.
_ONE_LINE = re.compile(
    r"""(?P<before>\s*[^=\n]*=\s*)
        (?P<value>"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\s#"'\[{][^\s#]*)
        (?P<after>\s*(?:\#.*)?)""",
    re.VERBOSE,
)
# What a fix only ever raises.
_AMOUNTS: dict[str, Callable[[Any], float]] = {
    "resources.memory": lambda text: read_memory(text),
    "resources.time": lambda text: read_duration(text).total_seconds(),
    "resources.cpus": int,
    "resources.gpus": int,
    "checkpoint.notice": lambda text: read_duration(text).total_seconds(),
}
_INLINE = re.compile(r"(?P<before>\s*[^=\n]*=\s*\{)(?P<inside>[^\n]*)(?P<after>\}\s*(?:#.*)?)")


def apply_settings(text: str, settings: Sequence[Setting], *, site: str | None = None) -> str | None:
    """The new text; None where it cannot be changed line by line without changing something else.

    A value that `[site.NAME]` sets is changed there, because it would win. Line ends stay as the file has them.
    """
    ends = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    for setting in settings:
        changed = _apply(text, setting, site, ends)
        if changed is None:
            return None
        text = changed
    return text


def drop_lower(text: str, settings: Sequence[Setting], *, site: str | None = None) -> tuple[Setting, ...]:
    """Without those that ask for less than the file does already: a fix was made from an older plan."""
    values = _loads(text) or {}
    return tuple(one for one in settings if not _is_lower(one, _get(values, _find_path(values, one, site))))


def format_settings(settings: Sequence[Setting]) -> list[str]:
    """As lines to paste: tables with their keys."""
    tables: dict[Path, list[str]] = {}
    for setting in settings:
        *table, key = _split(setting.key)
        tables.setdefault(tuple(table), []).append(f"{format_key((key,))} = {setting.value}")
    return [line for table, lines in tables.items() for line in (f"[{format_key(table)}]", *lines)]


def _apply(text: str, setting: Setting, site: str | None, ends: str) -> str | None:
    try:
        values = tomllib.loads(text)
        wanted = tomllib.loads(f"x = {setting.value}")["x"]
    except ValueError:
        return None
    path = _find_path(values, setting, site)
    expected = _set(values, path, wanted)
    # Whatever way is taken, what comes out must say exactly this: nothing else may have changed.
    return next((found for found in _try_all(text, path, setting.value, ends) if _loads(found) == expected), None)


def _find_path(values: Mapping[str, Any], setting: Setting, site: str | None) -> Path:
    path = _split(setting.key)
    own = ("site", site, *path) if site else path
    return own if _get(values, own) is not None else path


def _is_lower(setting: Setting, written: object) -> bool:
    """False where one of the two is no amount: whoever reads the file then says so."""
    measure = _AMOUNTS.get(setting.key)
    if measure is None or written is None:
        return False
    try:
        return measure(tomllib.loads(f"x = {setting.value}")["x"]) < measure(written)
    except (ValueError, TypeError):
        return False


def _try_all(text: str, path: Path, value: str, ends: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    numbers = find_lines(text)
    at = numbers.get(path)
    if at is not None:
        yield from _replace_line(lines, at - 1, value)
        return
    yield from _into_inline_table(lines, numbers.get(path[:-1]), path[-1:], value)
    yield from _into_table(lines, numbers, path, f"{format_key(path[-1:])} = {value}{ends}")
    yield f"{_end_with_blank(text, ends)}[{format_key(path[:-1])}]{ends}{format_key(path[-1:])} = {value}{ends}"


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
        ending = lines[at - 1][len(lines[at - 1].rstrip("\r\n")) :]
        line = f"{match['before']}{inside}{comma} {format_key(key)} = {value} {match['after']}{ending}"
        yield "".join([*lines[: at - 1], line, *lines[at:]])


def _into_table(lines: list[str], numbers: Mapping[Path, int], path: Path, new: str) -> Iterator[str]:
    """After the last key of its table, before whatever blank lines and comments lead to the next one."""
    table = path[:-1]
    inside = [line for key, line in numbers.items() if len(key) == len(path) and key[:-1] == table]
    start = max([*inside, numbers.get(table, 0)])
    for at in range(start, len(lines) + 1):  # a value may go on over several lines: the first place that fits
        if start and (at == len(lines) or at == start or not lines[at - 1].startswith((" ", "\t"))):
            before = lines[:at]
            if before and not before[-1].endswith("\n"):
                before = [*before[:-1], before[-1] + new[len(new.rstrip("\r\n")) :]]
            yield "".join([*before, new, *lines[at:]])


def _end_with_blank(text: str, ends: str) -> str:
    if not text or text.endswith(2 * ends):
        return text
    return text + (ends if text.endswith("\n") else 2 * ends)


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
