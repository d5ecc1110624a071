"""How long a sending will take, by what this way moved lately, and what else could be done when that is long."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.app.data.send_commands import make_send_command
from windlass.app.data.sending_otherwise import find_obstacle
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.core.units import format_bytes, format_human_duration
from windlass.errors import DiskFull, StoreError

if TYPE_CHECKING:
    from windlass.app.data.sending import SendOptions
    from windlass.app.data.sending_jobs import Shipment
    from windlass.app.data.sending_ways import Way

_RATE_LASTS_S = 7 * 86400.0
_LONG = timedelta(minutes=1)
_SMALL_BYTES = 64 << 20  # for less than this no rate is measured, nor is one learned from it
_LEARN_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Another way than waiting here."""

    kind: str  # "globus", "rsync", "background"
    sentence: str
    command: str  # to paste


@dataclass(frozen=True, kw_only=True)
class Estimate:
    files: int  # that travel
    bytes: int
    rate: float | None  # bytes a second; None: too little to be worth a look
    seconds: float | None
    is_long: bool
    offers: tuple[Offer, ...] = ()

    @property
    def sentence(self) -> str:
        what = f"{self.files:,} {'file' if self.files == 1 else 'files'}, {format_bytes(self.bytes)}"
        if self.seconds is None or self.rate is None:
            return what
        rate = format_bytes(int(self.rate))
        return f"{what}: about {format_human_duration(timedelta(seconds=max(1, round(self.seconds))))} at {rate}/s"


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Kept for each way."""

    bytes_s: float


def make_estimate(
    session: Session, site: Site, way: "Way", shipment: "Shipment", *, offer: Callable[[], tuple[Offer, ...]]
) -> Estimate:
    """offer: asked for where it is long."""
    left = way.count_left(shipment.jobs)
    if left < _SMALL_BYTES:
        return Estimate(files=shipment.files, bytes=left, rate=None, seconds=None, is_long=False)
    kept = session.store.kept(_make_key(site, way.host), _RATE_LASTS_S, kind=Rate)
    rate = kept.bytes_s if kept else way.probe_rate()
    seconds = left / rate
    is_long = seconds > min(_LONG, site.login.globus_after or _LONG).total_seconds()
    offers = offer() if is_long else ()
    return Estimate(files=shipment.files, bytes=left, rate=rate, seconds=seconds, is_long=is_long, offers=offers)


def keep_rate(session: Session, site: Site, host: str, sent_bytes: int, seconds: float) -> None:
    """Learned from what really travelled, where it was enough to tell. A full disk here must not end a sending."""
    if sent_bytes < _LEARN_BYTES or seconds <= 0:
        return
    with suppress(StoreError, DiskFull):
        session.store.keep(_make_key(site, host), Rate(bytes_s=sent_bytes / seconds))


def make_offers(site: Site, source: Path, name: str, options: "SendOptions") -> tuple[Offer, ...]:
    """Others' ways only where they could carry what was asked for."""
    offers = [
        Offer(
            kind="background",
            sentence="it can go on without this terminal; `windlass data sends` shows how far it is",
            command=make_send_command(site, source, name, options, "--background"),
        )
    ]
    if find_obstacle(source, options) is not None:
        return tuple(offers)
    carried = replace(options, streams=None, replace=False)
    if site.login.globus:
        offers.insert(
            0,
            Offer(
                kind="globus",
                sentence=f"{site.name} wants long transfers to go by Globus, which goes on when the laptop sleeps"
                if site.login.globus_after
                else f"{site.name} has a Globus endpoint, which goes on when the laptop sleeps",
                command=make_send_command(site, source, name, carried, "--with", "globus"),
            ),
        )
    if source.is_dir() and not site.is_local and not site.login.transfer_root:
        offers.append(
            Offer(
                kind="rsync",
                sentence="as a plain folder, file by file, where a program needs files; many small ones are slow",
                command=make_send_command(site, source, name, carried, "--with", "rsync"),
            )
        )
    return tuple(offers)


def _make_key(site: Site, host: str) -> str:
    return f"rate:{site.name}:{host}"
