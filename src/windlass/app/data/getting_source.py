"""What a site gives: what lies there, and the sessions over which it comes."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from windlass.app.data.getting_streams import Item
from windlass.app.data.sending import find_laptop_id
from windlass.app.data.sending_ways import choose_streams, explain_failed, fetch_file, open_routes
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.channel import ChannelClosed
from windlass.edges.data_route import DataRoute
from windlass.edges.data_stream import DataStream, StreamFailed
from windlass.edges.host import Json
from windlass_job import wire
from windlass_job.shards.told import Told

_CLEAN_UP_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Got:
    path: Path
    kind: str  # "set", "folder", "file"
    files: int
    bytes: int
    fetched_bytes: int
    left_out: tuple[str, ...] = ()  # sentences about what did not come along


class Source:
    """`control` sees what is to be fetched; `giver` is what it is fetched from: often the same."""

    def __init__(self, site_name: str, control: DataStream, route: DataRoute, looked: Json, listing: "Listing") -> None:
        self.site_name = site_name
        self.kind = str(looked["kind"])
        self.base = str(looked["path"])
        self.listing = listing
        self._control = control
        self._route = route
        self._landing: str | None = None
        self._giver = control

    def land_in(self, landing: str) -> None:
        """Two hops: the login node copies each file to a place that the transfer host sees."""
        self._landing = landing
        self._giver = self._route.open()

    def fetch_small(self, name: str) -> bytes:
        return fetch_file(self._control, self.base, name)

    def fetch_crc(self, item: Item) -> int:
        """Of the whole file, without its bytes."""
        size = item.wanted.size
        reply = self._control.call("give", base=item.base, name=item.name, start=size, end=size)
        return int(reply.values["crc"])

    def find(self, item: Item) -> str:
        if self._landing is None:
            return item.base
        reply = self._control.call("land", base=item.base, name=item.name, landing=self._landing)
        return str(reply.values["base"])

    def open_streams(self, count: int | None, most: int) -> list[DataStream]:
        wished = max(1, min(count or choose_streams(self._giver), most))
        return [self._giver, *self._route.open_more(wished - 1)]

    def clean_up(self) -> None:
        """Also after a failure, where the site still answers: copies take room, and are of no use to anybody."""
        if self._landing is not None:
            with suppress(StreamFailed, ChannelClosed, TimeoutError):
                self._control.call("remove_landing", timeout_s=_CLEAN_UP_S, path=self._landing)


@contextmanager
def open_source(session: Session, site: Site, place: str) -> Iterator[Source]:
    routes = open_routes(session, site)
    try:
        control = routes[-1].open()
        looked = control.call("look", what=place)
        source = Source(site.name, control, routes[0], looked.values, _read_listing(looked.payload))
        if site.login.transfer_root:
            source.land_in(f"{site.login.transfer_root}/{_name_landing(session, place)}")
        try:
            yield source
        finally:
            source.clean_up()
    except StreamFailed as failed:
        raise explain_failed(failed, site, place) from failed
    except ChannelClosed as closed:
        raise routes[0].explain(closed) from closed
    finally:
        for route in routes:
            route.close()


def _name_landing(session: Session, place: str) -> str:
    """The same for the same command again, and no other's: whoever is done removes it."""
    whose = hashlib.sha256(f"{find_laptop_id(session)}\0{place}".encode("utf-8", "surrogateescape"))
    return f"{wire.LANDING}get-{whose.hexdigest()[:16]}"


@dataclass(frozen=True, kw_only=True)
class Listed:
    name: str
    size: int
    mtime: float
    mode: int


@dataclass(frozen=True, kw_only=True)
class Listing:
    files: tuple[Listed, ...] = ()
    links: tuple[tuple[str, str], ...] = ()  # and what they point to
    folders: tuple[str, ...] = ()  # with nothing in them
    left_out: tuple[str, ...] = ()  # sentences about what cannot be given


def _read_listing(payload: bytes) -> Listing:
    found = json.loads(payload) if payload else {}
    told = Told()
    told.join(**found.get("told", {"counts": {}, "examples": {}}))
    return Listing(
        files=tuple(
            Listed(name=str(name), size=int(size), mtime=int(mtime_ns) / 1e9, mode=int(mode))
            for name, size, mtime_ns, mode in found.get("files", ())
        ),
        links=tuple((str(name), str(points_to)) for name, points_to in found.get("links", ())),
        folders=tuple(str(name) for name in found.get("folders", ())),
        left_out=tuple(told.make_lines()),
    )
