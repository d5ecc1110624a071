"""The reference of the Python API: the functions of windlass.api and the values they return."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum

from reference_comments import read_comments

from windlass import api, data
from windlass.core.finding import Diagnosis


def make_api() -> str:
    names = [getattr(api, name) for name in api.__all__]
    functions = [one for one in names if inspect.isfunction(one)]
    about_data = [getattr(data, name) for name in data.__all__]
    values = [
        one
        for one in (*names, Diagnosis, *about_data)
        if inspect.isclass(one) and (is_dataclass(one) or issubclass(one, Enum))
    ]
    lead = (inspect.getdoc(api) or "").split("\n\n")
    parts = (
        "# The Python API",
        f"{lead[0]}\nAll of them are also names of the package: `windlass.run` is `windlass.api.run`.",
        f"```python\n{inspect.cleandoc('    ' + _example())}\n```",
        lead[-1],
        'A `Run` is a record, or a run id, its beginning, its name, or `"last"`.\n'
        "Errors are `windlass.WindlassError`: see [Errors](errors.md).",
        "## Functions",
        *(
            f"### {one.__name__}\n\n```text\n{_format_signature(one)}\n```\n\n{inspect.getdoc(one)}"
            for one in functions
        ),
        f"## Data\n\nWhat `windlass data --help` lists, as functions: `windlass.data.{data.ls.__name__}()`, and so on.",
        *(
            f"### data.{one.__name__}\n\n```text\n{_format_signature(one)}\n```\n\n{inspect.getdoc(one)}"
            for one in about_data
            if inspect.isfunction(one)
        ),
        "## Values",
        *(f"### {one.__name__}\n\n{_describe(one)}" for one in values),
    )
    return "\n\n".join(parts)


def _example() -> str:
    text = inspect.getdoc(api) or ""
    lines = [line.removeprefix("    ") for line in text.splitlines() if line.startswith("    ") or not line]
    return "\n".join(lines).strip()


def _format_signature(function: object) -> str:
    source = inspect.getsource(function)  # type: ignore[arg-type]  # as written: names, not their long addresses
    head = re.search(r"def (.*?):\n    \"\"\"", source, re.DOTALL)
    return re.sub(r",? *\n *\)", ")", re.sub(r"\(\n +", "(", head[1])) if head else ""


def _describe(kind: type) -> str:
    text = "" if (kind.__doc__ or "").startswith(f"{kind.__name__}(") else inspect.getdoc(kind) or ""
    rows = "\n".join(_rows(kind))
    return "\n\n".join(part for part in (text if "Enum" not in text else "", rows) if part)


def _rows(kind: type) -> Iterator[str]:
    comments = read_comments(kind)
    if issubclass(kind, Enum):
        yield from ("| value | meaning |", "| --- | --- |")
        yield from (f"| `{one.name}` = `{one.value!r}` | {comments.get(one.name, '')} |" for one in kind)
        return
    yield from ("| field | type | meaning |", "| --- | --- | --- |")
    for one in fields(kind):  # type: ignore[arg-type]  # only dataclasses come here
        shown = one.type if isinstance(one.type, str) else inspect.formatannotation(one.type)
        short = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", shown).replace("|", "\\|")
        yield f"| `{one.name}` | {short} | {comments.get(one.name, '')} |"
