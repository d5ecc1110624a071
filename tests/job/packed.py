"""Small packed data sets for tests of staging."""

import os
import random
import zlib
from pathlib import Path

from windlass_job.shards.card import Card, Shard, save_card
from windlass_job.shards.index import IndexWriter, name_index
from windlass_job.shards.tarring import END, make_header, pad


def make_files(count: int, size: int, seed: int = 0) -> dict[str, bytes]:
    """Names and contents; one of them is empty."""
    dice = random.Random(seed)
    made = {f"c{number % 3}/{number:04}.bin": dice.randbytes(dice.randint(1, 2 * size)) for number in range(count - 1)}
    return {**made, "c2/zempty.bin": b""}


def write_packed(folder: Path, files: dict[str, bytes], *, shards: int = 4) -> None:
    """A data set of so many shards, as it lies at a site."""
    folder.mkdir(parents=True)
    names = sorted(files)
    listed = []
    for number in range(shards):
        ours = names[number * len(names) // shards : (number + 1) * len(names) // shards]
        listed.append(_write_shard(folder, f"shard-{number:05}.tar", {name: files[name] for name in ours}))
    save_card(Card("set", listed, total_bytes=sum(map(len, files.values()))), os.fsencode(folder))


def _write_shard(folder: Path, name: str, files: dict[str, bytes]) -> Shard:
    index, archive = IndexWriter(), bytearray()
    for path, content in files.items():
        archive += make_header(path.encode(), len(content), 0)
        index.add(path.encode(), len(archive), len(content), zlib.crc32(content), 0)
        archive += content + bytes(pad(len(content)))
    archive += END
    (folder / name).write_bytes(archive)
    crc = index.write(os.fsencode(folder / name_index(name)), len(archive))
    return Shard(name, len(archive), len(files), crc)
