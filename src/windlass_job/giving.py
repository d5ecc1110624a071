"""What the site gives to the laptop: a data set, a folder or a file, as ranges of bytes with a checksum each."""

import os
import shutil
import stat
import zlib

from windlass_job import disk, wire
from windlass_job.receiving import find_target
from windlass_job.shards.card import CARD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

_BLOCK = 1 << 20
_MOST_FILES = 200000


def look(what: str) -> "Tuple[Dict[str, Any], List[Any]]":
    """What lies there: the kind, and its files with size, time and mode, relative to the path."""
    path = find_target(what)
    found = os.stat(path)
    if stat.S_ISREG(found.st_mode):
        kind, base, names = "file", os.path.dirname(path), [os.path.basename(path)]
    elif stat.S_ISDIR(found.st_mode):
        kind = "set" if os.path.exists(os.path.join(path, disk.as_path(CARD))) else "folder"
        base, names = path, list_names(path) if kind == "folder" else _list_shards(path)
    else:
        raise disk.Refused("failed", "%s is neither a file nor a folder" % disk.as_text(path))
    return {"kind": kind, "path": disk.as_text(base)}, [_describe(base, name) for name in names]


def list_names(folder: bytes) -> "List[bytes]":
    """Regular files below it, sorted; links are not followed."""
    names: "List[bytes]" = []
    left = [b""]
    while left:
        below = left.pop()
        for name in sorted(os.listdir(os.path.join(folder, below))):
            relative = os.path.join(below, name)
            mode = os.lstat(os.path.join(folder, relative)).st_mode
            if stat.S_ISDIR(mode):
                left.append(relative)
            elif stat.S_ISREG(mode):
                names.append(relative)
        if len(names) > _MOST_FILES:
            raise disk.Refused("failed", "more than %d files: pack it at the site first" % _MOST_FILES)
    return sorted(names)


def _list_shards(folder: bytes) -> "List[bytes]":
    return [name for name in sorted(os.listdir(folder)) if name.endswith(b".tar") and not name.startswith(b".")]


def _describe(base: bytes, name: bytes) -> "List[Any]":
    found = os.stat(os.path.join(base, name))
    return [disk.as_text(name), found.st_size, found.st_mtime_ns, found.st_mode & 0o777]


def open_inside(base: str, name: str) -> "Any":
    return disk.open_regular(disk.join_inside(disk.as_path(base), name))


def count_crc(file: "Any", size: int) -> int:
    """Of the first so many bytes; the file stands behind them then."""
    crc = 0
    while size:
        piece = file.read(min(_BLOCK, size))
        if not piece:
            break
        crc = zlib.crc32(piece, crc)
        size -= len(piece)
    return crc


def land(base: str, name: str, landing: bytes) -> bytes:
    """A copy under the same name; where it lies is told."""
    if not os.path.basename(landing).startswith(disk.as_path(wire.LANDING)):
        raise disk.Refused("failed", "%s is no landing place" % disk.as_text(landing))
    target = disk.join_inside(landing, name)
    with open_inside(base, name) as file:
        size = os.fstat(file.fileno()).st_size
        if not os.path.exists(target) or os.stat(target).st_size != size:
            disk.make_folders(os.path.dirname(target))
            aside = target + b".part"
            with open(aside, "wb") as copy:
                shutil.copyfileobj(file, copy, _BLOCK)
            os.rename(aside, target)
    return landing
