"""A small part of a data set: some files of each class, the same ones for the same seed; as files, or packed again."""

import os
import random
import zlib

from windlass_job import disk
from windlass_job.shards import compressing
from windlass_job.shards.card import Card, Shard, save_card
from windlass_job.shards.folder import FileDamaged, Folder
from windlass_job.shards.index import IndexWriter, name_index
from windlass_job.shards.naming import make_stored_name
from windlass_job.shards.tarring import END, make_header, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Tuple

    from windlass_job.shards.folder import Entry

_SHARD = "shard-00000.tar"


def sample(
    source: bytes,
    target: bytes,
    per_class: int,
    seed: int,
    packed: bool = False,
    progress: "Callable[[int, int], None]" = lambda *_: None,
) -> "Tuple[int, int]":
    """How many files and bytes. The target is new; a packed one is there whole or not at all."""
    with Folder(source) as folder:
        entries = choose(folder, per_class, seed)
        if packed:
            _write_packed(folder, entries, target, progress)
        else:
            _write_files(folder, entries, target, progress)
    return len(entries), sum(one.size for one in entries)


def choose(folder: Folder, per_class: int, seed: int) -> "List[Entry]":
    """Of each class so many, in the order of the data set. One pass; only what is chosen is held."""
    chance = random.Random(seed)
    held: "Dict[int, List[int]]" = {}
    seen: "Dict[int, int]" = {}
    for number in range(len(folder)):
        shard, at = folder.locate(number)
        label = folder.get_index(shard).classes[at]
        rank = seen[label] = seen.get(label, 0) + 1
        kept = held.setdefault(label, [])
        if rank <= per_class:
            kept.append(number)
        else:
            place = chance.randrange(rank)
            if place < per_class:
                kept[place] = number
    return [folder.get_entry(number) for number in sorted(one for kept in held.values() for one in kept)]


def _write_files(folder: Folder, entries: "List[Entry]", target: bytes, progress: "Callable[[int, int], None]") -> None:
    total, done = sum(one.size for one in entries), 0
    for entry in entries:
        name, content = compressing.restore(entry.name, folder.read(entry))
        if make_stored_name(name) != name:
            raise FileDamaged("{!a} is a name that leads out of the folder".format(disk.as_text(name)))
        path = disk.join_inside(target, disk.as_text(name))
        disk.make_folders(os.path.dirname(path))
        disk.write_new(path, content)
        done += entry.size
        progress(done, total)


def _write_packed(
    folder: Folder, entries: "List[Entry]", target: bytes, progress: "Callable[[int, int], None]"
) -> None:
    """Beside the target, then renamed."""
    above, name = os.path.split(target.rstrip(b"/"))
    aside = os.path.join(above, b"." + name + b"." + disk.make_suffix())
    disk.make_folders(aside)
    try:
        _fill(folder, entries, aside, progress)
        os.rename(aside, target)  # over an empty folder too
    except BaseException:  # a signal too
        _remove(aside)
        raise


def _fill(folder: Folder, entries: "List[Entry]", aside: bytes, progress: "Callable[[int, int], None]") -> None:
    """The classes keep their numbers."""
    index, at, total, done = IndexWriter(), 0, sum(one.size for one in entries), 0
    path = os.path.join(aside, os.fsencode(_SHARD))
    with open(path, "wb") as file:
        for entry in entries:
            content = folder.read(entry)
            header = make_header(entry.name, len(content), entry.mtime_ns // 10**9)
            file.write(header + content + bytes(pad(len(content))))
            label = folder.get_index(entry.shard).classes[entry.at]
            columns = folder.get_columns(entry)
            crc = zlib.crc32(content)
            index.add(entry.name, at + len(header), len(content), crc, entry.mtime_ns, label, columns)
            at += len(header) + len(content) + pad(len(content))
            done += entry.size
            progress(done, total)
        file.write(END)
        file.flush()
        os.fsync(file.fileno())
    size = at + len(END)
    index_crc = index.write(os.path.join(aside, os.fsencode(name_index(_SHARD))), size)
    about = dict(folder.card.about, sample_of=folder.card.name, sampled_files=len(entries))
    shard = Shard(_SHARD, size, len(entries), index_crc)
    card = Card(folder.card.name + "-sample", [shard], folder.card.classes, folder.card.columns, about, total)
    save_card(card, aside)


def _remove(path: bytes) -> None:
    """What was made just now."""
    for name in os.listdir(path):
        os.unlink(os.path.join(path, name))
    os.rmdir(path)
