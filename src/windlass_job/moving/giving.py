"""What the site gives to the laptop: a data set, a folder or a file, as ranges of bytes with a checksum each."""

import hashlib
import os
import stat
import zlib

from windlass_job import disk, wire
from windlass_job.moving.receiving import find_target
from windlass_job.shards.card import CARD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Tuple

_BLOCK = 1 << 20
_MOST_FILES = 200000


def look(what: str, beat: "Callable[[], None]" = lambda: None) -> "Tuple[Dict[str, Any], List[Any]]":
    """What lies there: the kind, and its files with size, time and mode, relative to the path."""
    path = find_target(what)
    found = os.stat(path)
    if stat.S_ISREG(found.st_mode):
        kind, base, names = "file", os.path.dirname(path), [os.path.basename(path)]
    elif stat.S_ISDIR(found.st_mode):
        kind = "set" if os.path.exists(os.path.join(path, disk.as_path(CARD))) else "folder"
        base, names = path, list_names(path, beat) if kind == "folder" else _list_shards(path)
    else:
        raise disk.Refused("failed", "%s is neither a file nor a folder" % disk.as_text(path))
    files = []
    for name in names:
        beat()
        files.append(_describe(base, name))
    return {"kind": kind, "path": disk.as_text(base)}, files


def list_names(folder: bytes, beat: "Callable[[], None]" = lambda: None) -> "List[bytes]":
    """Regular files below it, sorted; links are not followed."""
    names: "List[bytes]" = []
    left = [b""]
    while left:
        beat()
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


def land(base: str, name: str, landing: bytes, beat: "Callable[[], None]" = lambda: None) -> bytes:
    """A copy under the same name, which nobody else may read; the folder below which it lies is told."""
    if not os.path.basename(landing).startswith(disk.as_path(wire.LANDING)):
        raise disk.Refused("failed", "%s is no landing place" % disk.as_text(landing))
    _make_private(landing)
    with open_inside(base, name) as file:
        # What an interrupted one left is taken for this file only when it was made of this very version of it.
        folder = os.path.join(landing, _name_version(base, name, os.fstat(file.fileno())))
        target = disk.join_inside(folder, name)
        if not os.path.exists(target):
            disk.make_folders(os.path.dirname(target))
            _copy_aside(file, target, beat)
    return folder


def _make_private(landing: bytes) -> None:
    disk.make_folders(os.path.dirname(landing))
    try:
        os.mkdir(landing, 0o700)
    except FileExistsError:
        found = os.lstat(landing)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise disk.Refused("denied", "%s is not ours" % disk.as_text(landing))
        os.chmod(landing, 0o700)


def _name_version(base: str, name: str, found: os.stat_result) -> bytes:
    text = "%s\0%s\0%d\0%d" % (base, name, found.st_size, found.st_mtime_ns)
    return hashlib.sha256(disk.as_path(text)).hexdigest()[:24].encode("ascii")


def _copy_aside(file: "Any", target: bytes, beat: "Callable[[], None]") -> None:
    aside = target + b".part"
    disk.remove_if_there(aside)
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as copy:
        while True:
            piece = file.read(_BLOCK)
            if not piece:
                break
            copy.write(piece)
            beat()
    os.rename(aside, target)
