"""Small packed data sets, as a packer leaves them."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windlass_job.shards.card import Card, Shard, save_card
from windlass_job.shards.index import NO_CLASS, IndexWriter, name_index
from windlass_job.shards.tarring import END, make_header, pad

CLASSES = tuple(f"class{number}" for number in range(10))


@dataclass(frozen=True, kw_only=True)
class File:
    name: bytes
    content: bytes
    label: int = NO_CLASS
    columns: Mapping[str, Any] = field(default_factory=dict)


def make_files(count: int, *, size: int = 100) -> list[File]:
    """Names in order, each content different, ten classes."""
    return [
        File(name=b"part/%05d.bin" % number, content=b"%d." % number * (1 + (number * 37) % size), label=number % 10)
        for number in range(count)
    ]


def write_set(
    folder: Path,
    shards: Sequence[Sequence[File]],
    *,
    dead: Mapping[int, tuple[tuple[int, int], ...]] | None = None,
    classes: Sequence[str] = CLASSES,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number, files in enumerate(shards):
        archive, writer = bytearray(), IndexWriter()
        for file in files:
            archive += make_header(file.name, len(file.content), 7)
            writer.add(
                file.name,
                len(archive),
                len(file.content),
                zlib.crc32(file.content),
                7 * 10**9,
                file.label,
                dict(file.columns),
            )
            archive += file.content + bytes(pad(len(file.content)))
        archive += END
        name = f"shard-{number:05}.tar"
        (folder / name).write_bytes(archive)
        crc = writer.write(bytes(folder / name_index(name)), len(archive))
        made.append(Shard(name, len(archive), len(files), crc, (dead or {}).get(number, ())))
    save_card(Card("set", made, classes=tuple(classes)), bytes(folder))
    return folder


def cut(files: Sequence[File], each: int) -> list[Sequence[File]]:
    return [files[start : start + each] for start in range(0, len(files), each)]


def stage(origin: Path, local: Path) -> Path:
    """The node's folder as staging makes it first: card, indexes and where the shards are."""
    local.mkdir()
    for path in (origin / "dataset.json", *origin.glob("*.idx")):
        (local / path.name).write_bytes(path.read_bytes())
    (local / "origin").write_text(f"{origin}\n")
    return local
