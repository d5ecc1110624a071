"""Reading parsed TOML into typed values: every problem is collected, none stops the reading.

A file is described by shapes: a `Leaf` is one value, `Many` a list, `Table` a table with known keys, `Named` a
table whose keys the user chooses. The readers of single values are in `core/toml/leaves.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windlass.core.toml.writing import format_key, format_string

Path = tuple[str | int, ...]
"""Where a value stands: ("resources", "nodes"), ("run", "results", 0)."""

_SHOWN = 40  # characters of a value in a problem
_MOST = 50  # problems of one table; a file that is wrong everywhere needs no list of everything


class FromText(str):
    """A value that came from a flag or a variable: text, to be read by the type of its field."""


class Refused(Exception):
    """Raised by a leaf's reader; the message completes "KEY = VALUE …"."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    path: Path
    message: str
    value: str | None = None  # as it may be shown; None for a secret, or a key that is not there

    @property
    def key(self) -> str:
        return format_path(self.path)


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One value. `into`: the dataclass's field when it is not called like the key."""

    read: Callable[[Any], Any]
    into: str | None = None
    hidden: bool = False  # a wrong value is not shown: it may be a secret


@dataclass(frozen=True, kw_only=True)
class Many:
    """A list of values."""

    item: Leaf
    into: str | None = None
    most: int = 1000


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with known keys. `kind` makes the value; None leaves a dict."""

    fields: "Mapping[str, Shape]"
    kind: Callable[..., Any] | None = None
    needs: Mapping[str, str] | None = None  # key -> what to write when it is missing
    into: str | None = None


@dataclass(frozen=True, kw_only=True)
class Named:
    """A table of the user's own names. With `name_field` a tuple of values that know their name, else a mapping."""

    item: Leaf | Table
    check_name: Callable[[str], None]
    name_field: str | None = None
    flatten: bool = False  # tables inside are dotted names
    into: str | None = None
    most: int = 1000


Shape = Leaf | Many | Table | Named
_MISSING = object()


def read_table(
    values: object, table: Table, path: Path = (), *, partial: bool = False
) -> tuple[Any, tuple[Problem, ...]]:
    """The value (None when there are problems) and all problems. `partial`: nothing is missing in an override."""
    walk = _Walk(partial)
    made = walk.read(values, table, path)
    problems = tuple(walk.problems)
    return (None if problems or made is _MISSING else made), problems


