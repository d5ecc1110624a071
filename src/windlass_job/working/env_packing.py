"""Verb of long work: a built environment as one plain tar, which every node of a job unpacks for itself.

The same folder gives the same bytes. What stands in its files of its own path is listed in the last entry, so that the
nodes need not look for it; without that entry the tar is not whole.
"""

import json
import os
import stat
import subprocess
import time
import zlib
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Tuple

from windlass_job import disk, wire
from windlass_job.relocating import TABLE, VERSION, Finder
from windlass_job.shards import tarring
from windlass_job.working.behind import Progress
from windlass_job.working.environments import find_folder, hold, load_card
from windlass_job.working.holding import Holding

_PIECE = 4 << 20
_BLOCK = 4096  # of a file system: what a small file takes
_MOST_TOLD = 5
_MOST_MISSING = 0.02  # of the modules: so many may have no bytecode before all are compiled
_FLUSH = 64 << 20
_ASIDE = b"." + disk.as_path(wire.PACKED_ENV) + b"."  # and the number of the claim

Entry = Tuple[bytes, os.stat_result]

FAILURES = (ValueError,)


def explain(error: Exception) -> "Dict[str, Any]":
    return {"kind": "failed", "problem": str(error)}


def _pack(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """is_new False: it was packed already since it was built."""
    folder = find_folder(request)
    with hold(folder, "packed", progress) as holding:
        built = load_card(folder)
        if built is None:
            raise disk.Refused("not-found", "there is no environment {} that was built".format(request["id"]))
        known = None if request.get("again") else _load_packed(folder, built)
        return dict(known or _pack_built(folder, built, holding, progress), is_new=known is None)


def _pack_built(folder: bytes, built: "Dict[str, Any]", holding: Holding, progress: Progress) -> "Dict[str, Any]":
    current = os.path.join(folder, disk.as_path(wire.ENV_CURRENT))
    target = os.path.join(folder, disk.as_path(wire.PACKED_ENV))
    prefix = os.path.realpath(current)
    _remove_asides(folder, holding)
    progress(0, 0, "compiling")
    _compile_missing(disk.as_path(built["path"]))
    rooms = _load_rooms(prefix, disk.as_path(built["path"]))
    names = _list_prefixes(folder, current, prefix)
    card = pack(prefix, target, names, rooms, holding, holding.guard(progress))
    holding.check()
    disk.replace(
        os.path.join(folder, disk.as_path(wire.ENV_CARD)), disk.make_json(dict(built, packed=disk.as_text(target)))
    )
    return dict(card, packed=disk.as_text(target))


def _remove_asides(folder: bytes, holding: Holding) -> None:
    """Of packings that were killed; not of one that only fell silent, on another host."""
    for name in os.listdir(folder):
        number = name[len(_ASIDE) :] if name.startswith(_ASIDE) else b""
        if number.isdigit() and not holding.lingers(int(number)):
            disk.remove_if_there(os.path.join(folder, name))


def _load_packed(folder: bytes, built: "Dict[str, Any]") -> "Optional[Dict[str, Any]]":
    """What was packed of this very build, where it is whole."""
    card = disk.read_json(os.path.join(folder, disk.as_path(wire.PACKED_CARD)))
    packed = disk.as_path(built.get("packed") or "")
    if card is None or not packed or not os.path.isfile(packed) or os.stat(packed).st_size != card.get("bytes"):
        return None
    is_of_it = card.get("path") == disk.as_text(os.path.realpath(os.path.join(folder, disk.as_path(wire.ENV_CURRENT))))
    return dict(card, packed=built["packed"]) if is_of_it else None


def _list_prefixes(folder: bytes, current: bytes, prefix: bytes) -> "List[bytes]":
    """As it may stand in its files: by the names it was built and is entered under, with and without links above."""
    names = [current, prefix, os.path.join(folder, os.path.basename(prefix))]
    names.append(os.path.join(os.path.realpath(folder), disk.as_path(wire.ENV_CURRENT)))
    return list(dict.fromkeys(names))


VERBS: "Dict[str, Callable[[Dict[str, Any], Progress], Dict[str, Any]]]" = {"pack-env": _pack}


# ---- the file --------------------------------------------------------------------------------------------------------


def pack(
    prefix: bytes,
    target: bytes,
    prefixes: "List[bytes]",
    rooms: "Dict[bytes, int]",
    holding: Holding,
    progress: Progress,
) -> "Dict[str, Any]":
    """Its card, which lies beside it. Before both are whole there is nothing that a job would use.

    rooms: of binaries, by name, how many letters longer than now the path in them may be.
    """
    entries = sorted(_walk(prefix))
    total = sum(seen.st_size for _, seen in entries if stat.S_ISREG(seen.st_mode))
    _refuse_full(os.path.dirname(target), total + 1024 * len(entries))
    aside = os.path.join(os.path.dirname(target), _ASIDE + str(holding.number).encode("ascii"))
    card_path = os.path.join(os.path.dirname(target), os.fsencode(wire.PACKED_CARD))
    try:
        with open(aside, "xb", 0) as file:
            writer = _Writer(file, Finder(prefixes), rooms)
            for name, seen in entries:
                writer.add(prefix, name, seen)
                progress(writer.size, total)
            writer.end()
            os.fsync(file.fileno())
        card = dict(writer.describe(), path=disk.as_text(prefix), made=time.time())
        card["prefixes"] = [disk.as_text(one) for one in prefixes]
        card["told"] = writer.told() + _tell_outside(prefix, entries)
        holding.check()
        disk.remove_if_there(card_path)
        os.rename(aside, target)
        disk.replace(card_path, disk.make_json(card))
    finally:
        disk.remove_if_there(aside)
    return card


def _walk(prefix: bytes) -> "Iterator[Entry]":
    folders = [b""]
    while folders:
        inner = folders.pop()
        with os.scandir(os.path.join(prefix, inner) if inner else prefix) as found:
            for entry in found:
                name = os.path.join(inner, entry.name)
                if name == TABLE:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                yield name, entry.stat(follow_symlinks=False)


def _refuse_full(folder: bytes, need: int) -> None:
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if need > free:
        words = "the packed environment needs {} MB, and {} has {} MB free"
        raise disk.Refused("no-space", words.format(need >> 20, disk.as_text(folder), free >> 20))


class _Writer:
    def __init__(self, file: "BinaryIO", finder: Finder, rooms: "Dict[bytes, int]") -> None:
        self._file = file
        self._finder = finder
        self._rooms = rooms
        self._relocated: List[List[Any]] = []
        self._first_names: Dict[Tuple[int, int], bytes] = {}
        self._left_out: List[bytes] = []
        self._held: List[bytes] = []
        self._held_bytes = 0
        self._flushed = 0
        self._crc = 0
        self.size = 0
        self.files = 0
        self.unpacked = 0

    def add(self, prefix: bytes, name: bytes, seen: os.stat_result) -> None:
        mode, mtime = stat.S_IMODE(seen.st_mode) & 0o777, int(seen.st_mtime)
        self.unpacked += _BLOCK
        if stat.S_ISDIR(seen.st_mode):
            self._write(tarring.make_special_header(name, b"5", mtime, mode))
        elif stat.S_ISLNK(seen.st_mode):
            link = _make_relative(os.readlink(os.path.join(prefix, name)), name, self._finder.prefixes)
            self._write(tarring.make_special_header(name, b"2", mtime, 0o777, link))
        elif not stat.S_ISREG(seen.st_mode):
            self._left_out.append(name)
        elif seen.st_nlink > 1 and (seen.st_dev, seen.st_ino) in self._first_names:
            first = self._first_names[seen.st_dev, seen.st_ino]
            self._write(tarring.make_special_header(name, b"1", mtime, mode, first))
        else:
            self._first_names[seen.st_dev, seen.st_ino] = name
            self._add_file(os.path.join(prefix, name), name, mode, mtime)
        self.files += 1

    def _add_file(self, path: bytes, name: bytes, mode: int, mtime: int) -> None:
        self._finder.begin()
        with open(path, "rb", 0) as source:
            size = os.fstat(source.fileno()).st_size
            self._write(tarring.make_header(name, size, mtime, mode))
            left = size
            while left:
                piece = source.read(min(_PIECE, left))
                if not piece:
                    raise ValueError("{} has become shorter while it was packed".format(disk.as_text(path)))
                self._finder.feed(piece)
                self._write(piece)
                left -= len(piece)
        self._write(bytes(tarring.pad(size)))
        self.unpacked += size
        found = self._finder.end(name, self._rooms.get(name))
        if found is not None:
            self._relocated.append([disk.as_text(name), found.kind, found.room, found.spots])

    def end(self) -> None:
        prefixes = [disk.as_text(one) for one in self._finder.prefixes]
        table = json.dumps({"version": VERSION, "prefixes": prefixes, "files": self._relocated}).encode("ascii")
        self._write(tarring.make_header(TABLE, len(table), 0) + table + bytes(tarring.pad(len(table))) + tarring.END)
        self._flush()

    def _write(self, data: bytes) -> None:
        """Small ones together: a shared file system takes a megabyte as fast as a line."""
        self._held.append(data)
        self._held_bytes += len(data)
        self.size += len(data)
        if self._held_bytes >= _PIECE:
            self._flush()

    def _flush(self) -> None:
        data = b"".join(self._held)
        self._held, self._held_bytes = [], 0
        self._crc = zlib.crc32(data, self._crc)
        view = memoryview(data)
        while len(view):
            view = view[self._file.write(view) :]
        if self.size - self._flushed >= _FLUSH:
            disk.begin_flush(self._file.fileno(), self._flushed, self.size)
            self._flushed = self.size

    def describe(self) -> "Dict[str, Any]":
        return {
            "version": VERSION,
            "bytes": self.size,
            "crc32": self._crc,
            "files": self.files,
            "unpacked": self.unpacked,
            "relocated": len(self._relocated),
        }

    def told(self) -> "List[str]":
        if not self._left_out:
            return []
        words = "{} that are neither files, folders nor links were left out: {}"
        return [words.format(len(self._left_out), disk.as_text(self._left_out[0]))]


def _make_relative(link: bytes, name: bytes, prefixes: "List[bytes]") -> bytes:
    """A link to something in the same environment finds it also where it is unpacked."""
    for prefix in prefixes:
        if link == prefix or link.startswith(prefix + b"/"):
            inside = link[len(prefix) + 1 :] or b"."
            return os.path.relpath(inside, os.path.dirname(name) or b".")
    return link


# ---- conda, bytecode, and what lies elsewhere ------------------------------------------------------------------------


def _load_rooms(prefix: bytes, root: bytes) -> "Dict[bytes, int]":
    """conda's packages are built for a path of 255 letters: what is left of them, by file. root: of conda's prefix."""
    found: Dict[bytes, int] = {}
    inner = os.path.relpath(os.path.realpath(root), prefix)
    inner = b"" if inner == b"." else inner
    length = max(len(root), len(os.path.realpath(root)))
    folder = os.path.join(prefix, inner, b"conda-meta")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        about = (disk.read_json(os.path.join(folder, name)) if name.endswith(b".json") else None) or {}
        for one in (about.get("paths_data") or {}).get("paths") or ():
            if one.get("file_mode") == "binary" and one.get("prefix_placeholder") and one.get("_path"):
                room = len(disk.as_path(one["prefix_placeholder"])) - length
                found[os.path.join(inner, disk.as_path(one["_path"]))] = max(0, room)
    return found


def _compile_missing(root: bytes) -> None:
    """uv and some wheels come without bytecode: every node would have to make it again at every start."""
    modules, missing = 0, 0
    library = os.path.join(root, b"lib")
    for folder, folders, names in os.walk(library):
        if folder.endswith(b"/__pycache__"):
            folders[:] = []
            continue
        sources = [name[:-3] for name in names if name.endswith(b".py")]
        try:
            cached = os.listdir(os.path.join(folder, b"__pycache__")) if sources else []
        except OSError:
            cached = []
        stems = {name.split(b".")[0] for name in cached}
        modules += len(sources)
        missing += sum(1 for name in sources if name.split(b".")[0] not in stems)
    if modules and missing / modules > _MOST_MISSING:
        _run_quietly([os.path.join(root, b"bin/python"), b"-m", b"compileall", b"-q", library])


def _run_quietly(argv: "List[bytes]") -> None:
    """It fails for every module that is for another Python: nobody would have imported those."""
    try:
        subprocess.call(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:  # its Python does not run here: the nodes compile
        pass


def _tell_outside(prefix: bytes, entries: "List[Entry]") -> "List[str]":
    """What the nodes go on reading from the shared file system."""
    told = []
    for name, seen in entries:
        if name.endswith(b".pth") and stat.S_ISREG(seen.st_mode) and seen.st_size < 1 << 20:
            lines = disk.read_bytes(os.path.join(prefix, name)).splitlines()
            outside = [line for line in lines if line.startswith(b"/") and not line.startswith(prefix + b"/")]
            told += ["{} is read where it lies ({})".format(disk.as_text(one), disk.as_text(name)) for one in outside]
        elif name.endswith(b".dist-info/direct_url.json"):
            told += _tell_editable(os.path.join(prefix, name), name)
    python = _find_python_elsewhere(prefix)
    if python is not None:
        told.append("Python itself is read from {}".format(disk.as_text(python)))
    return told[:_MOST_TOLD] + (["and {} more".format(len(told) - _MOST_TOLD)] if len(told) > _MOST_TOLD else [])


def _tell_editable(path: bytes, name: bytes) -> "List[str]":
    about = disk.read_json(path) or {}
    if not (about.get("dir_info") or {}).get("editable"):
        return []
    package = disk.as_text(os.path.basename(os.path.dirname(name))).split("-")[0]
    return ["{} is an editable install of {}: it is read there".format(package, about.get("url"))]


def _find_python_elsewhere(prefix: bytes) -> "Optional[bytes]":
    """None where it is in the environment, or belongs to the node's system."""
    python = os.path.realpath(os.path.join(prefix, b"bin/python"))
    is_inside = python.startswith(prefix + b"/")
    return None if is_inside or python.startswith((b"/usr/bin/", b"/bin/")) else os.path.dirname(python)
