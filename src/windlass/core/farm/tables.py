"""Texts read into tasks: a command a line, a value a line, CSV, JSON lines. All that is wrong is told with its line.

One after another, as they are asked for: a table may have a million. What is wrong is raised at the end, all at once.
"""

import codecs
import csv
import io
import itertools
import json
from collections.abc import Iterator, Sequence

from windlass.core.farm.quoting import find_open
from windlass.core.farm.rows import Task
from windlass.core.farm.templates import Value
from windlass.core.shell import quote
from windlass.errors import PlanError, TasksInvalid

_MOST_TOLD = 10
_LONGEST = 100_000  # bytes of a command; the kernel takes no argument above 131,071


def read_commands(data: bytes, what: str) -> Iterator[Task]:
    """One a line."""
    problems, number = [], 0
    for number, line in _read_lines(data, what):
        problem = _judge_command(line)
        if problem is not None:
            problems.append((number, problem))
        yield Task(command=line)
    _refuse(problems, what)
    if not number:
        raise TasksInvalid(f"{what} has no tasks: it is empty", done="nothing was sent")


def _judge_command(line: str) -> str | None:
    text = line.strip()
    if not text or text.startswith("#"):
        return "there is no command: each line is one task"
    if len(line) > _LONGEST:
        return f"{len(line)} characters are too many for a command"
    if text[0] in "-+":
        return f"it begins with {text[0]!r}, which bash takes for an option"
    return find_open(line)


def read_values(data: bytes, what: str, *, separator: str = "\t") -> Iterator[Value]:
    """One a line; {1} {2} are what is between separators."""
    problems = []
    for number, line in _read_lines(data, what):
        if not line.strip():
            problems.append((number, "it is empty: each line is the value of one task"))
        yield Value(whole=line, columns=tuple(line.split(separator)))
    _refuse(problems, what)


def make_products(sources: Sequence[Sequence[str]]) -> Iterator[Value]:
    """As `::: a b ::: 1 2`: each of the first with each of the second."""
    empty = [number for number, one in enumerate(sources, 1) if not one]
    if empty:
        raise TasksInvalid("behind ::: there is no value", done="nothing was sent")
    for value in itertools.chain(*sources):
        _check_value(value)
    return (Value(whole=" ".join(one), columns=one) for one in itertools.product(*sources))


def _check_value(value: str) -> None:
    try:
        quote(value)
    except PlanError as problem:
        raise TasksInvalid(problem.message, done="nothing was sent") from problem


def read_csv(data: bytes, what: str, *, separator: str = ",") -> Iterator[Value]:
    """The first line has the names."""
    _refuse_zero_bytes(data, what)
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")  # which knows all ends of lines
    lines = csv.reader(text, delimiter=separator, strict=True)
    try:
        head = next(lines, [])
        names = tuple(name.strip() for name in head)
        _check_names(names, what)
        problems = []
        for row in lines:
            if not row:
                continue  # a line with nothing in it
            if len(row) != len(names):
                problems.append((lines.line_num, f"{len(row)} columns; the first line has {len(names)}"))
                continue
            yield Value(whole=None, columns=tuple(row), names=names)
    except UnicodeDecodeError:
        for _ in _decode_lines(data, what):
            pass  # which knows the line of what is no UTF-8
    except csv.Error as problem:
        raise TasksInvalid(f"{what}:{lines.line_num}: {problem}", done="nothing was sent") from problem
    _refuse(problems, what)


def _check_names(names: tuple[str, ...], what: str) -> None:
    if not any(names):
        raise TasksInvalid(f"{what} has no tasks: it is empty", done="nothing was sent")
    if not all(names) or len(set(names)) < len(names):
        raise TasksInvalid(f"{what}:1: columns need names that differ: {', '.join(names)}", done="nothing was sent")


def read_json_lines(data: bytes, what: str) -> Iterator[Value]:
    """An object a line; the first one says which names there are."""
    first: tuple[str, ...] = ()
    problems = []
    for number, line in _read_lines(data, what):
        try:
            told = json.loads(line, parse_float=str, parse_int=str)
            names, columns = _read_object(told)
        except (ValueError, RecursionError) as problem:
            problems.append((number, str(problem)))
            continue
        first = first or names
        if set(names) != set(first):
            problems.append((number, f"it has {', '.join(names)}; the first line has {', '.join(first)}"))
            continue
        yield Value(whole=None, columns=columns, names=names)
    _refuse(problems, what)


def _read_object(told: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not isinstance(told, dict) or not told:
        raise ValueError("no object with names and values")
    for name, value in told.items():
        if isinstance(value, dict | list):
            raise ValueError(f"the value of {name!r} is no text and no number")
    texts = {None: "", True: "true", False: "false"}
    return tuple(told), tuple(texts[one] if one is None or isinstance(one, bool) else one for one in told.values())


def _read_lines(data: bytes, what: str) -> Iterator[tuple[int, str]]:
    """Without their ends; empty ones at the end are no lines."""
    for number, line in _decode_lines(data.rstrip(b"\r\n"), what):
        yield number, line.removesuffix("\n").removesuffix("\r")


def _decode_lines(data: bytes, what: str) -> Iterator[tuple[int, str]]:
    """With their ends, and numbers from 1 on."""
    _refuse_zero_bytes(data, what)
    for number, line in enumerate(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), 1):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise TasksInvalid(
                f"{what}:{number}: this is no UTF-8: {line[problem.start : problem.end]!r}",
                hint="iconv -f latin1 -t utf-8 FILE",
                done="nothing was sent",
            ) from problem


def _refuse_zero_bytes(data: bytes, what: str) -> None:
    place = data.find(b"\0")
    if place >= 0:
        number = data.count(b"\n", 0, place) + 1
        raise TasksInvalid(f"{what}:{number}: it holds a zero byte", done="nothing was sent")


def _refuse(problems: Sequence[tuple[int, str]], what: str) -> None:
    if not problems:
        return
    more = [f"… and {len(problems) - _MOST_TOLD} more"] if len(problems) > _MOST_TOLD else []
    lines = "line" if len(problems) == 1 else "lines"
    raise TasksInvalid(
        f"{len(problems)} {lines} of {what} cannot be tasks",
        details=[*(f"{what}:{number}: {problem}" for number, problem in problems[:_MOST_TOLD]), *more],
        done="nothing was sent",
    )
