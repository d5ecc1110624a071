"""What is to be sent: a source and what the site has of it already, as shards to make on the way and a card to close.

A folder of files is packed while it is sent; a data set that is packed already goes as it is.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from windlass.errors import UsageError
from windlass_job.shards.card import CARD, Card, CardDamaged, Shard, load_card
from windlass_job.shards.cutting import ShardPlan
from windlass_job.shards.folder import Folder
from windlass_job.shards.index import name_index
from windlass_job.shards.packing import Packing, Settings, plan_packing
from windlass_job.shards.sources import choose_source

_BLOCK = 4 << 20


@dataclass(frozen=True, kw_only=True)
class Made:
    """A shard whose bytes have all been handed over."""

    files: int
    index: bytes
    index_crc: int


class ShardJob(Protocol):
    """One shard to send. `plan` tells what it holds: the same plan gives the same bytes."""

    plan: str
    bytes: int  # as planned
    check_files: bool  # its checksums are older than this sending, so the site compares each file's

    def send(self, write: Callable[[memoryview], None]) -> Made: ...


@dataclass(frozen=True, kw_only=True)
class Shipment:
    """`make_card` gets the new shards, named, in the order of `jobs`."""

    jobs: Sequence[ShardJob]
    make_card: Callable[[Sequence[Shard]], Card]
    files: int  # that travel
    new_files: int
    removed_files: int
    is_delta: bool
    is_empty: bool  # the site has it as it is
    removed: tuple[str, ...] = ()  # shards at the site that nobody needs any more
    is_sequential: bool = False  # an archive that is read from its beginning to its end
    told: Callable[[], tuple[str, ...]] = tuple  # what was left out, when all is sent
    first_number: int = 0

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.jobs)


def is_packed(source: Path) -> bool:
    return (source / CARD).is_file()


def plan_shipment(
    source: Path, name: str, *, there: Card | None, known: Path | None, shard_bytes: int, kind: str = "auto"
) -> Shipment:
    """there: the card at the site; known: a folder with it and its indexes, where changes are to be sent."""
    if is_packed(source):
        return _plan_packed(source, name, there)
    return _plan_loose(source, name, there=there, known=known, shard_bytes=shard_bytes, kind=kind)


# ---- files that are packed on the way


class _LooseJob:
    check_files = False

    def __init__(self, packing: Packing, shard: ShardPlan) -> None:
        self._packing = packing
        self._shard = shard
        self.plan = packing.identify(shard)
        self.bytes = shard.bytes

    def send(self, write: Callable[[memoryview], None]) -> Made:
        stream = self._packing.stream(self._shard)
        for piece in stream.iterate_pieces():
            write(piece)
        assert stream.about is not None
        self._packing.content_bytes[self._shard.name] = stream.content_bytes
        return Made(files=stream.about.files, index=stream.index_bytes, index_crc=stream.about.index_crc)


def _plan_loose(
    source: Path, name: str, *, there: Card | None, known: Path | None, shard_bytes: int, kind: str
) -> Shipment:
    try:
        before = Folder(os.fsencode(known)) if known is not None else None
        settings = Settings(name=name, shard_bytes=shard_bytes)
        packing = plan_packing(choose_source(os.fsencode(source), kind), settings, before=before)
    except (ValueError, OSError) as problem:  # the shards' own errors are ValueErrors with words for people
        raise UsageError(f"{source} cannot be packed: {problem}") from problem

    def make_card(shards: Sequence[Shard]) -> Card:
        planned = [
            Shard(plan.name, one.bytes, one.files, one.index_crc)
            for plan, one in zip(packing.shards, shards, strict=True)
        ]
        card = packing.make_card(planned)
        for plan, one in zip(planned, shards, strict=True):
            plan.name = one.name
        return card

    is_anew = there is not None and packing.delta is None
    return Shipment(
        jobs=[_LooseJob(packing, shard) for shard in packing.shards],
        make_card=make_card,
        files=packing.files,
        new_files=packing.files,
        removed_files=packing.delta.dead_files if packing.delta else 0,
        is_delta=packing.delta is not None,
        is_empty=packing.is_empty,
        is_sequential=packing.source.is_sequential,
        removed=tuple(shard.name for shard in there.shards) if there is not None and is_anew else (),
        told=lambda: tuple(packing.told.make_lines()),
        first_number=_find_free_number(there),
    )


# ---- a data set that is packed already


class _PackedJob:
    check_files = True

    def __init__(self, folder: Path, shard: Shard) -> None:
        self._folder = folder
        self._shard = shard
        about = [shard.bytes, shard.files, shard.index_crc]
        self.plan = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
        self.bytes = shard.bytes

    def send(self, write: Callable[[memoryview], None]) -> Made:
        for piece in _read_pieces(self._folder / self._shard.name):
            write(piece)
        index = (self._folder / name_index(self._shard.name)).read_bytes()
        if zlib.crc32(index) != self._shard.index_crc:
            raise UsageError(
                f"{self._folder / name_index(self._shard.name)} is not the index that was packed",
                hint=f"windlass data verify {self._folder}",
            )
        return Made(files=self._shard.files, index=index, index_crc=self._shard.index_crc)


def _plan_packed(source: Path, name: str, there: Card | None) -> Shipment:
    try:
        card = load_card(os.fsencode(source))
    except CardDamaged as problem:
        raise UsageError(str(problem)) from problem
    have = {(one.bytes, one.files, one.index_crc): one.name for one in there.shards} if there else {}
    new = [one for one in card.shards if _identify(one) not in have]
    used = {have[_identify(one)] for one in card.shards if _identify(one) in have}

    def make_card(shards: Sequence[Shard]) -> Card:
        names = {_identify(old): shard.name for old, shard in zip(new, shards, strict=True)} | have
        named = [Shard(names[_identify(one)], one.bytes, one.files, one.index_crc, one.dead) for one in card.shards]
        return Card(name, named, card.classes, card.columns, card.about, card.bytes)

    removed = tuple(one.name for one in there.shards if one.name not in used) if there else ()
    is_same = there is not None and not new and make_card([]).as_json() == there.as_json()
    return Shipment(
        jobs=[_PackedJob(source, one) for one in new],
        make_card=make_card,
        files=sum(one.files for one in new),
        new_files=sum(one.alive for one in new),
        removed_files=0 if is_same or there is None else max(0, there.files - card.files),
        is_delta=is_same or bool(used),
        is_empty=is_same,
        removed=removed,
        first_number=_find_free_number(there),
    )


def _identify(shard: Shard) -> tuple[int, int, int]:
    return shard.bytes, shard.files, shard.index_crc


def _find_free_number(there: Card | None) -> int:
    """Names that the card at the site does not use."""
    digits = ["".join(filter(str.isdigit, one.name)) for one in there.shards] if there else []
    return 1 + max((int(one[-9:]) for one in digits if one), default=-1)


def _read_pieces(path: Path) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(_BLOCK))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            yield buffer[:count]
