"""What `farm run` and `farm add` are given, as tasks: a file of commands, a command with values, an array script."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.app.farms.sending import Packed, pack_rows
from windlass.core.farm.arrays import read_array
from windlass.core.farm.rows import Task, make_row
from windlass.core.farm.tables import make_products, read_commands, read_csv, read_json_lines, read_values
from windlass.core.farm.templates import Value, make_tasks, read_template
from windlass.core.sbatch.script import read_script
from windlass.core.toml.layers import Flag
from windlass.edges.script_files import NoScript, load_script
from windlass.edges.task_tables import STDIN, load_stdin, load_table
from windlass.errors import TasksInvalid, UsageError

VALUES = ":::"
_LINES = "a file with a value a line is standard input: < FILE; columns are {1} {2}, or --table FILE with names"
_OF_PARALLEL = {":::+": "values that belong together are a table: --table FILE", "::::": _LINES, "::::+": _LINES}
_TABS = (".tsv", ".tab")
_JSON = (".jsonl", ".ndjson", ".json")
_ENDINGS = {"\\t": "\t"}


@dataclass(frozen=True, kw_only=True)
class Given:
    words: tuple[str, ...] = ()
    table: Path | None = None
    array: Path | None = None
    separator: str | None = None


@dataclass(frozen=True, kw_only=True)
class Taken:
    packed: Packed
    first: str  # the command of the first task
    flags: tuple[Flag, ...] = ()  # what an array script asks for
    notes: tuple[str, ...] = ()


def take_tasks(given: Given, project: Path) -> Taken:
    if given.array is not None:
        if given.words or given.table:
            raise UsageError("--array names a script with its own tasks: give no other command or table")
        return _take_array(given.array, project)
    command, sources = _split(given.words)
    if given.table is not None:
        if sources:
            raise UsageError("--table and ::: are two tables: give one of them")
        return _fill(" ".join(command), _read_table(given.table, given.separator))
    if sources:
        return _fill(" ".join(command), make_products(sources), adds_value=True)
    if not command:
        raise UsageError("which tasks?", hint='windlass farm run tasks.txt, or "python3 train.py {}" ::: 1 2 3')
    if command == ["-"]:
        return _pack(read_commands(load_stdin(), STDIN))
    if len(command) == 1 and Path(command[0]).is_file():
        return _pack(read_commands(load_table(Path(command[0])), command[0]))
    if len(command) == 1 and not command[0].strip().count(" ") and "{" not in command[0]:
        raise TasksInvalid(f"there is no file {command[0]}", hint="one command a line", done="nothing was sent")
    values = read_values(load_stdin(), STDIN, separator=_read_separator(given.separator) or "\t")
    return _fill(" ".join(command), values, adds_value=True)


def _split(words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The command, and the values behind each :::."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _OF_PARALLEL:
            raise UsageError(
                f"{word} is GNU Parallel's, and not known here", hint=_OF_PARALLEL[word], done="nothing was sent"
            )
        if word == VALUES:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts[0], parts[1:]


def _fill(command: str, values: Iterable[Value], *, adds_value: bool = False) -> Taken:
    return _pack(make_tasks(read_template(command, adds_value=adds_value), values))


def _pack(tasks: Iterable[Task], *, flags: tuple[Flag, ...] = (), notes: tuple[str, ...] = ()) -> Taken:
    """One after another: never all of them as they are written."""
    rest = iter(tasks)
    first = next(rest)  # who reads a table refuses one without tasks
    packed = pack_rows(map(make_row, itertools.chain([first], rest)))
    return Taken(packed=packed, first=first.command, flags=flags, notes=notes)


def _read_table(path: Path, separator: str | None) -> Iterator[Value]:
    data, what = (load_stdin(), STDIN) if str(path) == "-" else (load_table(path), str(path))
    if path.suffix.lower() in _JSON or (str(path) == "-" and data.lstrip()[:1] == b"{"):
        return read_json_lines(data, what)
    wanted = _read_separator(separator) or ("\t" if path.suffix.lower() in _TABS else ",")
    return read_csv(data, what, separator=wanted)


def _read_separator(text: str | None) -> str | None:
    found = _ENDINGS.get(text or "", text)
    if found is not None and len(found) != 1:
        raise UsageError(f"--separator is one character, not {text!r}")
    return found


def _take_array(path: Path, project: Path) -> Taken:
    try:
        script = read_script(load_script(path))
    except NoScript as problem:
        raise TasksInvalid(f"{path}: {problem}", done="nothing was sent") from problem
    try:
        inside = path.resolve().relative_to(project.resolve()).as_posix()
    except ValueError:
        raise TasksInvalid(
            f"{path} is not in the project {project}, whose files are sent",
            hint=f"cp {path} {project}/",
            done="nothing was sent",
        ) from None
    found = read_array(script, inside)
    return _pack(found.tasks, flags=found.flags, notes=found.left)
