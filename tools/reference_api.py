"""The reference of the Python API: the functions of windlass.api and the values they return."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum

from reference_comments import read_comments

from windlass import api, data, env, farm, services
from windlass.core.finding import Diagnosis
from windlass.executor import Executor


def make_api() -> str:
    names = [getattr(api, name) for name in api.__all__]
    functions = [one for one in names if inspect.isfunction(one)]
    about_data = [getattr(data, name) for name in data.__all__]
    about_environments = [getattr(env, name) for name in env.__all__]
    about_farms = [getattr(farm, name) for name in farm.__all__]
    about_services = [getattr(services, name) for name in services.__all__]
    values = [
        one
        for one in (*names, Diagnosis, *about_data, *about_environments, *about_farms, *about_services)
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
        "## Environments\n\nWhat `windlass env --help` and `windlass container --help` list, as functions.",
        *(
            f"### env.{one.__name__}\n\n```text\n{_format_signature(one)}\n```\n\n{inspect.getdoc(one)}"
            for one in about_environments
            if inspect.isfunction(one)
        ),
        "## Farms\n\nWhat `windlass farm --help` lists, as functions of `windlass.farm`.",
        *(
            f"### farm.{one.__name__}\n\n```text\n{_format_signature(one)}\n```\n\n{inspect.getdoc(one)}"
            for one in about_farms
            if inspect.isfunction(one)
        ),
        f"## Services\n\n{(inspect.getdoc(services) or '').rpartition(chr(10) * 2)[2]}",
        *(
            f"### services.{one.__name__}\n\n```text\n{_format_signature(one)}\n```\n\n{inspect.getdoc(one)}"
            for one in about_services
            if inspect.isfunction(one)
        ),
        *_describe_executor(),
        "## Values",
        *(f"### {one.__name__}\n\n{_describe(one)}" for one in values),
    )
    return "\n\n".join(parts)


def _describe_executor() -> Iterator[str]:
    yield f"## Executor\n\n{inspect.getdoc(Executor)}\n[Call Python functions at a site](../how-to/futures.md)."
    public = [one for name, one in vars(Executor).items() if name == "__init__" or not name.startswith("_")]
    for one in public:
        function = one.__func__ if isinstance(one, classmethod) else one.fget if isinstance(one, property) else one
        head = re.sub(r"\((?:self|cls),?\s*", "(", _format_signature(function, indent=8)).replace("\n    ", "\n")
        head = head.replace("__init__(", "Executor(").replace(" -> None", "")
        name = head.split("(")[0]
        yield f"### {name}\n\n```text\n{head}\n```\n\n{inspect.getdoc(function)}"


def _example() -> str:
    text = inspect.getdoc(api) or ""
    lines = [line.removeprefix("    ") for line in text.splitlines() if line.startswith("    ") or not line]
    return "\n".join(lines).strip()


def _format_signature(function: object, indent: int = 4) -> str:
    source = inspect.getsource(function)  # type: ignore[arg-type]  # as written: names, not their long addresses
    head = re.search(rf"def (.*?):\n{' ' * indent}\"\"\"", source, re.DOTALL)
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
