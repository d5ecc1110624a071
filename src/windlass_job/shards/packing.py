"""Packs files into shards: planned first, then cut, then written; or streamed shard by shard to somebody else.

`pack` may be killed at any time. Shards that are finished are kept when the files are still those in their index;
the card comes last, and until then the data set is what it was.
"""

import hashlib
import marshal
import os
import re
import sys
from zlib import crc32

from windlass_job import disk
from windlass_job.shards import claiming, compressing, cutting, layouts
from windlass_job.shards.card import CARD, Card, Shard, keep_modes, save_card
from windlass_job.shards.cutting import Plan
from windlass_job.shards.deltas import Delta
from windlass_job.shards.folder import Folder
from windlass_job.shards.index import Index, IndexDamaged, name_index
from windlass_job.shards.mending import find_damaged
from windlass_job.shards.packed import Packed
from windlass_job.shards.streaming import ShardStream
from windlass_job.shards.told import Told
from windlass_job.shards.writing import FolderLock, PackFailed, Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Tuple

    from windlass_job.shards.cutting import Batch, ShardPlan

_TRIAL_FILES = 64
_TRIAL_BYTES = 16 << 20
# Parts of shards, and what a killed `disk.replace` leaves.
_LEFTOVER = re.compile(r"\.shard-\d+\.(tar|idx)(\.part|\.[0-9a-f]{12})$|\.dataset\.json\.[0-9a-f]{12}$")
_NUMBER = re.compile(r"shard-(\d+)\.tar$")


class Settings:
    """shard_bytes, workers: 0 to choose. advised_bytes: no shard should be smaller there. anew: all again.

    verify: what is there is read too, and what is damaged in it packed again.
    classes: of a data set that is replaced and is not at hand.
    """

    def __init__(
        self,
        name: str,
        nodes: int = 1,
        shard_bytes: int = 0,
        about: "Optional[Dict[str, Any]]" = None,
        workers: int = 0,
        compress: bool = False,
        anew: bool = False,
        by_content: bool = True,
        most_files: int = cutting.MOST_FILES,
        classes: "Tuple[str, ...]" = (),
        may_be_empty: bool = True,
        verify: bool = False,
        advised_bytes: int = 0,
    ) -> None:
        self.name = name
        self.nodes = nodes
        self.shard_bytes = shard_bytes
        self.advised_bytes = advised_bytes
        self.about = dict(about or {})
        self.workers = workers
        self.compress = compress
        self.anew = anew
        self.by_content = by_content
        self.most_files = most_files
        self.classes = classes
        self.may_be_empty = may_be_empty
        self.verify = verify


def plan_packing(
    source: "Any", settings: Settings, before: "Optional[Folder]" = None, scratch: "Optional[bytes]" = None
) -> "Packing":
    """Looks at every file, reads none. before: the data set as it is; only changes are packed then."""
    packing = Packing(source, settings, before, scratch)
    packing.fill()
    return packing


def can_grow(before: Folder, source: "Any") -> bool:
    """Compressed sets are packed anew, because an index holds compressed sizes; so are archives without order."""
    return "compressed" not in before.card.about and not source.is_sequential


