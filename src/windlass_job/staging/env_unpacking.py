"""A packed environment unpacked on this node and moved to where it now lies: only into its own, new folder.

The tar is read while it still arrives. Folders are made by us or not at all, and files only where nothing is: a name
that leads out, or through a link, is refused.
"""

import json
import os
import zlib
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Union

from windlass_job import disk
from windlass_job.relocating import TABLE, TEXT, VERSION, Found, replace_binary, replace_text
from windlass_job.shards.tarring import BLOCK, pad
from windlass_job.staging.items import FAILED, HERE, Arrival, Stopped, Store
from windlass_job.staging.places import remove_tree
from windlass_job.staging.window import UNPACKING

if TYPE_CHECKING:
    from io import FileIO

    from windlass_job.staging.laying import Laid

_PIECE = 1 << 20
_TIMES = 3
_FILE, _HARD_LINK, _LINK, _FOLDER, _PAX = b"0", b"1", b"2", b"5", b"x"

Fill = Callable[[memoryview], int]  # the next bytes into the view; how many; 0 at the end

Unpacked = NamedTuple(
    "Unpacked",
    [
        ("files", int),
        ("left_alone", int),  # strings in binaries that still name the shared folder: there was no room
    ],
)


class _BegunAnew(Exception):
    """What came was no good, and comes again."""


class Refused(OSError):
    """It is no environment that Windlass has packed, or not all of it."""


def unpack_environment(fill: Fill, target: bytes, heed: Callable[[], None]) -> Unpacked:
    """target: a folder that is not there yet. May raise OSError; `heed` may raise to end it."""
    os.mkdir(target, 0o700)
    taker, source = _Taker(target, heed), _Source(fill)
    for entry in _iterate(source):
        taker.take(entry, source)
        heed()
    return Unpacked(taker.files, taker.relocate())


def unpack_arriving(laid: "Laid", arrival: Arrival, target: bytes) -> "List[str]":
    """What is to be told. Until it is whole nobody looks into the target."""
    try:
        for _ in range(_TIMES):
            try:
                return _finish(laid, target, lambda heed: _unpack_once(laid.store, arrival, target, heed))
            except _BegunAnew:
                continue
        raise Refused("the packed environment did not come whole")
    finally:
        arrival.leave(UNPACKING)


def unpack_from_afar(laid: "Laid", one: "Dict[str, Any]", target: bytes) -> "List[str]":
    """On a node that has no others to hand it on to: without a copy of the tar."""
    with open(os.fsencode(one["source"]), "rb", 0) as file:
        summed = _Summed(file, laid.add_bytes)

        def work(heed: Callable[[], None]) -> Unpacked:
            try:
                done = unpack_environment(summed.fill, target, heed)
            except (OSError, ValueError):
                summed.check(int(one["bytes"]), int(one["crc32"]))  # it tells better what is wrong
                raise
            summed.check(int(one["bytes"]), int(one["crc32"]))
            return done

        return _finish(laid, target, work)


def _finish(laid: "Laid", target: bytes, work: "Callable[[Callable[[], None]], Unpacked]") -> "List[str]":
    """All of it, or nothing is left; what is to be told."""

    def heed() -> None:
        if laid.is_stopped_now():
            raise Stopped()

    try:
        done = work(heed)
    except BaseException:
        remove_tree(target)
        raise
    laid.environment_files = done.files
    words = "{} paths in programs still lead to the shared folder: there is no room for a longer one"
    return [words.format(done.left_alone)] if done.left_alone else []


class _Summed:
    """A file with the sum of what was read of it."""

    def __init__(self, file: "FileIO", add_bytes: Callable[[int], None]) -> None:
        self._file = file
        self._add_bytes = add_bytes
        self._size = self._sum = 0

    def fill(self, view: memoryview) -> int:
        count = self._file.readinto(view) or 0
        self._sum = zlib.crc32(view[:count], self._sum)
        self._size += count
        self._add_bytes(count)
        return count

    def check(self, size: int, crc: int) -> None:
        view = memoryview(bytearray(_PIECE))
        while self.fill(view):
            pass
        if (self._size, self._sum) != (size, crc):
            raise Refused("the packed environment is damaged on the shared file system")


