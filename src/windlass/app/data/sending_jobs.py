"""What is to be sent: a source and what the site has of it already, as shards to make on the way and a card to close.

A folder of files is packed while it is sent; a data set that is packed already goes as it is.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from windlass.core.shell import quote_path
from windlass.edges.host import Json
from windlass.errors import DataDamaged, UsageError, WindlassError
from windlass_job.shards.card import Card, CardDamaged, Shard, find_gap, is_packed, list_others, load_card
from windlass_job.shards.cutting import ShardPlan
from windlass_job.shards.folder import Folder
from windlass_job.shards.index import name_index
from windlass_job.shards.layouts import describe_numbers
from windlass_job.shards.packing import Packing, Settings, plan_packing
from windlass_job.shards.sources import choose_source
from windlass_job.shards.told import Told
from windlass_job.shards.verifying import verify_archive

_BLOCK = 4 << 20
_LONGEST_NAME = 200
_KEPT = "the data set at the site is as it was; shards that were whole stay there for the next time"


@dataclass(frozen=True, kw_only=True)
class Made:
    """A shard whose bytes have all been handed over."""

    files: int
    index: bytes
    index_crc: int
    about: Json = field(default_factory=dict)  # kept at the site beside the shard, and told again by `recall`


class ShardJob(Protocol):
    """One shard to send. `plan` tells what it holds: the same plan gives the same bytes."""

    plan: str
    bytes: int  # as planned
    check_files: bool  # its checksums are older than this sending, so the site compares each file's

    def send(self, write: Callable[[memoryview], None]) -> Made: ...

    def recall(self, about: Json) -> None:
        """It was sent by an earlier command, and this is what that one knew of it."""

    def find_damage(self) -> WindlassError | None:
        """Whether what is sent is itself not as it was packed."""


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
    source: str | None = None  # where its files come from
    lost_files: int = 0  # at the site, that are replaced or removed

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.jobs)


class Wishes(Protocol):
    """How files become a data set, as `data pack` has it too."""

    @property
    def kind(self) -> str: ...
    @property
    def shard_bytes(self) -> int: ...
    @property
    def labels(self) -> str | None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def compress(self) -> bool: ...
    @property
    def follow_links(self) -> bool: ...
    @property
    def outside(self) -> bool: ...
    @property
    def about(self) -> Mapping[str, str]: ...


def plan_shipment(
    source: Path, name: str, *, there: Card | None, known: Path | None, wishes: Wishes, advised_bytes: int = 0
) -> Shipment:
    """there: the card at the site; known: a folder with it and its indexes, where changes are to be sent.

    advised_bytes: how large files should be at least where it will lie.
    """
    if goes_as_it_is(source):
        refuse_wishes(source, wishes)
        return _plan_packed(source, name, there)
    return _plan_loose(source, name, there=there, known=known, wishes=wishes, advised_bytes=advised_bytes)


# ---- files that are packed on the way


class _LooseJob:
    check_files = False  # they are counted as they are read: what is sent is what is there

    def __init__(self, packing: Packing, shard: ShardPlan) -> None:
        self._packing = packing
        self._shard = shard
        self.plan = packing.identify(shard)
        self.bytes = shard.bytes
        self._was_read = False
        self.told = Told()

    def send(self, write: Callable[[memoryview], None]) -> Made:
        told = Told()
        stream = self._packing.stream(self._shard, told, again=self._was_read)
        self._was_read = True
        for piece in stream.iterate_pieces():
            write(piece)
        assert stream.about is not None
        self._packing.content_bytes[self._shard.name] = stream.content_bytes
        self.told = told
        return Made(
            files=stream.about.files,
            index=stream.index_bytes,
            index_crc=stream.about.index_crc,
            about={"content_bytes": stream.content_bytes, "told": _shorten(told)},
        )

    def recall(self, about: Json) -> None:
        if not about:  # sent by an older Windlass
            return
        self._packing.content_bytes[self._shard.name] = int(about["content_bytes"])
        self.told = Told()
        self.told.join(about["told"]["counts"], about["told"]["examples"])

    def find_damage(self) -> WindlassError | None:
        return None


def _shorten(told: Told) -> Json:
    """As it is kept at the site."""
    cut = {kind: [name[:_LONGEST_NAME] for name in names] for kind, names in told.examples.items()}
    return {"counts": told.counts, "examples": cut}


def _plan_loose(
    source: Path, name: str, *, there: Card | None, known: Path | None, wishes: Wishes, advised_bytes: int
) -> Shipment:
    try:
        before = Folder(os.fsencode(known)) if known is not None else None
        settings = Settings(
            name=name,
            nodes=wishes.nodes,
            shard_bytes=wishes.shard_bytes,
            advised_bytes=advised_bytes,
            compress=wishes.compress,
            classes=there.classes if there is not None else (),
            about=dict(wishes.about),
        )
        packing = plan_packing(_open_source(source, wishes), settings, before=before)
    except (ValueError, OSError) as problem:
        raise make_unpackable(source, problem) from problem
    if not packing.count_alive():
        why = ": " + "; ".join(packing.told.make_lines()) if packing.told.counts else ""
        raise UsageError(f"{source} holds no files that can be packed{why}", done="nothing was sent")

    def make_card(shards: Sequence[Shard]) -> Card:
        planned = [
            Shard(plan.name, one.bytes, one.files, one.index_crc)
            for plan, one in zip(packing.shards, shards, strict=True)
        ]
        card = packing.make_card(planned)
        for plan, one in zip(planned, shards, strict=True):
            plan.name = one.name
        return card

    jobs = [_LooseJob(packing, shard) for shard in packing.shards]

    def tell() -> tuple[str, ...]:
        told = Told()
        told.notes += packing.told.notes
        for one in (packing.told, *(job.told for job in jobs)):
            told.join(one.counts, one.examples)
        return tuple(told.make_lines())

    is_anew = there is not None and packing.delta is None
    return Shipment(
        jobs=jobs,
        make_card=make_card,
        files=packing.files,
        new_files=packing.files,
        removed_files=packing.delta.dead_files if packing.delta else 0,
        is_delta=packing.delta is not None,
        is_empty=packing.is_empty,
        is_sequential=packing.source.is_sequential,
        removed=tuple(shard.name for shard in there.shards) if there is not None and is_anew else (),
        told=tell,
        first_number=_find_free_number(there),
        source=os.fsdecode(packing.source.path),
        lost_files=packing.delta.dead_files if packing.delta else there.files if there is not None else 0,
    )


def make_unpackable(source: Path, problem: ValueError | OSError) -> UsageError:
    """The shards' own errors are ValueErrors with words for people."""
    words = str(problem)
    if isinstance(problem, OSError) and problem.filename is not None:
        words = f"{os.fsdecode(problem.filename)}: {(problem.strerror or words).lower()}"
    return UsageError(f"{source} cannot be packed: {words}", done="nothing was sent")


