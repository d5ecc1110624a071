"""What lies at the source of [data.NAME]: a packed data set, a file or a folder, and how much it is."""

import os
import time
from typing import Any, Dict, NamedTuple, Optional, Tuple

from windlass_job import disk
from windlass_job.shards.card import CARD, CardDamaged, is_packed, read_card
from windlass_job.staging.laying import FILE, FOLDER, PACKED

LONGEST_S = 3.0  # to count the files of a folder
MOST_FILES = 100000
_BLOCK = 4096

Source = NamedTuple(
    "Source",
    [
        ("kind", str),
        ("path", str),
        ("bytes", Optional[int]),  # None: not known
        ("files", Optional[int]),
        ("card", str),  # of a packed set, as it was just now: every node gets this one
        ("unpacked", Optional[int]),  # bytes of an archive's files, where it tells them
    ],
)


class NotThere(Exception):
    """There is nothing that could be staged, in words."""


def look(path: str, is_measured: bool = True, is_extracted: bool = False) -> Source:
    """May raise NotThere and OSError, and hang with the file system. is_measured: the files of a folder are counted."""
    path = _follow_pointer(path)
    raw = os.fsencode(path)
    if not os.path.exists(raw):
        raise NotThere("there is nothing at {}".format(path))
    if not os.path.isdir(raw):
        if not os.path.isfile(raw):
            raise NotThere("{} is neither a file nor a folder, but a pipe or a device".format(path))
        return Source(FILE, path, os.stat(raw).st_size, 1, "", count_unpacked(raw) if is_extracted else None)
    if not is_packed(raw):
        size, files = _measure(raw) if is_measured else (None, None)
        return Source(FOLDER, path, size, files, "", None)
    content = disk.read_bytes(os.path.join(raw, os.fsencode(CARD)))
    try:
        found = read_card(content)
    except CardDamaged as problem:
        raise NotThere("{}: {}".format(path, problem))
    return Source(PACKED, path, sum(one.bytes for one in found.shards), found.files, content.decode("utf-8"), None)


def count_unpacked(path: bytes) -> "Optional[int]":
    """What a zip's directory says, and a gzip file's last bytes; at least so much. None where nothing is told."""
    name = path.lower()
    try:
        if name.endswith(b".zip"):
            import zipfile

            with zipfile.ZipFile(os.fsdecode(path)) as archive:
                return sum(info.file_size + -info.file_size % _BLOCK for info in archive.infolist())
        if name.endswith((b".gz", b".tgz")):
            return _count_gzip(path)
    except Exception:  # whatever a damaged one holds: it is told when it is unpacked
        pass
    return None


def _count_gzip(path: bytes) -> int:
    """Its last four bytes hold it modulo 4 GiB; nothing worth packing grows by it."""
    with open(path, "rb") as file:
        size = file.seek(-4, os.SEEK_END) + 4
        told = int.from_bytes(file.read(4), "little")
    while told < size // 2:
        told += 1 << 32
    return told


def _follow_pointer(path: str) -> str:
    """A data set of a name may lie elsewhere: NAME.json beside it says where."""
    if os.path.exists(os.fsencode(path)):
        return path
    pointer: "Dict[str, Any]" = disk.read_json(os.fsencode(path.rstrip("/") + ".json")) or {}
    return str(pointer.get("path") or path)


def _measure(folder: bytes) -> "Tuple[Optional[int], Optional[int]]":
    """Bytes and files; None where there are too many to count."""
    deadline = time.monotonic() + LONGEST_S
    size, files, folders = 0, 0, [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                files += 1
                size += entry.stat(follow_symlinks=False).st_size
                if files > MOST_FILES or time.monotonic() > deadline:
                    return None, None
    return size, files
