"""The data sets of a site, asked for in one round trip."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from windlass.core.facts import SeenSet
from windlass.core.site import Site
from windlass.edges.host import Host, Json, Reply, Request, expect
from windlass.errors import SiteNotReady

_FIELDS = frozenset(one.name for one in fields(SeenSet))


@dataclass(frozen=True, kw_only=True)
class Sets:
    sets: tuple[SeenSet, ...] = ()
    names: tuple[str, ...] = ()  # of all there are
    folder: str = ""  # where those of our own lie


def make_sets_request(site: Site, names: Sequence[str] | None = None) -> Request:
    """All of them, or those of these names."""
    arguments: Json = {"root": site.root, "elsewhere": dict(site.datasets)}
    if names is not None:
        arguments["names"] = list(names)
    return Request(operation="list_sets", arguments=arguments, idempotent=True)


def read_sets(reply: Reply, site: Site) -> Sets:
    told = expect(reply, SiteNotReady, f"the data sets of {site.name} cannot be listed").values
    return Sets(
        sets=tuple(_read_set(one) for one in told["sets"]), names=tuple(told["names"]), folder=str(told["folder"])
    )


def fetch_sets(host: Host, site: Site, names: Sequence[str] | None = None) -> Sets:
    return read_sets(host.ask([make_sets_request(site, names)])[0], site)


def _read_set(told: Json) -> SeenSet:
    """What a newer deputy would tell besides is passed over."""
    return SeenSet(**{name: value for name, value in told.items() if name in _FIELDS})
