"""What the site gives to the laptop: a data set, a folder or a file, as ranges of bytes with a checksum each."""

import hashlib
import os
import stat
import zlib

from windlass_job import disk, wire
from windlass_job.shards import told as words
from windlass_job.shards.card import is_packed
from windlass_job.shards.links import find_inside
from windlass_job.shards.pointers import find_target
from windlass_job.shards.told import Told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Tuple

_BLOCK = 1 << 20
_MOST_FILES = 200000


class Listing:
    """What lies in a folder, each in order of names; `told` is what of it cannot be given."""

    def __init__(self) -> None:
        self.names: "List[bytes]" = []  # of regular files
        self.links: "List[Tuple[bytes, bytes]]" = []  # those that stay inside, and what they point to
        self.folders: "List[bytes]" = []  # with nothing in them
        self.told = Told()

    def count(self) -> int:
        return len(self.names) + len(self.links) + len(self.folders)


def look(what: str, beat: "Callable[[], None]" = lambda: None) -> "Tuple[Dict[str, Any], Dict[str, Any]]":
    """What lies there: the kind, and its files with size, time and mode, relative to the path."""
    path = find_target(what)
    found, listing = os.stat(path), Listing()
    if stat.S_ISREG(found.st_mode):
        kind, base, listing.names = "file", os.path.dirname(path), [os.path.basename(path)]
    elif stat.S_ISDIR(found.st_mode):
        kind, base = "set" if is_packed(path) else "folder", path
        if kind == "set":
            listing.names = _list_shards(path)
        else:
            listing = list_folder(path, beat)
    else:
        raise disk.Refused("failed", "%s is neither a file nor a folder" % disk.as_text(path))
    files = []
    for name in listing.names:
        beat()
        files.append(_describe(base, name))
    return {"kind": kind, "path": disk.as_text(base)}, {
        "files": files,
        "links": [[disk.as_text(name), disk.as_text(points_to)] for name, points_to in listing.links],
        "folders": [disk.as_text(name) for name in listing.folders],
        "told": listing.told.as_json(),
    }


def list_folder(folder: bytes, beat: "Callable[[], None]" = lambda: None) -> Listing:
    """All below it; links are not followed."""
    listing = Listing()
    left = [b""]
    while left:
        beat()
        below = left.pop()
        names = os.listdir(os.path.join(folder, below))
        if not names and below:
            listing.folders.append(below)
        for name in names:
            relative = os.path.join(below, name)
            if stat.S_ISDIR(os.lstat(os.path.join(folder, relative)).st_mode):
                left.append(relative)
            else:
                _list_one(folder, relative, listing)
        if listing.count() > _MOST_FILES:
            raise disk.Refused("failed", "more than %d files: pack it at the site first" % _MOST_FILES)
    listing.names.sort()
    listing.links.sort()
    listing.folders.sort()
    return listing


def _list_one(folder: bytes, name: bytes, listing: Listing) -> None:
    mode = os.lstat(os.path.join(folder, name)).st_mode
    if stat.S_ISREG(mode):
        listing.names.append(name)
    elif not stat.S_ISLNK(mode):
        listing.told.add(words.DEVICE, name)
    else:
        points_to = find_inside(folder, name)
        if points_to is None:
            listing.told.add(words.LINK_OUT, name)
        else:
            listing.links.append((name, points_to))


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
