"""The site files that come with Windlass, read once for all tests of this room."""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import windlass.sites
from windlass.core.site import Site
from windlass.core.toml.layers import Layer, merge
from windlass.edges.folders import find_folders
from windlass.edges.site_files import list_site_names, load_site

FOLDER = Path(windlass.sites.__path__[0])
_NOTHING_OF_THE_USERS = find_folders({"WINDLASS_CONFIG_DIR": "/nonexistent", "WINDLASS_STATE_DIR": "/nonexistent"})
NAMES = list_site_names(_NOTHING_OF_THE_USERS)
CENTRES = [name for name in NAMES if name != "here"]


@cache
def load(name: str) -> Site:
    return load_site(name, _NOTHING_OF_THE_USERS)


def load_values(name: str) -> dict[str, object]:
    """The file as it is written, with those that it extends below it."""
    values = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    base = values.pop("extends", None)
    layers = [Layer(label=name, values=values)]
    return merge([Layer(label=base, values=load_values(base)), *layers] if base else layers).values


def look_up(site: Site, key: str) -> object:
    """One fact of a site by its dotted key, such as `qos.opp.max_time`, as the rest of Windlass gets it."""
    table, _, rest = key.partition(".")
    name, _, field = rest.rpartition(".")
    find: dict[str, Callable[[str], object]] = {
        "storage": site.area,
        "gpu": site.gpu,
        "node": site.node_type,
        "partition": site.partition,
        "qos": lambda name: next((one for one in site.qos if one.name == name), None),
    }
    if table in find:
        found = find[table](name)
        assert found is not None, f"{site.name} has no [{table}.{name}]"
        return getattr(found, field)
    return getattr(getattr(site, table), rest) if rest else getattr(site, table)
