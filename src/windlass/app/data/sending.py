"""`data send`: files on this laptop become a packed data set at a site, packed on the way, over its transfer host.

What arrived whole stays: the same command goes on where it was cut. A second sending sends what has changed.
"""

import hashlib
import secrets
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from windlass.app.data.room import find_advised_bytes
from windlass.app.data.sending_estimate import Estimate, keep_rate, make_estimate, make_offers
from windlass.app.data.sending_jobs import ShardJob, Shipment, plan_shipment
from windlass.app.data.sending_streams import Progress, Sender
from windlass.app.data.sending_ways import GOES_ON, Way, open_way
from windlass.app.data.sets import find_set, find_users, register_set
from windlass.app.session import Session
from windlass.core.shell import quote, quote_path
from windlass.core.site import Site
from windlass.core.units import format_bytes
from windlass.edges.data_known import KnownSet
from windlass.edges.run_lock import HeldAlready, hold_run
from windlass.errors import (
    ConnectionLost,
    DataDamaged,
    DataInUse,
    Interrupted,
    TransferBusy,
    TransferFailed,
    UsageError,
)
from windlass_job import wire
from windlass_job.shards.card import Card, CardDamaged, Shard, format_card, read_card
from windlass_job.shards.index import IndexDamaged

_FIRST_PAUSE_S = 2.0
_MOST_LOST = 0.5


@dataclass(frozen=True, kw_only=True)
class SendOptions:
    to: str | None = None  # a folder at the site; default: ROOT/data/NAME
    streams: int | None = None  # sessions at once; default: by the way's delay
    shard_bytes: int = 0  # 0: chosen by the amount
    anew: bool = False  # all of it again, in place of what is there
    replace: bool = False  # also what came from elsewhere, where most of it would go
    kind: str = "auto"  # of the source, as `data pack` names it
    labels: str | None = None  # this and the following: as `data pack` has them
    nodes: int = 1
    compress: bool = False
    follow_links: bool = False
    outside: bool = False
    about: Mapping[str, str] = field(default_factory=dict)
    tries: int = 4  # how often a broken connection is opened again


@dataclass(frozen=True, kw_only=True)
class Sent:
    name: str
    site: str
    path: str
    host: str  # that it went through
    files: int  # of the data set as it is now
    bytes: int
    shards: int
    sent_bytes: int
    new_files: int
    removed_files: int
    is_delta: bool
    is_unchanged: bool
    dead_share: float  # of the files in the shards: replaced or removed since
    seconds: float
    told: tuple[str, ...] = ()
    is_named: bool = True  # its name means it at the site


def _agree(_: Estimate) -> None:
    """Nobody is asked."""


def send(
    session: Session,
    site: Site,
    source: Path,
    name: str,
    *,
    options: SendOptions = SendOptions(),  # noqa: B008 - frozen
    progress: Progress = lambda done, total: None,
    decide: Callable[[Estimate], None] = _agree,
) -> Sent:
    """decide: told how long it will take before anything travels; it may raise."""
    check_name(name)
    if not source.exists():
        raise UsageError(f"there is no {source}")
    target = options.to or f"{site.root}/{wire.DATA}/{name}"
    with _hold(session, site, target), _tell_interrupted():
        for attempt in range(1, max(1, options.tries) + 1):
            try:
                with open_way(session, site, target, laptop=find_laptop_id(session)) as way:
                    sent = _Sending(session, site, way, options).send(source, name, progress, decide)
                return replace(sent, is_named=options.to is None or _give_name(session, site, name, sent.path))
            except ConnectionLost as lost:
                if attempt >= options.tries:
                    raise ConnectionLost(lost.message, said=lost.said, hint=lost.hint, done=GOES_ON) from lost
                decide = _agree
                pause_s = _FIRST_PAUSE_S * 2 ** (attempt - 1)
                session.tell(f"{lost.message}; going on in {pause_s:.0f} s")
                time.sleep(pause_s)
    raise AssertionError("unreachable")