class _Walk:
    def __init__(self, partial: bool) -> None:
        self.partial = partial
        self.problems: list[Problem] = []

    def read(self, value: Any, shape: Shape, path: Path) -> Any:
        match shape:
            case Leaf():
                return self._leaf(value, shape, path)
            case Many():
                return self._many(value, shape, path)
            case Table():
                return self._table(value, shape, path)
            case Named():
                return self._named(value, shape, path)

    def refuse(self, path: Path, message: str, value: object = _MISSING) -> Any:
        shown = None if value is _MISSING else _shorten(value)
        self.problems.append(Problem(path=path, message=message, value=shown))
        return _MISSING

    def _leaf(self, value: Any, leaf: Leaf, path: Path) -> Any:
        try:
            return leaf.read(value)
        except Refused as error:
            return self.refuse(path, str(error), _MISSING if leaf.hidden else value)

    def _many(self, value: Any, many: Many, path: Path) -> Any:
        if isinstance(value, FromText):
            value = _split_text(value)
        if not isinstance(value, list | tuple):
            return self.refuse(path, "expected a list: [ … ]", value)
        if len(value) > many.most:
            return self.refuse(path, f"has {len(value)} entries; at most {many.most} are allowed")
        items = [self._leaf(item, many.item, (*path, index)) for index, item in enumerate(value)]
        return _MISSING if _MISSING in items else tuple(items)

    def _table(self, value: Any, table: Table, path: Path, name: Mapping[str, str] | None = None) -> Any:
        if not isinstance(value, Mapping):
            return self._no_table(value, path)
        made: dict[str, Any] = dict(name or {})
        whole, meant = True, set[str | None]()
        for index, (key, inner) in enumerate(value.items()):
            if index >= len(table.fields) + _MOST:
                return self.refuse(path, f"has {len(value)} keys; that cannot be meant")
            shape = table.fields.get(key)
            if shape is None:
                self.refuse((*path, key), f"unknown key{_suggest(key, table.fields)}")
                meant.add(nearest(key, table.fields))
                continue
            read = self.read(inner, shape, (*path, key))
            whole = whole and read is not _MISSING
            made[shape.into or key] = read
        for key, advice in (table.needs or {}).items():
            if key not in value and not self.partial:
                whole = False
                if key not in meant:  # else that was told where it is misspelt
                    self.refuse((*path, key), f"missing; {advice}")
        if not whole or self.partial:
            return _MISSING
        return made if table.kind is None else table.kind(**made)

    def _named(self, value: Any, named: Named, path: Path) -> Any:
        if not isinstance(value, Mapping):
            return self._no_table(value, path)
        if named.flatten:
            value = _flatten(value)
        if len(value) > named.most:
            return self.refuse(path, f"has {len(value)} entries; at most {named.most} are allowed")
        made: dict[str, Any] = {}
        for name, inner in value.items():
            here = (*path, name)
            try:
                named.check_name(name)
            except Refused as error:
                self.refuse(here, str(error))
                continue
            if isinstance(named.item, Table):
                own = {named.name_field: name} if named.name_field else None
                made[name] = self._table(inner, named.item, here, own)
            else:
                made[name] = self._leaf(inner, named.item, here)
        if any(one is _MISSING for one in made.values()):
            return _MISSING
        return tuple(made.values()) if named.name_field else made

    def _no_table(self, value: Any, path: Path) -> Any:
        return self.refuse(path, f"expected a table: [{format_path(path)}]", value)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant."""
    from difflib import get_close_matches  # only when something is wrong

    wanted = word[:64].lower()
    found = get_close_matches(wanted, list(known), n=3, cutoff=0.6)
    # one wrong letter (gpuz for gpus) is likelier than one too many (gpuz for gpu)
    slips = [
        one for one in found if len(one) == len(wanted) and sum(a != b for a, b in zip(one, wanted, strict=True)) == 1
    ]
    return next(iter(slips or found), None)


def format_path(path: Path) -> str:
    """`resources.nodes`, `data."my set".source`, `run.results[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            shown = format_key((part,)) if len(part) <= 2 * _SHOWN else _quote(part)
            text += f".{shown}" if text else shown
    return text


def _shorten(value: object) -> str:
    """As TOML writes it, short, on one line, and harmless to a terminal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a number of more than 20 digits"
    if isinstance(value, Mapping):
        return "{ … }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[ … ]" if value else "[]"
    return str(value)[:_SHOWN]


def _quote(text: str) -> str:
    return format_string(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _suggest(key: str, fields: Mapping[str, Shape]) -> str:
    found = nearest(key, fields)
    if found:
        return f'; did you mean "{found}"?'
    homes = [name for name, shape in fields.items() if isinstance(shape, Table) and key in shape.fields]
    return f'; did you mean "{homes[0]}.{key}"?' if homes else ""


def _flatten(values: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and depth < 8:
            flat.update(_flatten(value, f"{before}{key}.", depth + 1))
        else:
            flat[before + key] = value
    return flat


def _split_text(text: str) -> Sequence[object]:
    """`a,b` or a list as TOML writes it."""
    if not text.lstrip().startswith("["):
        return [FromText(part.strip()) for part in text.split(",") if part.strip()]
    import tomllib

    try:
        found = tomllib.loads(f"list = {text.strip()}")
    except (ValueError, RecursionError):
        return [text]
    items = found.get("list")
    return items if isinstance(items, list) and len(found) == 1 else [text]