def _unpack_once(store: Store, arrival: Arrival, target: bytes, heed: Callable[[], None]) -> Unpacked:
    arriving = _Arriving(store, arrival)
    try:
        done = unpack_environment(arriving.fill, target, heed)
    except (OSError, ValueError):
        arriving.wait_until_whole()  # its sum tells better what is wrong
        raise
    arriving.wait_until_whole()
    return done


class _Arriving:
    """What passes through this node, from its first byte on, while it comes in."""

    def __init__(self, store: Store, arrival: Arrival) -> None:
        self._store = store
        self._arrival = arrival
        self._writing = arrival.writing
        self._offset = 0

    def fill(self, view: memoryview) -> int:
        if not self._wait(lambda: self._arrival.count_ready(0) - self._offset):
            return 0
        found, writing = self._arrival.view(self._offset, len(view))
        if writing != self._writing:
            raise _BegunAnew()
        view[: len(found)] = found
        self._offset += len(found)
        self._arrival.let_go(UNPACKING, self._offset, writing)
        return len(found)

    def wait_until_whole(self) -> None:
        self._arrival.let_all_go(UNPACKING)
        self._wait(lambda: 0)

    def _wait(self, count: Callable[[], int]) -> int:
        """How many bytes can be read; 0 at the end. Raises where it was given up or begun anew."""
        with self._store.news:
            while True:
                if self._store.is_stopped:
                    raise Stopped()
                if self._arrival.writing != self._writing:
                    raise _BegunAnew()
                if self._arrival.state == FAILED:
                    raise OSError(self._arrival.problem)
                ready = count()
                if ready > 0 or self._arrival.state == HERE:
                    return ready
                self._store.news.wait()


_Entry = NamedTuple(
    "_Entry",
    [("name", bytes), ("kind", bytes), ("mode", int), ("size", int), ("mtime", int), ("link", bytes)],
)


class _Source:
    """The tar from its first byte to its last, in one buffer: new ones for every piece cost more than the writing."""

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        self._view = memoryview(bytearray(_PIECE))
        self._at = self._end = 0

    def iterate(self, size: int) -> "Iterator[memoryview]":
        """So many bytes; each view is good until the next is asked for."""
        while size:
            if self._at == self._end:
                self._at, self._end = 0, self._fill(self._view)
            if self._at == self._end:
                raise Refused("the packed environment is cut short")
            piece = self._view[self._at : min(self._end, self._at + size)]
            self._at += len(piece)
            size -= len(piece)
            yield piece

    def read(self, size: int) -> bytes:
        return b"".join(map(bytes, self.iterate(size)))


def _iterate(source: _Source) -> "Iterator[_Entry]":
    """Every entry; its content must be read before the next is asked for."""
    more: Dict[bytes, bytes] = {}
    while True:
        block = source.read(BLOCK)
        if not block.strip(b"\0"):
            return
        entry = _read_header(block)
        if entry.kind == _PAX:
            more = _read_records(source.read(entry.size + pad(entry.size))[: entry.size])
            continue
        yield entry._replace(
            name=more.get(b"path", entry.name),
            link=more.get(b"linkpath", entry.link),
            size=int(more.get(b"size", entry.size)),
            mtime=int(more.get(b"mtime", entry.mtime)),
        )
        more = {}


def _read_header(block: bytes) -> _Entry:
    try:
        checksum = int(block[148:156].rstrip(b"\0 "), 8)
        if checksum != sum(block) - sum(block[148:156]) + 8 * 32:
            raise ValueError
        prefix, name = block[345:500].rstrip(b"\0"), block[:100].rstrip(b"\0")
        mode, size, mtime = (int(block[a:b].rstrip(b"\0 "), 8) for a, b in ((100, 108), (124, 136), (136, 148)))
    except ValueError:
        raise Refused("the packed environment is damaged")
    full = prefix + b"/" + name if prefix else name
    return _Entry(full, block[156:157], mode, size, mtime, block[157:257].rstrip(b"\0"))


