"""Files out of shards, or out of an archive, into a folder, and never out of that folder.

Each folder on the way is opened without following links, so a link that was laid into the target beforehand leads
nowhere. A file is written aside and renamed: after a break those that are there are whole, and are not written again.
"""

import errno
import fcntl
import fnmatch
import os
import re
import stat
import time
import zlib
from zlib import crc32

from windlass_job import disk
from windlass_job.shards import compressing
from windlass_job.shards.folder import FileDamaged, Folder
from windlass_job.shards.naming import make_stored_name
from windlass_job.shards.sources import choose_source
from windlass_job.shards.told import REFUSED_NAME, TOO_LONG, UNREADABLE, Told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, List, Optional, Set, Tuple, Union

    # name, size, mtime_ns, crc (None where it is not known), how to read it
    Item = Tuple[bytes, int, int, Optional[int], Callable[[], Iterator[memoryview]]]

    # or why a file cannot be read at all
    Found = Union[Item, FileDamaged]

DIFFERS = "files that are there already with other content, left as they are"
IN_THE_WAY = "names in whose way something else lies"
_PIECE = 4 << 20
_CLOCKS_DIFFER_S = 2.0  # those of this machine and of its file server
_ASIDE = b".part-"
_LEFT_ASIDE = re.compile(rb"\.part-[0-9a-f]{12}$")
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | getattr(os, "O_CLOEXEC", 0)


class ExtractFailed(Exception):
    """`is_full` when space ran out. What was written is whole."""

    def __init__(self, problem: str, is_full: bool = False) -> None:
        Exception.__init__(self, problem)
        self.is_full = is_full


class Extracted:
    def __init__(self) -> None:
        self.files = 0  # written now
        self.bytes = 0
        self.kept = 0  # that were there already, the same
        self.told = Told()
        self.damaged: "List[str]" = []


def extract(
    folder: bytes,
    target: bytes,
    patterns: "Tuple[bytes, ...]" = (),
    force: bool = False,
    progress: "Callable[[int, int], None]" = lambda *_: None,
    only_shards: "Optional[Tuple[int, ...]]" = None,
) -> Extracted:
    """All files of a data set, or those whose names match one of the patterns. progress: files and bytes so far."""
    with Folder(folder) as found:
        compressed = "compressed" in found.card.about
        items = _iterate_set(found, patterns, only_shards, compressed)
        return _write_all(items, target, force, progress)


def extract_archive(
    path: bytes,
    target: bytes,
    patterns: "Tuple[bytes, ...]" = (),
    force: bool = False,
    progress: "Callable[[int, int], None]" = lambda *_: None,
) -> Extracted:
    """A tar, compressed or not, or a zip of somebody else's."""
    source = choose_source(path)
    told = Told()
    batches = source.iterate_all(told)
    done = _write_all(_iterate_archive(source.open_reader(), batches, patterns), target, force, progress)
    done.told.join(told.counts, told.examples)
    return done


def _iterate_set(
    found: Folder, patterns: "Tuple[bytes, ...]", only_shards: "Optional[Tuple[int, ...]]", compressed: bool
) -> "Iterator[Found]":
    for entry in found.iterate():
        if only_shards is not None and entry.shard not in only_shards:
            continue
        name, size, crc = entry.name, entry.size, entry.crc
        if compressed and name.endswith(compressing.SUFFIX):
            try:
                name, content = compressing.restore(name, found.read(entry))
            except (FileDamaged, zlib.error) as error:
                if _matches(name, patterns) or _matches(name[: -len(compressing.SUFFIX)], patterns):
                    yield error if isinstance(error, FileDamaged) else FileDamaged(_tell_damage(found, entry, error))
                continue
            size, crc = len(content), crc32(content)
            pieces = _give(content)  # type: Callable[[], Iterator[memoryview]]
        else:
            pieces = _read_entry(found, entry)
        if _matches(name, patterns):
            yield name, size, entry.mtime_ns, crc, pieces


def _tell_damage(found: Folder, entry: "Any", error: Exception) -> str:
    return "{} in {} cannot be uncompressed: {}".format(
        disk.as_text(entry.name), found.card.shards[entry.shard].name, error
    )


def _give(content: bytes) -> "Callable[[], Iterator[memoryview]]":
    return lambda: iter([memoryview(content)])


def _read_entry(found: Folder, entry: "Any") -> "Callable[[], Iterator[memoryview]]":
    return lambda: found.iterate_pieces(entry, _PIECE)


def _iterate_archive(reader: "Any", batches: "Iterator[Any]", patterns: "Tuple[bytes, ...]") -> "Iterator[Item]":
    for batch in batches:
        for at, name in enumerate(batch.names):
            if _matches(name, patterns):
                pieces = _read_member(reader, name, batch.wheres[at])
                yield name, batch.sizes[at], batch.mtimes_ns[at], None, pieces


def _read_member(reader: "Any", name: bytes, where: "Any") -> "Callable[[], Iterator[memoryview]]":
    def iterate() -> "Iterator[memoryview]":
        member = reader.open_large(name, where)
        view = memoryview(bytearray(min(_PIECE, member.size + 1)))
        try:
            while True:
                count = member.readinto(view)
                if not count:
                    return
                yield view[:count]
        finally:
            member.close()

    return iterate