def _open_source(source: Path, wishes: Wishes) -> Any:
    labels = os.fsencode(Path(wishes.labels).expanduser()) if wishes.labels else None
    return choose_source(os.fsencode(source), wishes.kind, wishes.follow_links, labels, wishes.outside)


# ---- a data set that is packed already


def goes_as_it_is(source: Path) -> bool:
    path = os.fsencode(source)
    return is_packed(path) and not list_others(path)


def refuse_wishes(source: Path, wishes: Wishes) -> None:
    """It goes as it is."""
    asked = {"--labels": wishes.labels, "--compress": wishes.compress, "--follow-links": wishes.follow_links}
    asked["--outside"] = wishes.outside
    asked.update({f"--{name}": value for name, value in wishes.about.items()})
    given = [name for name, value in asked.items() if value]
    if given:
        raise UsageError(
            f"{source} is packed already: {', '.join(given)} is for what is packed on the way",
            hint="windlass data pack takes it",
            done="nothing was sent",
        )


class _PackedJob:
    check_files = True

    def __init__(self, folder: Path, shard: Shard) -> None:
        self._folder = folder
        self._shard = shard
        about = [shard.bytes, shard.files, shard.index_crc]
        self.plan = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
        self.bytes = shard.bytes

    def send(self, write: Callable[[memoryview], None]) -> Made:
        path = self._folder / self._shard.name
        try:
            for piece in _read_pieces(path):
                write(piece)
            path = path.with_name(name_index(path.name))
            index = path.read_bytes()
        except OSError as problem:
            words = f"{path}: {(problem.strerror or str(problem)).lower()}"
            raise _make_damaged(self._folder, words, done=_KEPT) from problem
        if zlib.crc32(index) != self._shard.index_crc:
            raise _make_damaged(self._folder, f"{path} is not the index that was packed", done=_KEPT)
        return Made(files=self._shard.files, index=index, index_crc=self._shard.index_crc)

    def recall(self, about: Json) -> None:
        """Its card says all."""

    def find_damage(self) -> WindlassError | None:
        path = os.fsencode(self._folder / self._shard.name)
        index = os.fsencode(self._folder / name_index(self._shard.name))
        damage = next(iter(verify_archive(path, index, self._shard)), None)
        if damage is None:
            return None
        return _make_damaged(self._folder, f"sent as it is: {damage.make_line()}", done=_KEPT)


def _make_damaged(folder: Path, what: str, *, done: str) -> DataDamaged:
    hint = f"windlass data pack SOURCE {quote_path(folder)} --verify   # SOURCE: what it was packed from"
    return DataDamaged(f"{folder} itself is damaged: {what}", hint=hint, done=done)


def _plan_packed(source: Path, name: str, there: Card | None) -> Shipment:
    try:
        card = load_card(os.fsencode(source))
    except CardDamaged as problem:
        raise UsageError(str(problem)) from problem
    gap = find_gap(os.fsencode(source), card)
    if gap is not None:
        raise _make_damaged(source, gap, done="nothing was sent")
    have = {(one.bytes, one.files, one.index_crc): one.name for one in there.shards} if there else {}
    new = [one for one in card.shards if _identify(one) not in have]
    used = {have[_identify(one)] for one in card.shards if _identify(one) in have}

    def make_card(shards: Sequence[Shard]) -> Card:
        names = {_identify(old): shard.name for old, shard in zip(new, shards, strict=True)} | have
        named = [Shard(names[_identify(one)], one.bytes, one.files, one.index_crc, one.dead) for one in card.shards]
        return Card(name, named, card.classes, card.columns, card.about, card.bytes)

    removed = tuple(one.name for one in there.shards if one.name not in used) if there else ()
    renumbered = describe_numbers(there.classes, card.classes) if there else None
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
        told=lambda: (renumbered,) if renumbered else (),
        first_number=_find_free_number(there),
        source=str(card.about.get("source") or source.absolute()),
        lost_files=sum(one.alive for one in there.shards if one.name in removed) if there else 0,
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