def _read_records(text: bytes) -> "Dict[bytes, bytes]":
    records = {}
    while text:
        size = int(text.split(b" ", 1)[0])
        key, _, value = text[:size].split(b" ", 1)[1].partition(b"=")
        records[key] = value[:-1]
        text = text[size:]
    return records


class _Taker:
    def __init__(self, target: bytes, heed: Callable[[], None]) -> None:
        self._target = target
        self._heed = heed
        self._folders: Set[bytes] = {b""}
        self._written: Set[bytes] = set()
        self._table: "Optional[Dict[str, Any]]" = None
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self.files = 0

    def take(self, entry: _Entry, source: _Source) -> None:
        path = os.path.join(self._target, self._check(entry.name))
        if entry.kind == _FILE:
            self._write(path, entry, source)
            self._written.add(entry.name)
        elif entry.kind == _FOLDER:
            os.mkdir(path, entry.mode & 0o777 | 0o700)
            self._folders.add(entry.name)
        elif entry.kind == _LINK:
            os.symlink(entry.link, path)
        elif entry.kind == _HARD_LINK and entry.link in self._written:
            os.link(os.path.join(self._target, entry.link), path)
        else:
            raise Refused("the packed environment holds something strange: {}".format(disk.as_text(entry.name)))
        self.files += 1

    def _check(self, name: bytes) -> bytes:
        """Its folder is one that was made here, so it is no link, and lies inside."""
        folder, _, base = name.rpartition(b"/")
        if folder not in self._folders or base in (b"", b".", b"..") or b"\0" in name or name.startswith(b"/"):
            raise Refused("the packed environment holds a name that leads elsewhere: {}".format(disk.as_text(name)))
        return name

    def _write(self, path: bytes, entry: _Entry, source: _Source) -> None:
        mode = entry.mode & 0o777 | 0o600
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            if entry.name == TABLE:
                content = source.read(entry.size)
                self._table = _read_table(content)
                _write_all(handle, content)
            else:
                for piece in source.iterate(entry.size):
                    _write_all(handle, piece)
                    self._heed()
            source.read(pad(entry.size))
            if mode & self._umask:
                os.fchmod(handle, mode)
            os.utime(handle, (entry.mtime, entry.mtime))  # bytecode is only good for a source of this time
        finally:
            os.close(handle)

    def relocate(self) -> int:
        """In place: other names of the same file are changed with it. How many strings had no room."""
        if self._table is None:
            raise Refused("the packed environment is cut short")
        prefixes = [disk.as_path(one) for one in self._table["prefixes"]]
        failed = 0
        for name, kind, room, spots in self._table["files"]:
            if disk.as_path(name) not in self._written:
                raise Refused("the packed environment tells of {}, which is none of its files".format(name))
            found = Found(kind, int(room), [(int(at), int(which)) for at, which in spots])
            failed += _rewrite(os.path.join(self._target, disk.as_path(name)), found, prefixes, self._target)
            self._heed()
        return failed


def _read_table(content: bytes) -> "Dict[str, Any]":
    try:
        table: "Dict[str, Any]" = json.loads(content.decode("ascii"))
    except ValueError:
        raise Refused("the packed environment is damaged")
    if table.get("version") != VERSION:
        raise Refused("the environment was packed by another version of Windlass")
    return table


def _write_all(handle: int, data: "Union[bytes, bytearray, memoryview]") -> None:
    view = memoryview(data)
    while len(view):
        view = view[os.write(handle, view) :]


def _rewrite(path: bytes, found: Found, prefixes: "List[bytes]", new: bytes) -> int:
    with open(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "r+b", 0) as file:
        seen = os.fstat(file.fileno())
        content = _read_whole(file, seen.st_size)
        failed = 0
        if found.kind == TEXT:
            content = bytearray(replace_text(bytes(content), found, prefixes, new))
        else:
            failed = replace_binary(content, found, prefixes, new)
        file.seek(0)
        _write_all(file.fileno(), content)
        file.truncate(len(content))
        os.utime(file.fileno(), ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return failed


def _read_whole(file: Any, size: int) -> bytearray:
    content = bytearray(size)
    view = memoryview(content)
    while len(view):
        count = file.readinto(view)
        if not count:
            raise Refused("the packed environment is damaged")
        view = view[count:]
    return content
