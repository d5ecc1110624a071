"""uv.lock as pinned requirements with hashes: what the project needs, under which markers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from windlass.core.credentials import hide_credentials
from windlass.core.wheels.names import normal_name
from windlass.core.wheels.projects import load_toml, locate
from windlass.core.wheels.python_needed import read_python_needed
from windlass.core.wheels.requirements import Line, Option, ReadFile, Requirements, make_line
from windlass.errors import RequirementsInvalid

_PYPI = "pypi.org"
_MOST_WAYS = 64  # on which a package may be reached by different markers
# How uv says in a marker that an extra or group of the project was chosen, where some exclude each other.
_CHOSEN = re.compile(r"""extra\s*(?P<operator>==|!=)\s*(?P<quote>['"])(?:extra|group)-(?P<rest>\d+-[^'"]*)(?P=quote)""")
_TRUE, _FALSE = "python_version >= '0'", "python_version < '0'"

Key = tuple[str, str]  # name and version
Way = frozenset[str]  # all of these markers must hold


@dataclass(frozen=True, kw_only=True)
class _Lock:
    path: str
    packages: dict[Key, dict[str, Any]]
    by_name: dict[str, list[Key]]
    chosen: frozenset[str]  # extras and groups


def read_uv_lock(path: str, text: str, extras: tuple[str, ...], read: ReadFile) -> Requirements:
    values = load_toml(path, text)
    try:
        return _read(path, text, values, extras)
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ) as problem:  # somebody had a hand in it
        raise RequirementsInvalid(f"{path} is no lock of uv's that can be read: {problem}", hint="uv lock") from None


def _read(path: str, text: str, values: dict[str, Any], extras: tuple[str, ...]) -> Requirements:
    listed = [one for one in values.get("package") or () if isinstance(one, dict) and isinstance(one.get("name"), str)]
    if not isinstance(values.get("version"), int) or not listed:
        raise RequirementsInvalid(f"{path} is no lock of uv's: it has no version or no packages", hint="uv lock")
    packages = {(normal_name(one["name"]), str(one.get("version", ""))): one for one in listed}
    by_name: dict[str, list[Key]] = {}
    for key in packages:
        by_name.setdefault(key[0], []).append(key)
    lock = _Lock(path=path, packages=packages, by_name=by_name, chosen=frozenset(normal_name(one) for one in extras))
    root = _find_root(lock)
    ways = _walk(lock, root, tuple(normal_name(one) for one in extras))
    lines, told = _settle_sums([_make_line(lock, key, ways[key], text) for key in sorted(ways) if key != root])
    python = read_python_needed(values.get("requires-python"), locate(path, text, "requires-python"))
    return Requirements(file=path, lines=lines, options=_list_indexes(lock, ways), python=python, told=told)


def _settle_sums(lines: list[Line]) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """pip wants sums of all packages or of none."""
    without = [line for line in lines if not line.hashes]
    if not without or len(without) == len(lines):
        return tuple(lines), ()
    names = ", ".join(line.name for line in without)
    told = f"{without[0].where}: the lock has no sums of {names}, so that none are compared; its versions are"
    return tuple(replace(line, hashes=()) for line in lines), (told,)


def _find_root(lock: _Lock) -> Key:
    """The project itself: it travels with the run, and is not installed."""
    for key, package in lock.packages.items():
        source = package.get("source") or {}
        if "." in (source.get("virtual"), source.get("editable"), source.get("directory")):
            return key
    members = [key[0] for key, one in lock.packages.items() if _find_local(one)]
    raise RequirementsInvalid(
        f"{lock.path} is the lock of a workspace without a project of its own"
        + (f"; its members: {', '.join(sorted(members))}" if members else ""),
        hint="uv export --package NAME --no-emit-workspace -o requirements.txt",
    )


def _walk(lock: _Lock, root: Key, extras: tuple[str, ...]) -> dict[Key, frozenset[Way]]:
    """Every package that is needed, with the sets of markers under which it is."""
    reached: dict[tuple[Key, str], frozenset[Way]] = {}
    waiting: list[tuple[Key, str, frozenset[Way]]] = [(root, "", frozenset({frozenset()}))]
    waiting += [(root, extra, frozenset({frozenset()})) for extra in extras]
    _check_extras(lock, root, extras)
    while waiting:
        key, extra, ways = waiting.pop()
        before = reached.get((key, extra), frozenset())
        together = _absorb(before | ways)
        if together == before:
            continue
        reached[key, extra] = together
        for edge in _list_edges(lock.packages[key], extra):
            target, marker = _find_target(lock, edge, key), _settle_extras(str(edge.get("marker") or ""), lock.chosen)
            further = frozenset(way | {marker} if marker else way for way in together)
            waiting += [(target, "", further)]
            waiting += [(target, normal_name(one), further) for one in edge.get("extra") or ()]
    needed: dict[Key, frozenset[Way]] = {}
    for (key, _), ways in reached.items():
        needed[key] = _absorb(needed.get(key, frozenset()) | ways)
    return needed


