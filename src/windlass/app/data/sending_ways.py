"""The way to a data set at a site: straight over the transfer host, or in two hops where that host cannot write there.

In two hops shards land in a folder that both hosts see; the login node takes each from there as soon as it is whole,
checks it again, and the landing place is removed.
"""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from windlass.app.data.sending_jobs import ShardJob
from windlass.app.data.sending_streams import Bring
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.channel import ChannelClosed
from windlass.edges.data_route import DataRoute, make_transfer_site
from windlass.edges.data_stream import DataStream, StreamFailed
from windlass.edges.host import Json
from windlass.errors import NotFound, TransferBusy, TransferFailed, UsageError, WindlassError
from windlass_job import wire
from windlass_job.shards.index import name_index

GOES_ON = "what arrived whole stays; the same command goes on from there"
_ELSEWHERE = "name a folder that is new, or empty: windlass data send SOURCE --to FOLDER"
_NEAR_S = 0.005
_NEAR_STREAMS = 2
_FAR_STREAMS = 4  # each session has a window of 2 MB: at 20 ms one alone moves 100 MB/s at most


class Way:
    """Begun, with the lock held: what is there is known, and shards may be put."""

    def __init__(self, target: DataStream, route: DataRoute, begun: Json, card: bytes, token: str) -> None:
        self._control = target
        self._route = route
        self._token = token
        self.hello = target.hello
        self.path = str(begun["path"])
        self.free = int(begun["free"])
        self.parts: Json = begun["parts"]
        self.done: Json = begun["done"]
        self.gap: str | None = begun["gap"]  # what of the data set there is not whole
        self.card = card
        self.landed: Json = {}
        self.bring: Bring | None = None

    @property
    def host(self) -> str:
        return self._route.host

    def count_left(self, jobs: Sequence[ShardJob]) -> int:
        """Bytes that have not arrived yet."""
        ours = [job for job in jobs if job.plan not in self.done and job.plan not in self.landed]
        return sum(job.bytes - min(int(self.parts.get(job.plan, 0)), job.bytes) for job in ours)

    def choose_streams(self) -> int:
        return choose_streams(self._control)

    def probe_rate(self) -> float:
        return probe_rate(self._control)

    def open_streams(self, count: int) -> list[DataStream]:
        return [self._control, *self._join(self._route, self.path, count - 1)]

    def fetch_index(self, name: str) -> bytes:
        return fetch_file(self._control, self.path, name)

    def finish(self, card: bytes, known_crc: int | None) -> None:
        """Shards of before that the card does not name are removed."""
        self._control.call("finish", card, known_crc=known_crc)

    def leave(self) -> None:
        self._control.call("leave")

    def _join(self, route: DataRoute, path: str, count: int) -> list[DataStream]:
        streams = route.open_more(count)
        for stream in streams:
            stream.call("join", path=path, token=self._token)
        return streams


class TwoHops(Way):
    """`landing` is a session at the transfer host."""

    def __init__(
        self,
        target: DataStream,
        route: DataRoute,
        begun: Json,
        card: bytes,
        token: str,
        *,
        landing: DataStream,
        landed: Json,
    ) -> None:
        super().__init__(target, route, begun, card, token)
        self._landing = landing
        self._landing_path = str(landed["path"])
        self._parts_at_target = self.parts
        self.parts = landed["parts"]
        self.landed = landed["done"]
        self.bring = self._bring_one

    def choose_streams(self) -> int:
        return choose_streams(self._landing)

    def probe_rate(self) -> float:
        return probe_rate(self._landing)

    def open_streams(self, count: int) -> list[DataStream]:
        return [self._landing, *self._join(self._route, self._landing_path, count - 1)]

    def finish(self, card: bytes, known_crc: int | None) -> None:
        super().finish(card, known_crc)
        self._landing.call("remove_landing", path=self._landing_path)

    def leave(self) -> None:
        super().leave()
        self._landing.call("remove_landing", path=self._landing_path)

    def _bring_one(self, job: ShardJob, name: str, record: Json) -> Json:
        landed = PurePosixPath(self._landing_path) / str(record["name"])
        reply = self._control.call(
            "bring",
            plan=job.plan,
            name=name,
            source=str(landed),
            index=str(landed.with_name(name_index(landed.name))),
            start=int(self._parts_at_target.get(job.plan, 0)),
            size=int(record["bytes"]),
            index_crc=int(record["index_crc"]),
            about=record.get("about"),
        )
        self._landing.call("drop", name=str(record["name"]), plan=job.plan)
        return reply.values


