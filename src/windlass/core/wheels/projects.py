"""pyproject.toml: the dependencies of PEP 621, with chosen extras and groups."""

import tomllib
from typing import Any

from windlass.core.credentials import hide_credentials
from windlass.core.wheels.names import normal_name
from windlass.core.wheels.python_needed import read_python_needed
from windlass.core.wheels.requirements import Line, ReadFile, Requirements, make_line
from windlass.core.wheels.uv_settings import read_uv_settings
from windlass.errors import RequirementsInvalid

_DEEPEST = 20


def read_project(path: str, text: str, extras: tuple[str, ...], read: ReadFile) -> Requirements:
    values = load_toml(path, text)
    project = _table(values.get("project"))
    groups = {normal_name(name): one for name, one in _table(values.get("dependency-groups")).items()}
    optional = {normal_name(name): one for name, one in _table(project.get("optional-dependencies")).items()}
    lines = _read_list(project.get("dependencies") or [], path, text)
    dynamic = project.get("dynamic")
    if isinstance(dynamic, list) and "dependencies" in dynamic:
        raise RequirementsInvalid(
            f"{path}: the dependencies are made when it is built (dynamic), so they cannot be read",
            hint="pip-compile, uv lock, or: windlass env lock FILE   # then name that file",
        )
    if not project and not groups:
        raise RequirementsInvalid(
            f"{path} has neither [project] nor [dependency-groups]",
            hint="poetry export -o requirements.txt" if "poetry" in _table(values.get("tool")) else "see PEP 621",
        )
    for extra in extras:
        lines += _read_extra(normal_name(extra), optional, groups, (path, text))
    lines = list(dict.fromkeys(_unfold(lines, project, optional, (path, text))))
    settings = read_uv_settings(path, _table(_table(values.get("tool")).get("uv")), tuple(lines), extras)
    return Requirements(
        file=path,
        lines=settings.lines,
        constraints=settings.constraints,
        options=settings.options,
        told=settings.told,
        python=read_python_needed(project.get("requires-python"), locate(path, text, "requires-python")),
    )


def load_toml(path: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise RequirementsInvalid(f"{path} is no TOML: {problem}", hint="mend the line that it names") from None


def _read_extra(
    name: str, optional: dict[str, Any], groups: dict[str, Any], file: tuple[str, str], deep: int = 0
) -> list[Line]:
    path, text = file
    if name in optional:
        return _read_list(optional[name], path, text)
    if name not in groups:
        known = ", ".join(sorted({*optional, *groups})) or "none"
        raise RequirementsInvalid(f"{path} has no extra and no group {name!r}; it has: {known}")
    if deep > _DEEPEST:
        raise RequirementsInvalid(f"{path}: the group {name!r} includes itself")
    lines = []
    for item in groups[name] if isinstance(groups[name], list) else ():
        if isinstance(item, dict) and isinstance(item.get("include-group"), str):
            lines += _read_extra(normal_name(item["include-group"]), {}, groups, file, deep + 1)
        else:
            lines += _read_list([item], path, text)
    return lines


def _unfold(
    lines: list[Line], project: dict[str, Any], optional: dict[str, Any], file: tuple[str, str], deep: int = 0
) -> list[Line]:
    """A project may name its own extras: "mine[gpu]" in the extra `all`."""
    own, unfolded = normal_name(str(project.get("name") or "")), []
    for line in lines:
        if line.name != own or deep > _DEEPEST:
            unfolded.append(line)
            continue
        for extra in sorted(line.requirement.extras):
            inner = _read_extra(normal_name(extra), optional, {}, file)
            unfolded += _unfold(inner, project, optional, file, deep + 1)
    return unfolded


def _read_list(items: object, path: str, text: str) -> list[Line]:
    if not isinstance(items, list):
        raise RequirementsInvalid(f"{path}: {hide_credentials(repr(items))} is no list of requirements")
    lines = []
    for item in items:
        if not isinstance(item, str):
            raise RequirementsInvalid(f"{path}: {hide_credentials(repr(item))} is no requirement: a text is expected")
        lines.append(make_line(item, locate(path, text, item)))
    return lines


def locate(path: str, text: str, word: str) -> str:
    at = text.find(word)
    return f"{path}:{text.count(chr(10), 0, at) + 1}" if at >= 0 else path


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
