"""Settings in layers: the later wins, and every value remembers where it came from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from windlass.core.toml.reading import FromText, Leaf, Many, Named, Path, Shape, Table, format_path
from windlass.errors import UsageError

PREFIX = "WINDLASS_"
_MOST_DOTS = 50


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One place values come from. `names`: a name of its own for single values, such as a variable or a flag."""

    label: str
    values: Mapping[str, object]
    file: str | None = None
    line_of: Callable[[Path], int | None] | None = None  # asked only when somebody wants to know
    names: Mapping[Path, str] = field(default_factory=dict)
    below: Path = ()  # where in the file the values stand: ("site", "narval")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where one value came from."""

    layer: Layer
    path: Path

    @property
    def file(self) -> str | None:
        return self.layer.file

    @property
    def line(self) -> int | None:
        return self.layer.line_of((*self.layer.below, *self.path)) if self.layer.line_of else None

    @property
    def place(self) -> str:
        """`windlass.toml:14`, `flag --nodes`, `WINDLASS_RESOURCES_NODES`, `default`."""
        line = self.line
        if self.file:
            return f"{self.file}:{line}" if line else self.file
        return self.layer.names.get(self.path, self.layer.label)

    @property
    def text(self) -> str:
        """The place, with the layer's own name where the place does not say it: `site narval (windlass.toml:31)`."""
        place = self.place
        return place if not self.file or self.layer.label == self.file else f"{self.layer.label} ({place})"


@dataclass(frozen=True, kw_only=True)
class Merged:
    values: dict[str, object]
    origins: dict[str, Origin]  # by dotted key

    def origin_of(self, path: Path) -> Origin | None:
        """Of the value, or of the nearest table around it."""
        for length in range(len(path), 0, -1):
            found = self.origins.get(format_path(path[:length]))
            if found:
                return found
        return None


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One value from the command line: `--nodes 2` or `--set resources.nodes=2`."""

    key: str  # dotted
    value: object  # text is read by the field's type
    option: str = "--set"


def merge(layers: Sequence[Layer], exclusive: Sequence[Sequence[Path]] = ()) -> Merged:
    """Tables are merged key by key; all else, lists too, is replaced as a whole."""
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for layer in layers:
        for path in _find_displaced(layer.values, exclusive):
            _remove(values, origins, path)
        _merge_into(values, layer.values, (), layer, origins)
    return Merged(values=values, origins=origins)


def make_environ_layer(
    environ: Mapping[str, str], sections: Mapping[str, Shape], *, ignored: frozenset[str] = frozenset()
) -> Layer:
    """WINDLASS_RESOURCES_NODES=2 is [resources] nodes; WINDLASS_RUN_ENV_SEED=1 is [run.env] SEED."""
    values: dict[str, object] = {}
    names: dict[Path, str] = {}
    for name in sorted(environ):
        path = _find_path(name, sections) if name not in ignored else None
        if path is not None and environ[name]:
            _put(values, path, FromText(environ[name]))
            names[path] = name
    return Layer(label="environment", values=values, names=names)


def make_flags_layer(flags: Sequence[Flag]) -> Layer:
    values: dict[str, object] = {}
    names: dict[Path, str] = {}
    for one in flags:
        path = split_key(one.key)
        _put(values, path, FromText(one.value) if isinstance(one.value, str) else one.value)
        names[path] = f"flag {one.option} {one.key}" if one.option == "--set" else f"flag {one.option}"
    return Layer(label="flags", values=values, names=names)


def read_set(text: str) -> Flag:
    """`resources.nodes=2`, as given to --set."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise UsageError(f"--set {text!r:.80} is not KEY=VALUE", hint="for example: --set resources.nodes=2")
    if key.count(".") > _MOST_DOTS:
        raise UsageError(f"--set {text!r:.80} has {key.count('.')} dots in its key; no setting has that many")
    return Flag(key=key.strip(), value=value.strip())


def split_key(key: str) -> Path:
    """`data."my set".source` -> data, my set, source."""
    parts: list[str] = []
    rest = key.strip()
    while True:
        if rest.startswith('"'):
            part, _, rest = rest[1:].partition('"')
            _, dot, rest = rest.partition(".")
        else:
            part, dot, rest = rest.partition(".")
        parts.append(part.strip())
        if not dot:
            return tuple(parts)


def _find_path(name: str, sections: Mapping[str, Shape]) -> Path | None:
    """None: a variable that names no section is none of ours to judge (WINDLASS_CONFIG_DIR)."""
    for section, shape in sections.items():
        prefix = f"{PREFIX}{section.upper()}_"
        if name.startswith(prefix) and len(name) > len(prefix):
            return (section, *_find_inner(name[len(prefix) :], shape))
    return None


def _find_inner(tail: str, shape: Shape) -> Path:
    match shape:
        case Named(item=Table()):
            name, _, key = tail.rpartition("_")
            return (name.lower(), key.lower()) if name else (key.lower(),)
        case Named():
            return (tail,)  # names of variables keep their case
        case Table():
            for key, inner in shape.fields.items():
                if isinstance(inner, Named) and tail.startswith(f"{key.upper()}_"):
                    return (key, *_find_inner(tail[len(key) + 1 :], inner))
            return (tail.lower(),)
        case Leaf() | Many():
            return (tail.lower(),)


def _merge_into(
    values: dict[str, object], new: Mapping[str, object], path: Path, layer: Layer, origins: dict[str, Origin]
) -> None:
    for key, value in new.items():
        here = (*path, key)
        if isinstance(value, Mapping):
            old = values.get(key)
            inner = dict(old) if isinstance(old, Mapping) else {}
            values[key] = inner
            _merge_into(inner, value, here, layer, origins)
            if value:
                continue
        else:
            values[key] = value
        origins[format_path(here)] = Origin(layer=layer, path=here)


def _find_displaced(values: Mapping[str, object], exclusive: Sequence[Sequence[Path]]) -> Iterator[Path]:
    for group in exclusive:
        if any(_has(values, path) for path in group):
            yield from group


def _has(values: Mapping[str, object], path: Path) -> bool:
    inner: object = values
    for part in path:
        if not isinstance(inner, Mapping) or part not in inner:
            return False
        inner = inner[part]
    return True


def _remove(values: dict[str, object], origins: dict[str, Origin], path: Path) -> None:
    inner: object = values
    for part in path[:-1]:
        inner = inner.get(str(part)) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        inner.pop(path[-1], None)
    origins.pop(format_path(path), None)


def _put(values: dict[str, object], path: Path, value: object) -> None:
    inner = values
    for part in path[:-1]:
        found = inner.setdefault(str(part), {})
        if not isinstance(found, dict):  # `--set resources=3 --set resources.nodes=2`: the later is meant
            found = inner[str(part)] = {}
        inner = found
    inner[str(path[-1])] = value