@contextmanager
def open_way(session: Session, site: Site, target: str, *, laptop: str) -> Iterator[Way]:
    """Errors of both ends come out as the user's."""
    routes = open_routes(session, site)
    try:
        yield _begin(routes, site, target, laptop)
    except StreamFailed as failed:
        raise explain_failed(failed, site, target) from failed
    except ChannelClosed as closed:
        raise routes[0].explain(closed) from closed
    finally:
        for route in routes:
            route.close()


def open_routes(session: Session, site: Site) -> list[DataRoute]:
    """The first is for the bytes, the last sees the place itself; often it is one."""
    config = session.environ.get("WINDLASS_SSH_CONFIG")
    where = Path(config) if config else None
    routes = [DataRoute(make_transfer_site(site), config=where, tell=session.tell)]
    if site.login.transfer_root:
        routes.append(DataRoute(site, config=where, tell=session.tell))
    return routes


def _begin(routes: list[DataRoute], site: Site, target: str, laptop: str) -> Way:
    token = secrets.token_hex(16)
    control = routes[-1].open()
    begun = control.call("begin", target=target, token=token, laptop=laptop)
    if not site.login.transfer_root:
        return Way(control, routes[0], begun.values, begun.payload, token)
    landing = routes[0].open()
    folder = f"{site.login.transfer_root}/{wire.LANDING}{PurePosixPath(target).name}"
    landed = landing.call("begin", target=folder, token=token, laptop=laptop)
    return TwoHops(control, routes[0], begun.values, begun.payload, token, landing=landing, landed=landed.values)


def explain_failed(failed: StreamFailed, site: Site, path: str) -> WindlassError:
    """The porter's word as the user's."""
    reply = failed.reply
    what = f"{path} at {site.name}"
    if reply.kind == "not-found":
        return NotFound(f"{what} is not there: {reply.problem}", hint=f"windlass data ls --on {site.name}")
    if reply.kind == "exists":
        return UsageError(f"{what}: {reply.problem}", hint=_ELSEWHERE, done="nothing was sent; they are as they were")
    if reply.kind == "busy":
        return TransferBusy(f"{what}: {reply.problem}", hint="windlass data sends")
    if reply.kind == "no-space":
        return TransferFailed(f"{what}: {reply.problem}", hint=f"windlass data advise --on {site.name}", done=GOES_ON)
    return TransferFailed(f"{what}: {reply.problem}", done=GOES_ON)


def choose_streams(stream: DataStream) -> int:
    """One or two fill a short way; on a long one it takes several, because each waits for its own answers."""
    return _NEAR_STREAMS if measure_delay_s(stream) < _NEAR_S else _FAR_STREAMS


def measure_delay_s(stream: DataStream) -> float:
    """There and back, the best of three."""
    found = []
    for _ in range(3):
        started = time.monotonic()
        stream.call("ping")
        found.append(time.monotonic() - started)
    return min(found)


_PROBE_BYTES = 1 << 20
_PROBE_S = 0.3


def probe_rate(stream: DataStream) -> float:
    """Bytes a second, by bytes that nobody keeps: more of them until it took long enough to tell."""
    size = _PROBE_BYTES
    while True:
        payload = bytes(size)
        started = time.monotonic()
        stream.call("probe", payload)
        taken_s = time.monotonic() - started
        if taken_s > _PROBE_S or size >= 64 * _PROBE_BYTES:
            return size / taken_s
        size *= 4


def fetch_file(stream: DataStream, base: str, name: str) -> bytes:
    """A small one, whole."""
    pieces: list[bytes] = []
    stream.post(
        "give", piece=lambda one: pieces.append(bytes(one)), base=base, name=name, start=0, end=1 << 40
    ).result()
    return b"".join(pieces)