class Packing:
    """A plan, cut into shards. Streams may run side by side, in threads and after a fork."""

    def __init__(
        self, source: "Any", settings: Settings, before: "Optional[Folder]", scratch: "Optional[bytes]"
    ) -> None:
        self.source = source
        self.settings = settings
        self.plan = Plan(scratch)
        self.told = Told()
        self.delta = None  # type: Optional[Delta]
        self.compression = None  # type: Optional[compressing.Verdict]
        self.why = "as asked for"
        self.damaged: "FrozenSet[str]" = frozenset()  # names of shards: their files are packed again, and they go
        self._before = before
        self._scratch = scratch
        self._readers = {}  # type: Dict[int, Any]
        self._smallest = cutting.find_smallest(settings.advised_bytes)
        self._cutter = self._make_cutter(settings.shard_bytes or self._smallest)
        self.content_bytes = {}  # type: Dict[str, int]

    def fill(self, early: "Callable[[Optional[ShardPlan]], None]" = lambda _: None) -> None:
        """Makes the plan. early: called now and then, with a shard when one is certain before the rest is known."""
        given = 0
        for batch in self._iterate():
            self.plan.add(batch, self._cutter)
            certain = self._count_certain()
            if certain > given:
                self.plan.flush()
            for shard in self._cutter.shards[given:certain]:
                early(shard)
            given = certain
            early(None)
        self.plan.flush()
        if self.settings.compress:
            self.compression = self._try_compression()
        if not self.settings.shard_bytes:
            self._choose_shards()
        for one in self.shards:
            self.content_bytes.setdefault(one.name, one.content_bytes)

    @property
    def shards(self) -> "List[ShardPlan]":
        return self._cutter.shards

    @property
    def is_replacing(self) -> bool:
        """All of the data set that is there is packed again, and its shards go."""
        before = self._before
        return before is not None and (self.settings.anew or not can_grow(before, self.source))

    def _iterate(self) -> "Iterator[Batch]":
        before, settings = self._before, self.settings
        if before is None or self.is_replacing:
            return self._iterate_all(settings.classes if before is None else before.card.classes)
        self.delta = Delta(before, self.source.open_reader(), settings.by_content, self.damaged)
        return self.delta.select(self.source.iterate(self.told, before.card.classes, self._scratch))

    def _iterate_all(self, classes: "Tuple[str, ...]") -> "Iterator[Batch]":
        """classes: with the numbers that trained models know."""
        batches: "Iterator[Batch]" = self.source.iterate(self.told, layouts.Wished(classes), self._scratch)
        renumbered = layouts.describe_numbers(classes, self.source.classes)
        if renumbered is not None:
            self.told.notes.append(renumbered)
        return batches

    def _make_cutter(self, shard_bytes: int) -> cutting.Cutter:
        return cutting.Cutter(shard_bytes, _find_next_number(self._before), self.settings.most_files)

    def _count_certain(self) -> int:
        if self.settings.compress:  # whether it pays is known at the end
            return 0
        return self._cutter.count_certain(self._smallest if not self.settings.shard_bytes else sys.maxsize)

    def _choose_shards(self) -> None:
        plan, settings = self.plan, self.settings
        chosen, self.why = cutting.choose_shard_bytes(plan.bytes, plan.files, settings.nodes, settings.advised_bytes)
        if chosen != self._smallest and not self._cutter.holds_for_all(self._smallest):
            self._cutter = self._make_cutter(chosen)
            self.plan.cut(self._cutter)

    @property
    def files(self) -> int:
        return self.plan.files

    @property
    def archive_bytes(self) -> int:
        """Of all archives that will be made."""
        return sum(one.bytes for one in self.shards)

    @property
    def is_empty(self) -> bool:
        """Nothing is new, gone or damaged, and the card says what is asked for."""
        return self.keeps_card and not self.plan.files

    @property
    def keeps_card(self) -> bool:
        """As long as no shard is new."""
        before, delta = self._before, self.delta
        if before is None or delta is None or delta.dead_files or self.damaged:
            return False
        return before.card.says(self.settings.about)

    def count_alive(self) -> int:
        """Files that the data set will have."""
        if self._before is None or self.delta is None:
            return self.plan.files
        return self._before.card.files - self.delta.dead_files + self.plan.files

    def stream(self, shard: "ShardPlan", told: "Optional[Told]" = None, again: bool = False) -> ShardStream:
        """again: it was read before; an archive that is read from its beginning to its end is opened once more."""
        compress = self.compression is not None and self.compression.pays
        reader = self.source.open_reader() if again else self._get_reader()
        return ShardStream(self.plan, shard, reader, told or self.told, compress)

    def make_card(self, shards: "List[Shard]") -> Card:
        """The data set with these new shards."""
        source, old, kept_bytes = self.source, [], 0  # type: Any, List[Shard], int
        if self.delta is not None and self._before is not None:
            old = self.delta.make_shards()
            kept_bytes = self._before.card.bytes - self.delta.dead_bytes
        about = {"source": disk.as_text(source.path), "layout": source.words}
        if shards or self._before is None:
            about["shards"] = self.why
        if self._before is not None:
            about = dict(self._before.card.about, **about)
            about.pop("compressed", None)
        if self.compression is not None:
            about["compression"] = self.compression.why
            if self.compression.pays:
                about["compressed"] = "gzip"
        return Card(
            self.settings.name,
            old + sorted(shards, key=lambda one: one.name),
            classes=source.classes,
            columns=source.columns,
            about=dict(about, **self.settings.about),
            total_bytes=kept_bytes + sum(self.content_bytes[one.name] for one in shards),
        )

    def identify(self, shard: "ShardPlan") -> str:
        """The same for the same content, whatever the shard is called."""
        digest = hashlib.sha256(b"gzip" if self.compression is not None and self.compression.pays else b"")
        for batch in self.plan.iterate_shard(shard):
            columns = [sorted(one.items()) for one in batch.columns or ()]
            # Version 2 of marshal writes equal values as equal bytes, whoever else refers to them.
            digest.update(marshal.dumps([batch.names, batch.sizes, batch.mtimes_ns, batch.labels, columns], 2))
        return digest.hexdigest()[:32]

    def find_finished(self, shard: "ShardPlan", folder: bytes) -> "Optional[Shard]":
        """The shard as an earlier attempt left it there, if it holds exactly what is planned for it."""
        path = os.path.join(folder, os.fsencode(shard.name))
        index_path = os.path.join(folder, os.fsencode(name_index(shard.name)))
        try:
            size = os.stat(path).st_size
            index = Index(index_path)
        except (OSError, IndexDamaged):
            return None
        try:
            if index.shard_bytes != size or not index.is_whole() or not self._holds(index, shard):
                return None
            self.content_bytes[shard.name] = sum(index.sizes)
            return Shard(shard.name, size, len(index), crc32(disk.read_bytes(index_path)))
        finally:
            index.close()

    def _holds(self, index: Index, shard: "ShardPlan") -> bool:
        if len(index) != shard.files or self.settings.compress:
            return False
        at = 0
        for batch in self.plan.iterate_shard(shard):
            after = at + len(batch)
            if (
                list(index.sizes[at:after]) != batch.sizes
                or list(index.mtimes_ns[at:after]) != batch.mtimes_ns
                or list(index.classes[at:after]) != batch.labels
                or [index.get_name(number) for number in range(at, after)] != batch.names
                or [index.get_columns(number) for number in range(at, after)] != (batch.columns or [{}] * len(batch))
            ):
                return False
            at = after
        return True

    def _get_reader(self) -> "Any":
        """One a process: an archive's reader has a place in its file, which a fork would share."""
        pid = os.getpid()
        if pid not in self._readers:
            self._readers[pid] = self.source.open_reader()
        return self._readers[pid]

    def _try_compression(self) -> compressing.Verdict:
        """On files spread over the whole."""
        trial: "List[Tuple[int, int]]" = []
        read = 0
        step = max(1, self.plan.files // _TRIAL_FILES)
        reader, at = self.source.open_reader(), 0
        for batch in self.plan.iterate():
            for place in range(-at % step, len(batch), step):
                if batch.sizes[place] > _TRIAL_BYTES or read > _TRIAL_BYTES:
                    continue
                where = batch.wheres[place] if batch.wheres else None
                view = memoryview(bytearray(batch.sizes[place]))
                try:
                    count = reader.read_small(batch.names[place], where, view)
                except OSError:
                    continue
                trial.append((count, len(compressing.compress(bytes(view[:count])))))
                read += count
            at += len(batch)
        return compressing.judge(trial)


def pack(
    source: "Any",
    folder: bytes,
    settings: Settings,
    progress: "Callable[[int, int, int, int], None]" = lambda *_: None,
    readers: "claiming.Readers" = lambda: (),
) -> Packed:
    """Into a folder of this machine. progress: files and bytes done, of how many that are known so far.

    readers: who reads the data set that is there; what they read is not removed.
    """
    claiming.check_outside(folder, source.path)
    objection = claiming.find_objection(folder)
    if objection is not None:
        raise PackFailed(objection, is_refusal=True)
    is_new = not os.path.isdir(folder)
    disk.make_folders(folder)
    try:
        with FolderLock(folder):
            return _pack(source, folder, settings, progress, readers)
    except BaseException:  # a signal too: a folder without anything in it is of no use
        if is_new and not os.listdir(folder):
            os.rmdir(folder)
        raise


def _pack(
    source: "Any",
    folder: bytes,
    settings: Settings,
    progress: "Callable[[int, int, int, int], None]",
    readers: "claiming.Readers",
) -> Packed:
    before = Folder(folder) if has_card(folder) else None
    packing = Packing(source, settings, before, scratch=folder)
    try:
        if before is not None:
            claiming.check_before(folder, before, packing.is_replacing, readers)
            if settings.verify and not packing.is_replacing:
                packing.damaged = find_damaged(folder, lambda done, total: progress(0, done, 0, total))
                if packing.damaged:
                    claiming.check_readers(before.card.name, readers)
        with Writer(packing, folder, progress) as writer:
            packing.fill(writer.offer)
            return _finish(packing, folder, before, writer, readers)
    finally:
        packing.plan.close()
        if before is not None:
            before.close()


def _finish(
    packing: Packing, folder: bytes, before: "Optional[Folder]", writer: Writer, readers: "claiming.Readers"
) -> Packed:
    if packing.is_empty and before is not None:
        return Packed(before.card, packing)
    if not packing.settings.may_be_empty and not packing.count_alive():
        why = ": " + "; ".join(packing.told.make_lines()) if packing.told.counts else ""
        raise PackFailed("{} holds no files that can be packed{}".format(disk.as_text(packing.source.path), why))
    if before is not None and not packing.settings.anew:
        lost = packing.delta.dead_files if packing.delta is not None else before.card.files
        claiming.check_loss(before, packing.source, lost)
    made = [one for one in writer.write_rest() if one.files or not _remove_shard(folder, one.name)]
    if before is not None and not made and packing.keeps_card:
        return Packed(before.card, packing)
    card = packing.make_card(made)
    if not packing.settings.may_be_empty and not card.files:
        raise PackFailed("no file of {} can be read".format(disk.as_text(packing.source.path)))
    if before is not None and packing.is_replacing:
        claiming.check_readers(before.card.name, readers)  # packing takes long
    keep_modes(folder, made)
    save_card(card, folder)
    _remove_strays(card, folder)
    return Packed(card, packing, made, writer.kept)


def _remove_shard(folder: bytes, name: str) -> bool:
    """One without files: none of those that it was planned for could be read."""
    for one in (name, name_index(name)):
        disk.remove_if_there(os.path.join(folder, os.fsencode(one)))
    return True


def _remove_strays(card: Card, folder: bytes) -> None:
    """Of an attempt with other settings, or of a set that was packed anew."""
    named = {one.name for one in card.shards} | {name_index(one.name) for one in card.shards}
    for name in claiming.list_strays(folder, named, _LEFTOVER):
        disk.remove_if_there(os.path.join(folder, name))


def _find_next_number(before: "Optional[Folder]") -> int:
    found = [_NUMBER.match(one.name) for one in before.card.shards] if before is not None else []
    return max([int(one.group(1)) + 1 for one in found if one] or [0])


def has_card(folder: bytes) -> bool:
    return os.path.exists(os.path.join(folder, os.fsencode(CARD)))
