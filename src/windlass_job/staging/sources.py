"""What lies at the source of [data.NAME]: a packed data set, a file or a folder, and how much it is."""

import os
import time
from typing import Any, Dict, NamedTuple, Optional, Tuple

from windlass_job import disk
from windlass_job.shards.card import CARD, CardDamaged, read_card
from windlass_job.staging.laying import FILE, FOLDER, PACKED

LONGEST_S = 3.0  # to count the files of a folder
MOST_FILES = 100000

Source = NamedTuple(
    "Source",
    [
        ("kind", str),
        ("path", str),
        ("bytes", Optional[int]),  # None: not known
        ("files", Optional[int]),
        ("card", str),  # of a packed set, as it was just now: every node gets this one
    ],
)


class NotThere(Exception):
    """There is nothing that could be staged, in words."""


def look(path: str, is_measured: bool = True) -> Source:
    """May raise NotThere and OSError, and hang with the file system. is_measured: the files of a folder are counted."""
    path = _follow_pointer(path)
    raw = os.fsencode(path)
    if not os.path.exists(raw):
        raise NotThere("there is nothing at {}".format(path))
    if not os.path.isdir(raw):
        return Source(FILE, path, os.stat(raw).st_size, 1, "")
    card = os.path.join(raw, os.fsencode(CARD))
    if not os.path.exists(card):
        size, files = _measure(raw) if is_measured else (None, None)
        return Source(FOLDER, path, size, files, "")
    content = disk.read_bytes(card)
    try:
        found = read_card(content)
    except CardDamaged as problem:
        raise NotThere("{}: {}".format(path, problem))
    return Source(PACKED, path, sum(one.bytes for one in found.shards), found.files, content.decode("utf-8"))


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
