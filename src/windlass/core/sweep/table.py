"""Trials from a table: CSV with names in its first line, or an object of JSON a line."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from windlass.core.sweep.space import MOST_TRIALS, check_name
from windlass.core.sweep.values import Value, read_value
from windlass.errors import UsageError


def read_table(content: bytes, name: str) -> list[dict[str, Value]]:
    """All rows; each has the same names."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise UsageError(f"{name}:{line}: this is no UTF-8", hint=f"iconv -f latin1 -t utf-8 {name}") from problem
    is_json = name.endswith((".jsonl", ".ndjson", ".json")) or text.lstrip().startswith("{")
    rows = []
    for row in _read_json_lines(text, name) if is_json else _read_csv(text, name):
        rows.append(row)
        if len(rows) > MOST_TRIALS:
            raise UsageError(f"{name} has more than {MOST_TRIALS:,} rows", hint="split it: a sweep of each part")
    if not rows:
        raise UsageError(f"{name} has no trials", hint="a line of names, then a line of values for each trial")
    for column in rows[0]:
        check_name(column)
    return rows


def _read_csv(text: str, name: str) -> Iterator[dict[str, Value]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        head = next(reader, [])
        columns = [one.strip() for one in head]
        twice = next((one for one in columns if columns.count(one) > 1), None)
        if twice is not None:
            raise UsageError(f"{name}: the column {twice!r} stands there twice", hint="rename one of them")
        for row in reader:
            if not row:
                continue
            if len(row) != len(columns):
                where = f"{name}:{reader.line_num}"
                raise UsageError(f"{where}: {len(row)} values for {len(columns)} names", hint='quote commas: "a,b"')
            yield {column: read_value(cell) for column, cell in zip(columns, row, strict=True)}
    except csv.Error as problem:
        raise UsageError(f"{name}:{reader.line_num}: {problem}", hint='"a ""quoted"" word"') from problem


def _read_json_lines(text: str, name: str) -> Iterator[dict[str, Value]]:
    first: set[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        row = _read_object(line, f"{name}:{number}")
        first = set(row) if first is None else first
        if set(row) != first:
            odd = ", ".join(sorted(set(row) ^ first))
            raise UsageError(f"{name}:{number}: other names than in the first line: {odd}", hint="the same in each")
        yield row


def _read_object(line: str, where: str) -> dict[str, Value]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{where}: this is no JSON: {problem}", hint='{"lr": 0.1, "depth": 2}') from problem
    if not isinstance(row, dict):
        raise UsageError(f"{where}: this is no object", hint='{"lr": 0.1, "depth": 2}')
    for key, value in row.items():
        if not isinstance(value, bool | int | float | str):
            raise UsageError(f"{where}: {key} is no single value", hint="a number, a word, true or false")
    return row
