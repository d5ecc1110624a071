"""What tests of packed data share: small trees, packed, and everything that is in them again."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windlass_job import disk
from windlass_job.shards.folder import Folder
from windlass_job.shards.packed import Packed
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source

SMALL = 64 << 10
NOBODY = 65534


@contextmanager
def plain_user() -> Iterator[Path]:
    """A folder of somebody to whom files can be forbidden, which is not true for root."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        with tempfile.TemporaryDirectory() as home:
            yield Path(home)
    finally:
        if is_root:
            os.seteuid(0)


def make_tree(top: Path, files: dict[bytes, bytes]) -> Path:
    for name, content in files.items():
        path = name_below(top, name)
        disk.make_folders(path.rpartition(b"/")[0])
        with open(path, "wb") as file:
            file.write(content)
        os.utime(path, ns=(10**18, 10**18))
    return top


def name_below(top: Path, name: bytes) -> bytes:
    """As bytes, because not every name is text."""
    return bytes(top) + b"/" + name


def make_many(top: Path, count: int, size: int = 3000) -> Path:
    files = {b"class_%d/%05d.bin" % (n % 5, n): (b"%d " % n) * (size // 6 + n % 70) for n in range(count)}
    return make_tree(top, files)


def pack_small(source: Path, target: Path, **settings: object) -> Packed:
    wanted = Settings("set", **{"shard_bytes": SMALL, **settings})  # type: ignore[arg-type]
    return pack(choose_source(bytes(source)), bytes(target), wanted)


def read_set(folder: Path) -> dict[bytes, bytes]:
    with Folder(bytes(folder)) as found:
        entries = list(found.iterate())
        read = {entry.name: found.read(entry) for entry in entries}
    assert len(read) == len(entries)
    return read


def read_tree(top: Path) -> dict[bytes, bytes]:
    found = {}
    for folder, _, names in os.walk(bytes(top)):
        for name in names:
            path = folder + b"/" + name
            with open(path, "rb") as file:
                found[path[len(bytes(top)) + 1 :]] = file.read()
    return found


def read_files(folder: Path) -> dict[str, bytes]:
    """The files of the data set themselves."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