def _matches(name: bytes, patterns: "Tuple[bytes, ...]") -> bool:
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _write_all(
    items: "Iterator[Found]", target: bytes, force: bool, progress: "Callable[[int, int], None]"
) -> Extracted:
    disk.make_folders(target)
    done, place = Extracted(), _Place(target)
    try:
        for item in items:
            if isinstance(item, FileDamaged):
                done.damaged.append(str(item))
                continue
            try:
                _write_one(item, place, force, done)
            except FileDamaged as error:
                done.damaged.append(str(error))
            except OSError as error:
                if error.errno in disk.NO_SPACE or error.errno == errno.EFBIG:
                    raise ExtractFailed("no space is left in {}".format(disk.as_text(target)), is_full=True)
                done.told.add(_KINDS.get(error.errno or 0, UNREADABLE), item[0])
            progress(done.files + done.kept, done.bytes)
    finally:
        place.close()
    return done


_KINDS = {
    errno.ENAMETOOLONG: TOO_LONG,
    errno.ELOOP: IN_THE_WAY,
    errno.ENOTDIR: IN_THE_WAY,
    errno.EISDIR: IN_THE_WAY,
    errno.EEXIST: IN_THE_WAY,
    errno.ENOTEMPTY: IN_THE_WAY,
}


def _write_one(item: "Item", place: "_Place", force: bool, done: Extracted) -> None:
    name, size, mtime_ns, crc, iterate = item
    if make_stored_name(name) != name:
        done.told.add(REFUSED_NAME, name)
        return
    folder, _, base = name.rpartition(b"/")
    handle = place.enter(folder)
    state = _compare(handle, base, size, mtime_ns, crc, place.began_ns)
    if state == _SAME:
        done.kept += 1
        return
    if state == _OTHER and not force:
        done.told.add(DIFFERS, name)
        return
    _write_file(handle, base, mtime_ns, iterate)
    done.files += 1
    done.bytes += size


_SAME, _OTHER, _NONE = "same", "other", "none"


def _compare(folder: int, base: bytes, size: int, mtime_ns: int, crc: "Optional[int]", began_ns: int) -> str:
    """What is there under this name, beside what belongs there."""
    try:
        seen = os.stat(base, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return _NONE
    if not stat.S_ISREG(seen.st_mode) or seen.st_size != size:
        return _OTHER
    # Time and size are trusted but where there is no time, or where we have written it ourselves just now: some sets
    # have several files of one name.
    if seen.st_mtime_ns == mtime_ns and (crc is None or (mtime_ns and seen.st_ctime_ns < began_ns)):
        return _SAME
    return _SAME if crc is not None and _compute_crc(folder, base) == crc else _OTHER


def _compute_crc(folder: int, base: bytes) -> int:
    crc = 0
    handle = os.open(base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(handle, "rb", 0) as file:
        while True:
            piece = file.read(_PIECE)
            if not piece:
                return crc
            crc = crc32(piece, crc)


def _write_file(folder: int, base: bytes, mtime_ns: int, iterate: "Callable[[], Iterator[memoryview]]") -> None:
    aside = _ASIDE + disk.make_suffix()
    handle = os.open(aside, _NEW_FLAGS, 0o666, dir_fd=folder)
    try:
        try:
            for piece in iterate():
                while len(piece):
                    piece = piece[os.write(handle, piece) :]
            os.utime(handle, ns=(mtime_ns, mtime_ns))
        finally:
            os.close(handle)
        os.rename(aside, base, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:  # Ctrl-C too: nothing half stays
        os.unlink(aside, dir_fd=folder)
        raise


class _Place:
    """The folder that was entered last stays open: most files follow others of the same one."""

    def __init__(self, target: bytes) -> None:
        self._top = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
        self._stack = []  # type: List[Tuple[bytes, int]]
        self.began_ns = int((time.time() - _CLOCKS_DIFFER_S) * 10**9)
        self._is_alone = _lock(self._top)
        self._tidied: "Set[Tuple[bytes, ...]]" = set()
        self._tidy((), self._top)

    def enter(self, folder: bytes) -> int:
        parts = folder.split(b"/") if folder else []
        common = 0
        while common < min(len(parts), len(self._stack)) and self._stack[common][0] == parts[common]:
            common += 1
        while len(self._stack) > common:
            os.close(self._stack.pop()[1])
        for part in parts[common:]:
            above = self._stack[-1][1] if self._stack else self._top
            is_new = _make_folder(part, above)
            self._stack.append((part, os.open(part, _FOLDER_FLAGS, dir_fd=above)))
            if not is_new:
                self._tidy(tuple(one for one, _ in self._stack), self._stack[-1][1])
        return self._stack[-1][1] if self._stack else self._top

    def _tidy(self, folder: "Tuple[bytes, ...]", handle: int) -> None:
        """What was being written when an earlier extraction was killed; once a folder."""
        if not self._is_alone or folder in self._tidied:
            return
        self._tidied.add(folder)
        for name in os.listdir(handle):
            if _LEFT_ASIDE.match(os.fsencode(name)):
                try:
                    os.unlink(name, dir_fd=handle)
                except OSError:
                    pass  # somebody else's

    def close(self) -> None:
        for _, handle in self._stack:
            os.close(handle)
        os.close(self._top)


def _make_folder(name: bytes, above: int) -> bool:
    """False where it, or something else, was there."""
    try:
        os.mkdir(name, dir_fd=above)
    except FileExistsError:
        return False
    return True


def _lock(folder: int) -> bool:
    """Whether nobody else extracts into it: held until it is closed. Where there are no locks, nobody knows."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
