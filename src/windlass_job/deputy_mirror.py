"""The deputy's view of run folders for those who watch: what is new in their small files, of many runs at once.

Files that grow (logs, metrics, gauges, events) are read from the byte last read; those that are replaced are read whole
when their size or time has changed. Code, checkpoints and secrets are never read here.
"""

import fnmatch
import os
import stat
import zlib

from windlass_job import disk, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Tuple

    from windlass_job.deputy import Answer, Call

GROWING = (wire.LOGS, wire.STREAMS, wire.METRICS, wire.GAUGES)  # every file in these folders
_EVENTS = disk.as_path(wire.EVENTS)
_WHOLE = tuple(map(disk.as_path, (wire.STATUS, wire.PROGRESS, wire.RUN_JSON, wire.PLAN_JSON, wire.MANIFEST, wire.DIFF)))
_SCRIPTS = disk.as_path(wire.SCRIPT.format(number="*"))
_MOST_FILES = 2000  # in one folder
_MOST_WHOLE = 4 << 20
_HEAD = 64 << 10  # of a file whose middle is left out
_MARK = 256  # bytes before the end by which a file is known again


def read_new(call: "Call") -> "Answer":
    """runs: [{folder, known: {path: {...}}, most}]: what was told of each file the last time, handed back.

    most: of a log at once; where more is new, its end (and its beginning, the first time). only: of these folders.
    limit: of the whole answer; what does not fit comes with the next.
    """
    left = int(call.arguments.get("limit") or (8 << 20))
    runs, pieces = [], []
    for asked in call.arguments["runs"]:
        reader = _Reader(asked, left)
        runs.append(reader.read())
        pieces += reader.pieces
        left = reader.left
        call.beat()
    return {"runs": runs}, b"".join(pieces)


class _Reader:
    """One run folder."""

    def __init__(self, asked: "Dict[str, Any]", left: int) -> None:
        self._folder = disk.as_path(asked["folder"])
        self._known: Dict[str, Dict[str, Any]] = asked.get("known") or {}
        self._most = int(asked.get("most") or (1 << 20))
        self._only: List[str] = asked.get("only") or []
        self._files: List[Dict[str, Any]] = []
        self._is_cut = False
        self.pieces: List[bytes] = []
        self.left = left

    def read(self) -> "Dict[str, Any]":
        if not os.path.isdir(self._folder):
            return {"gone": True, "files": []}
        for path, is_growing in self._list():
            try:
                (self._read_growing if is_growing else self._read_whole)(path)
            except (OSError, disk.Refused):  # gone meanwhile, or no file of ours: the next time
                continue
        return {"gone": False, "files": self._files, "is_cut": self._is_cut}

    def _list(self) -> "Iterator[Tuple[bytes, bool]]":
        """What is small and decides first: a huge log must not keep the rest out of the answer."""
        names = [] if self._only else _list_names(self._folder)
        for name in names:
            if name in _WHOLE or fnmatch.fnmatchcase(name, _SCRIPTS):
                yield name, False
        if _EVENTS in names:
            yield _EVENTS, True
        for folder in reversed(GROWING):
            if self._only and folder not in self._only:
                continue
            for name in _list_names(os.path.join(self._folder, disk.as_path(folder))):
                yield os.path.join(disk.as_path(folder), name), True

    def _read_whole(self, path: bytes) -> None:
        with disk.open_regular(os.path.join(self._folder, path)) as file:
            found = os.fstat(file.fileno())
            known = self._known.get(disk.as_text(path)) or {}
            if (known.get("size"), known.get("mtime")) == (found.st_size, found.st_mtime):
                return
            if found.st_size > min(_MOST_WHOLE, self.left):
                self._is_cut = self._is_cut or found.st_size <= _MOST_WHOLE
                if found.st_size > _MOST_WHOLE:
                    self._tell(path, found, is_whole=True, is_left_out=True)
                return
            content = file.read(found.st_size + 1)
        self._tell(path, found, is_whole=True, pieces=[[0, self._give(content)]])

    def _read_growing(self, path: bytes) -> None:
        with disk.open_regular(os.path.join(self._folder, path)) as file:
            found = os.fstat(file.fileno())
            known = self._known.get(disk.as_text(path)) or {}
            end = int(known.get("end") or 0)
            if end and not _is_same(file, end, known.get("mark")):
                known, end = {}, 0
            if known and known.get("mtime") == found.st_mtime and end >= found.st_size:
                return
            chosen = self._choose(path, end, found.st_size)
            pieces = [[begin, self._give(_read_at(file, begin, count))] for begin, count in chosen if count > 0]
            end = max([end] + [begin + count for begin, count in pieces])
            mark = _make_mark(file, end)
        self._tell(path, found, is_anew=not known, pieces=pieces, end=end, mark=mark)

    def _choose(self, path: bytes, end: int, size: int) -> "List[Tuple[int, int]]":
        """Which bytes, as (begin, count): all that is new; of a log where that is too much its last part."""
        new = size - end
        is_log = path.startswith(disk.as_path(wire.LOGS + "/"))
        if not is_log or new <= self._most or self.left < self._most:
            self._is_cut = self._is_cut or new > self.left
            return [(end, min(new, self.left))]
        tail = (size - self._most, self._most)
        return [tail] if end else [(0, min(_HEAD, size - self._most)), tail]

    def _give(self, content: bytes) -> int:
        self.pieces.append(content)
        self.left -= len(content)
        return len(content)

    def _tell(self, path: bytes, found: "Any", **values: "Any") -> None:
        self._files.append(dict(values, path=disk.as_text(path), size=found.st_size, mtime=found.st_mtime))


def _list_names(folder: bytes) -> "List[bytes]":
    """Plain files, the first names of very many; a link may lead anywhere and is passed over."""
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    found = []
    for name in names:
        try:
            if stat.S_ISREG(os.lstat(os.path.join(folder, name)).st_mode) and not name.startswith(b"."):
                found.append(name)
        except OSError:
            continue
        if len(found) >= _MOST_FILES:
            break
    return found


def _read_at(file: "Any", begin: int, count: int) -> bytes:
    file.seek(begin)
    content: bytes = file.read(count)
    return content


def _is_same(file: "Any", end: int, mark: "Any") -> bool:
    """The file has grown since; False when it was written anew."""
    return os.fstat(file.fileno()).st_size >= end and _make_mark(file, end) == mark


def _make_mark(file: "Any", end: int) -> int:
    begin = max(0, end - _MARK)
    return zlib.crc32(_read_at(file, begin, end - begin)) & 0xFFFFFFFF
