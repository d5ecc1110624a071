"""Windlass's own: tar archives, an index beside each, and a card. The way in from other formats and out to them."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from windlass.errors import ConvertError
from windlass.formats.form import Format, Sample, Source, check_name, cut_shards
from windlass.formats.repeats import tell_apart
from windlass_job.shards.card import Card, CardDamaged, Shard, is_packed, save_card
from windlass_job.shards.compressing import restore
from windlass_job.shards.folder import FileDamaged, Folder
from windlass_job.shards.index import NO_CLASS, IndexDamaged, IndexWriter, name_index
from windlass_job.shards.tarring import END, make_header, pad


def save(path: Path, source: Source, shard_bytes: int) -> None:
    shards: list[Shard] = []
    columns: set[str] = set()
    total = 0
    for number, samples in enumerate(cut_shards(source.samples, shard_bytes)):
        name = f"shard-{number:05}.tar"
        with (path / name).open("wb") as file:
            index, size, content_bytes = _write_shard(file, samples, columns)
        total += content_bytes
        crc = index.write(bytes(path / name_index(name)), size)
        shards.append(Shard(name, size, len(index), crc))
    card = Card(source.name, shards, tuple(source.classes), tuple(sorted(columns)), dict(source.about), total)
    save_card(card, bytes(path))


def _write_shard(file: "IO[bytes]", samples: Iterator[Sample], columns: set[str]) -> tuple[IndexWriter, int, int]:
    index = IndexWriter()
    at = content_bytes = 0
    for sample in samples:
        content = sample.content
        header = make_header(sample.name, len(content), 0)
        label = NO_CLASS if sample.label is None else sample.label
        index.add(sample.name, at + len(header), len(content), zlib.crc32(content), 0, label, dict(sample.columns))
        columns.update(sample.columns)
        file.write(header)
        file.write(content)
        file.write(bytes(pad(len(content))))
        at += len(header) + len(content) + pad(len(content))
        content_bytes += len(content)
    file.write(END)
    return index, at + len(END), content_bytes


def load(path: Path, _: Path) -> Source:
    try:
        folder = Folder(bytes(path))
    except CardDamaged as error:
        raise ConvertError(str(error)) from error
    card = folder.card
    source = Source(
        samples=(),
        classes=list(card.classes),
        files=len(folder),
        total_bytes=card.bytes,
        name=card.name,
        about=card.about,
    )
    source.samples = tell_apart(_iterate(folder, source), source.notices)
    return source


def _iterate(folder: Folder, source: Source) -> Iterator[Sample]:
    with folder:
        try:
            for entry in folder.iterate():
                number = folder.get_index(entry.shard).classes[entry.at]
                label = None if number == NO_CLASS else int(number)
                folder.get_class(entry)  # which says where there is none of that number
                name, content = restore(entry.name, folder.read(entry))
                yield Sample(check_name(name, source.notices), content, label, folder.get_columns(entry))
        except (FileDamaged, IndexDamaged, zlib.error) as error:
            raise ConvertError(str(error), hint="windlass data verify names everything that is damaged") from error


SHARDS = Format(
    name="windlass",
    summary="Windlass's own shards: plain tar archives, each with an index",
    is_folder=True,
    looks_like=lambda path: is_packed(os.fsencode(path)),
    load=load,
    save=save,
)
