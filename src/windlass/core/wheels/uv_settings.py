"""[tool.uv] of pyproject.toml, where there is no lock: what it says of indexes, in the words of pip."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from windlass.core.toml.writing import format_value
from windlass.core.wheels.names import normal_name
from windlass.core.wheels.platform import Platform, make_markers
from windlass.core.wheels.requirements import Line, Option, holds, join_link, make_line
from windlass.core.wheels.texts import refuse_local
from windlass.errors import RequirementsInvalid

_NODES = make_markers(Platform(python=(3, 11)))  # of any site: what matters here is that it is Linux
_NOT_OF_PIP = ("override-dependencies", "exclude-dependencies")
_LOCK = 'uv lock   # then venv = "uv.lock" in [environment]'


@dataclass(frozen=True, kw_only=True)
class UvSettings:
    lines: tuple[Line, ...]  # as sources say where they come from
    options: tuple[Option, ...] = ()
    constraints: tuple[Line, ...] = ()
    told: tuple[str, ...] = ()


def read_uv_settings(path: str, table: dict[str, Any], lines: tuple[Line, ...], extras: tuple[str, ...]) -> UvSettings:
    """table: of tool.uv; lines: what is asked for; extras: and groups, as chosen. What pip cannot do is refused."""
    where = f"{path} [tool.uv]"
    pinned = table.get("constraint-dependencies") or ()
    if isinstance(pinned, str):  # it would be read letter by letter
        raise RequirementsInvalid(
            f"{where}: constraint-dependencies is a text instead of a list",
            hint=f"constraint-dependencies = [{format_value(pinned)}]",
            done="nothing was built",
        )
    for key in _NOT_OF_PIP:
        if table.get(key):
            raise RequirementsInvalid(
                f"{where} has {key}, which pip does not know", hint=_LOCK, done="nothing was built"
            )
    try:
        indexes = {str(one.get("name") or one["url"]): one for one in table.get("index") or ()}
        chosen = frozenset(map(normal_name, extras))
        sources = dict(_list_sources(table.get("sources") or {}, lines, chosen, where))
        named = {package: _as_text(one["index"]) for package, one in sources.items() if "index" in one}
        constraints = tuple(make_line(one, where) for one in pinned)
        options = tuple(_list_options(path, table, indexes, frozenset(named.values()), where))
    except (AttributeError, KeyError, TypeError) as problem:
        raise RequirementsInvalid(f"{where} cannot be read: {problem!r}", hint="uv lock says what is wrong") from None
    told = tuple(
        f"{where}: {package} is wanted of the index {index}: pip looks for all packages there too"
        for package, index in sorted(named.items())
        if indexes[index].get("explicit")
    )
    placed = tuple(_place(line, sources.get(line.name, {}), where) for line in lines)
    return UvSettings(lines=placed, options=options, constraints=constraints, told=told)


def _list_sources(
    sources: dict[str, Any], lines: tuple[Line, ...], chosen: frozenset[str], where: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(package, its source); those alone that are asked for, and that are meant for Linux."""
    asked = {line.name for line in lines}
    for package, given in sources.items():
        meant = [one for one in (given if isinstance(given, list) else [given]) if _is_meant(one, chosen, where)]
        if normal_name(package) not in asked or not meant:
            continue
        if len(meant) > 1:
            raise RequirementsInvalid(
                f"{where}: {package} has {len(meant)} sources for Linux, and pip takes it from one", hint=_LOCK
            )
        yield normal_name(package), meant[0]


def _is_meant(source: dict[str, Any], chosen: frozenset[str], where: str) -> bool:
    for key in ("extra", "group"):
        if key in source and normal_name(source[key]) not in chosen:
            return False
    marker = source.get("marker")
    return marker is None or holds(make_line(f"x ; {marker}", where).requirement, _NODES)


def _place(line: Line, source: dict[str, Any], where: str) -> Line:
    if not source or "index" in source:
        return line
    if "git" in source:
        mark = next((f"@{source[key]}" for key in ("rev", "tag", "branch") if source.get(key)), "")
        folder = f"#subdirectory={source['subdirectory']}" if source.get("subdirectory") else ""
        address = f"git+{str(source['git']).removeprefix('git+')}{mark}{folder}"
    elif "url" in source:
        address = str(source["url"])
    else:
        raise refuse_local(f"{line.name} = {source}", where)
    extras = f"[{','.join(sorted(line.requirement.extras))}]" if line.requirement.extras else ""
    marker = f" ; {line.requirement.marker}" if line.requirement.marker else ""
    return make_line(f"{line.requirement.name}{extras} @ {address}{marker}", line.where)


def _list_options(
    path: str, table: dict[str, Any], indexes: dict[str, dict[str, Any]], named: frozenset[str], where: str
) -> Iterator[Option]:
    for missing in sorted(named - indexes.keys()):
        raise RequirementsInvalid(
            f"{where}: a package is wanted of the index {missing!r}, and there is none of that name", hint="uv lock"
        )
    for name, index in indexes.items():
        if index.get("explicit") and name not in named:
            continue
        kind = "index-url" if index.get("default") else "extra-index-url"
        if index.get("format") == "flat":
            kind = "find-links"
        yield _make_option(kind, index["url"], path, where)
    for key in ("index-url", "extra-index-url", "find-links"):
        given = table.get(key) or ()
        for value in (given,) if isinstance(given, str) else given:
            yield _make_option(key, value, path, where)
    if table.get("no-index"):
        yield Option(name="no-index", where=where)
    if table.get("prerelease") == "allow":
        yield Option(name="pre", where=where)


def _make_option(name: str, value: object, path: str, where: str) -> Option:
    text = _as_text(value)
    if not text.isprintable():  # behind a line break pip would read another option
        raise RequirementsInvalid(
            f"{where}: the address of --{name} has a line break or another sign that cannot be shown",
            hint="write it in one line",
            done="nothing was built",
        )
    return Option(name=name, value=join_link(path, text) if name == "find-links" else text, where=where)


def _as_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} instead of a text")
    return value