def _absorb(ways: frozenset[Way]) -> frozenset[Way]:
    """A way that asks for less makes those that ask for the same and more superfluous."""
    kept = frozenset(way for way in ways if not any(other < way for other in ways))
    return kept if len(kept) <= _MOST_WAYS else frozenset({frozenset()})


def _check_extras(lock: _Lock, root: Key, extras: tuple[str, ...]) -> None:
    package = lock.packages[root]
    known = {normal_name(name) for table in _list_tables(package) for name in table}
    for extra in extras:
        if extra not in known:
            raise RequirementsInvalid(
                f"{lock.path} has no extra and no group {extra!r}; it has: {', '.join(sorted(known)) or 'none'}"
            )


def _list_edges(package: dict[str, Any], extra: str) -> Iterator[dict[str, Any]]:
    if not extra:
        yield from package.get("dependencies") or ()
        return
    for table in _list_tables(package):
        for name, edges in table.items():
            if normal_name(name) == extra:
                yield from edges


def _list_tables(package: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return package.get("optional-dependencies") or {}, package.get("dev-dependencies") or {}


def _find_target(lock: _Lock, edge: dict[str, Any], source: Key) -> Key:
    """Where a name has several versions, the edge says which."""
    name = normal_name(str(edge.get("name", "")))
    keys = [key for key in lock.by_name.get(name, ()) if edge.get("version") in (None, key[1])]
    if not keys:
        raise RequirementsInvalid(f"{lock.path}: {source[0]} needs {name}, and the lock has none", hint="uv lock")
    package = lock.packages[keys[0]]
    if local := _find_local(package):
        raise RequirementsInvalid(
            f"{lock.path}: {name} is {local}, and no package of an index",
            hint="uv export --no-emit-workspace --no-emit-local -o requirements.txt   # your code travels with the run",
            done="nothing was built",
        )
    return keys[0]


def _find_local(package: dict[str, Any]) -> str | None:
    """What it is, where no index has it."""
    source = package.get("source") or {}
    words = {
        "editable": "a member of the workspace",
        "virtual": "a member of the workspace",
        "directory": "a folder on this laptop",
        "path": "a file on this laptop",
    }
    for kind, what in words.items():
        if kind in source and source[kind] != ".":
            return f"{what} ({hide_credentials(str(source[kind]))})"
    return None


def _make_line(lock: _Lock, key: Key, ways: frozenset[Way], text: str) -> Line:
    name, version = key
    package = lock.packages[key]
    files = [*(package.get("wheels") or ()), package.get("sdist")]
    hashes = tuple(sorted({str(one["hash"]) for one in files if isinstance(one, dict) and one.get("hash")}))
    marker = _format_ways(ways)
    at = re.search(rf'^name = "{re.escape(package["name"])}"\s*\nversion = "{re.escape(version)}"', text, re.MULTILINE)
    where = f"{lock.path}:{text.count(chr(10), 0, at.start()) + 1}" if at else lock.path
    address = _find_address(package.get("source") or {})
    wanted = f"{name} @ {address}" if address else f"{name}=={version}"
    return make_line(wanted + (f" ; {marker}" if marker else ""), where, hashes)


def _find_address(source: dict[str, Any]) -> str | None:
    """As pip writes it; of git the lock has https://example.org/x?subdirectory=a&rev=b#COMMIT"""
    if "git" not in source:
        return str(source["url"]) if "url" in source else None
    address, _, commit = str(source["git"]).partition("#")
    address, _, query = address.partition("?")
    folder = re.search(r"(?:^|&)subdirectory=([^&]+)", query)
    inside = f"#subdirectory={folder[1].replace('%2F', '/')}" if folder else ""
    return f"git+{address}" + (f"@{commit}" if commit else "") + inside


def _format_ways(ways: frozenset[Way]) -> str:
    if frozenset() in ways:
        return ""
    return " or ".join(sorted("(" + " and ".join(f"({one})" for one in sorted(way)) + ")" for way in ways))


def _settle_extras(marker: str, chosen: frozenset[str]) -> str:
    """extra == 'extra-4-mine-cpu' is true where `cpu` was chosen: pip does not know of it."""

    def settle(match: re.Match[str]) -> str:
        length, _, rest = match["rest"].partition("-")
        name = normal_name(rest[int(length) + 1 :])
        return _TRUE if (name in chosen) == (match["operator"] == "==") else _FALSE

    return _CHOSEN.sub(settle, marker)


def _list_indexes(lock: _Lock, ways: dict[Key, frozenset[Way]]) -> tuple[Option, ...]:
    """Those that are not PyPI."""
    found = {str((lock.packages[key].get("source") or {}).get("registry") or "") for key in ways}
    others = sorted(one for one in found if "://" in one and _PYPI not in one)
    return tuple(Option(name="extra-index-url", value=one, where=lock.path) for one in others)