def _give_name(session: Session, site: Site, name: str, path: str) -> bool:
    """What lies elsewhere gets its name there; False where that is another's."""
    try:
        return register_set(session, site, name, path).set.path == path
    except UsageError:
        return find_set(session, site, name).set.path == path


def is_name(word: str) -> bool:
    return wire.is_data_name(word)


def check_name(name: str) -> None:
    if not is_name(name):
        raise UsageError(
            f"{name!r} is no name for a data set: letters, digits, dot, dash and underscore, at most 100, not .json",
            hint="windlass data send FOLDER --name imagenet",
        )


class _Sending:
    """One attempt, with an open way."""

    def __init__(self, session: Session, site: Site, way: Way, options: SendOptions) -> None:
        self._session = session
        self._site = site
        self._way = way
        self._options = options
        self._known = KnownSet(session.folders.cache, site.name, way.path)
        self._started = time.monotonic()

    def send(self, source: Path, name: str, progress: Progress, decide: Callable[[Estimate], None]) -> Sent:
        there = self._read_card()
        self._check_whole(source, name)
        shipment = self._plan(source, name, there)
        if shipment.is_empty and there is not None:
            self._way.leave()
            return self._report(there, shipment, sent_bytes=0, is_unchanged=True)
        self._check_source(shipment, there, source, name)
        self._check_users(shipment, name, done="nothing was sent")
        self._check_space(shipment)
        offer = partial(make_offers, self._site, source, name, self._options)
        decide(make_estimate(self._session, self._site, self._way, shipment, offer=offer))
        sender, shards = self._move(shipment, progress)
        card = shipment.make_card([shards[job.plan] for job in shipment.jobs])
        content = format_card(card)
        self._check_users(shipment, name, done=GOES_ON)
        known_crc = zlib.crc32(self._way.card) if self._way.card else None
        self._way.finish(content, known_crc)
        self._known.keep_card(card, content)
        return self._report(card, shipment, sent_bytes=sender.sent_bytes, is_unchanged=False)

    def _read_card(self) -> Card | None:
        try:
            return read_card(self._way.card) if self._way.card else None
        except CardDamaged as problem:
            if self._options.anew:
                return None
            raise TransferFailed(
                f"{self._way.path} at {self._site.name} cannot be added to: {problem}",
                hint="windlass data send --anew",
            ) from problem

    def _check_whole(self, source: Path, name: str) -> None:
        """Before anything is added to it."""
        if self._way.gap is not None and not self._options.anew:
            raise self._make_damaged(self._way.gap, source, name)

    def _make_damaged(self, what: str, source: Path, name: str) -> DataDamaged:
        to = f" --to {quote(self._options.to)}" if self._options.to else ""
        return DataDamaged(
            f"{name} at {self._site.name} is not whole, and cannot be added to: {what}",
            hint=f"windlass data send {quote_path(source)} --name {name}{to} --anew --on {self._site.name}",
            done="nothing was sent",
        )

    def _plan(self, source: Path, name: str, there: Card | None) -> Shipment:
        is_delta = there is not None and not self._options.anew
        if is_delta:
            try:
                self._known.refresh(self._way.card, self._way.fetch_index)
            except IndexDamaged as problem:
                raise self._make_damaged(str(problem), source, name) from problem
        return plan_shipment(
            source,
            name,
            there=there,
            known=self._known.folder if is_delta else None,
            wishes=self._options,
            advised_bytes=find_advised_bytes(self._session, self._site, self._options.to or self._site.root),
        )

    def _check_source(self, shipment: Shipment, there: Card | None, source: Path, name: str) -> None:
        """A name that is taken: most of another data set is not replaced by mistake."""
        if there is None or self._options.replace or self._options.anew:
            return
        theirs = there.about.get("source")
        if theirs in (None, shipment.source) or shipment.lost_files <= there.files * _MOST_LOST:
            return
        command = f"windlass data send {quote_path(source)}"
        raise UsageError(
            f"{name} at {self._site.name} came from {theirs}, and {shipment.lost_files:,} of its {there.files:,} files "
            f"would be replaced or removed by those of {shipment.source}",
            hint=f"{command} --name OTHER --on {self._site.name}\n"
            f"or, in its place: {command} --name {name} --replace --on {self._site.name}",
            done="nothing was sent",
        )

    def _check_users(self, shipment: Shipment, name: str, *, done: str) -> None:
        """Shards that go must not be read by anybody; looked at again before they do, because sending takes long."""
        if not shipment.removed:
            return
        users = find_users(self._session, self._site, name, self._way.path)
        if users:
            raise DataInUse(
                f"{name} is read by {', '.join(users)}, and what it reads would be removed",
                hint=f"windlass wait {users[0]}, or send it under another name",
                done=done,
            )

    def _check_space(self, shipment: Shipment) -> None:
        left = self._way.count_left(shipment.jobs)
        if left > self._way.free:
            raise TransferFailed(
                f"{self._way.path} at {self._site.name} has {format_bytes(self._way.free)} left, and "
                f"{format_bytes(left)} are to be sent",
                done="nothing was sent",
            )

    def _move(self, shipment: Shipment, progress: Progress) -> tuple[Sender, dict[str, Shard]]:
        jobs = self._name(shipment)
        sender = Sender(
            jobs,
            parts=self._way.parts,
            done=self._way.done,
            landed=self._way.landed,
            bring=self._way.bring,
            progress=progress,
            keep_index=self._known.keep_index,
        )
        started = time.monotonic()
        wished = 1 if shipment.is_sequential else self._options.streams or self._way.choose_streams()
        count = max(1, min(wished, len(jobs)))
        shards = sender.send(self._way.open_streams(count))
        keep_rate(self._session, self._site, self._way.host, sender.sent_bytes, time.monotonic() - started)
        return sender, shards

    def _name(self, shipment: Shipment) -> list[tuple[ShardJob, str]]:
        """Numbers that are free: those of the card are in use, and those of an interrupted sending are its own."""
        taken = {str(one["name"]) for one in (*self._way.done.values(), *self._way.landed.values())}
        jobs, number = [], shipment.first_number
        for job in shipment.jobs:
            record = self._way.done.get(job.plan) or self._way.landed.get(job.plan)
            while record is None and (free := f"shard-{number:05}.tar") in taken:
                number += 1
            jobs.append((job, str(record["name"]) if record else free))
            number += record is None
        return jobs

    def _report(self, card: Card, shipment: Shipment, *, sent_bytes: int, is_unchanged: bool) -> Sent:
        packed = sum(one.files for one in card.shards)
        return Sent(
            name=card.name,
            site=self._site.name,
            path=self._way.path,
            host=self._way.host,
            files=card.files,
            bytes=card.bytes,
            shards=len(card.shards),
            sent_bytes=sent_bytes,
            new_files=0 if is_unchanged else shipment.new_files,
            removed_files=0 if is_unchanged else shipment.removed_files,
            is_delta=shipment.is_delta,
            is_unchanged=is_unchanged,
            dead_share=(packed - card.files) / packed if packed else 0.0,
            seconds=time.monotonic() - self._started,
            told=shipment.told(),
        )


@contextmanager
def _tell_interrupted() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted", done=GOES_ON) from None


@contextmanager
def _hold(session: Session, site: Site, target: str) -> Iterator[None]:
    """On this laptop; the site keeps apart what comes from several."""
    folder = session.folders.state / "sends"
    key = hashlib.sha256(f"{site.name}\0{target}".encode("utf-8", "surrogateescape")).hexdigest()[:24]
    try:
        with hold_run(folder, key, waits=False):
            yield
    except HeldAlready:
        raise TransferBusy(
            f"another command on this laptop is sending to {target} at {site.name}", hint="windlass data sends"
        ) from None


def find_laptop_id(session: Session) -> str:
    """A word of this laptop's own, so that the site knows our earlier command again."""
    kept = session.store.kept("laptop-id", kind=str)
    if kept is None:
        kept = secrets.token_hex(12)
        session.store.keep("laptop-id", kept)
    return kept
