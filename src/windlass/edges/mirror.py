"""Small files of runs as they were last seen at their sites: a cache under the state folder, for the user alone.

STATE/mirror/RUN_ID/index.json says which bytes of which file are here. A log that is too large has holes: a file here
has each byte at its place, and only what the index names counts.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from windlass.edges.files import explain, make_private_folder, save_file
from windlass.edges.run_lock import hold_run
from windlass.errors import UsageError
from windlass_job import wire

MOST_BYTES = 2 << 30  # of all runs together; the ones looked at longest ago go first
MOST_OF_A_LOG = 64 << 20
KEPT_OF_A_LOG = 16 << 20
_INDEX = "index.json"
_FOLDERS = (wire.LOGS, wire.STREAMS, wire.METRICS, wire.GAUGES)
_PLAIN = (wire.STATUS, wire.PROGRESS, wire.RUN_JSON, wire.PLAN_JSON, wire.MANIFEST, wire.DIFF, wire.EVENTS)
_SCRIPT = re.compile(re.escape(wire.SCRIPT).replace(r"\{number\}", r"[0-9]{1,6}"))
_RUN_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)

Span = tuple[int, int]  # from this byte, to that one


@dataclass(frozen=True, kw_only=True)
class Held:
    """What is here of one file."""

    size: int = 0  # at the site
    mtime: float = 0.0
    end: int = 0  # read up to here
    mark: int = 0  # by which the site knows it again
    spans: tuple[Span, ...] = ()  # of the bytes that are here, in order
    is_whole: bool = False  # replaced, never added to
    is_left_out: bool = False  # too large to be brought

    @property
    def here(self) -> int:
        return sum(end - begin for begin, end in self.spans)


@dataclass(frozen=True, kw_only=True)
class Index:
    files: Mapping[str, Held] = field(default_factory=dict)
    asked: float | None = None  # when the site was read last
    is_gone: bool = False  # the run folder was not there
    final_of: int | None = None  # read to the end when the run was over, after so many submissions
    problem: str | None = None


_read_index = msgspec.json.Decoder(Index).decode


class Mirror:
    """Any process may read; who writes holds the run's lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, run_id: str) -> Index:
        """Nothing, where nothing was brought or it cannot be read."""
        try:
            return _read_index((self._find(run_id) / _INDEX).read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return Index()

    def find_file(self, run_id: str, path: str) -> Path | None:
        """None for what has no business here."""
        return self._find(run_id) / path if is_ours(path) else None

    def read(self, run_id: str, path: str, *, most: int = 16 << 20) -> bytes:
        """The end of what is here of a file; nothing where it is not."""
        held = self.load(run_id).files.get(path)
        file = self.find_file(run_id, path)
        if held is None or file is None or not held.spans:
            return b""
        begin, end = held.spans[-1]
        begin = max(begin, end - most)
        try:
            with open(file, "rb") as opened:
                opened.seek(begin)
                return opened.read(end - begin)
        except OSError:
            return b""

    @contextlib.contextmanager
    def change(self, run_id: str, *, waits: bool = False) -> Iterator["Change"]:
        """HeldAlready where another process is bringing the same run's files, and nobody waits for it."""
        with hold_run(self.folder, run_id, waits=waits):
            change = Change(self._find(run_id), self.load(run_id))
            yield change
            change.save()

    def touch(self, run_id: str) -> None:
        """Somebody looks at it."""
        with contextlib.suppress(OSError):
            os.utime(self._find(run_id) / _INDEX)

    def forget(self, run_id: str) -> None:
        shutil.rmtree(self._find(run_id), ignore_errors=True)

    def shrink(self, *, most: int = MOST_BYTES, spared: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """Remove what was looked at longest ago until the rest fits. The runs whose copies went."""
        found = [(_count_time(one), one) for one in _list_folders(self.folder)]
        sizes = {one: _count_bytes(one) for _, one in found}
        total, removed = sum(sizes.values()), []
        for _, one in sorted(found, key=lambda pair: pair[0]):
            if total <= most:
                break
            if one.name not in spared:
                shutil.rmtree(one, ignore_errors=True)
                total -= sizes[one]
                removed.append(one.name)
        return tuple(removed)

    def _find(self, run_id: str) -> Path:
        if not _RUN_ID.fullmatch(run_id):
            raise UsageError(f"{run_id!r} is no name of a run")
        return self.folder / run_id


class Change:
    """What was read of a run, written down; the index follows the bytes, so that a kill in between loses nothing."""

    def __init__(self, folder: Path, index: Index) -> None:
        self._folder = folder
        self.index = index

    def take(self, told: Mapping[str, Any], content: bytes) -> None:
        """One file as the deputy tells it, and its pieces one after the other."""
        path = told["path"]
        if not is_ours(path):
            return
        if told.get("is_whole"):
            self._take_whole(path, told, content)
        else:
            self._take_pieces(path, told, content)

    def fill(self, path: str, begin: int, content: bytes, *, size: int) -> None:
        """Bytes of a hole that somebody wants to see. size: of the file now; a shorter one than before is another."""
        held = self.index.files.get(path)
        if held is not None and is_ours(path) and content and size >= held.size:
            self._write(path, [(begin, content)])
            spans = join([*held.spans, (begin, begin + len(content))])
            self._put(path, replace(held, size=size, spans=spans))

    def note(self, **values: Any) -> None:
        self.index = replace(self.index, **values)

    def save(self) -> None:
        make_private_folder(self._folder)
        save_file(self._folder / _INDEX, msgspec.json.encode(self.index), is_durable=False)

    def _take_whole(self, path: str, told: Mapping[str, Any], content: bytes) -> None:
        spans: tuple[Span, ...] = ()
        if not told.get("is_left_out"):
            make_private_folder((self._folder / path).parent)
            save_file(self._folder / path, content, is_durable=False)
            spans = ((0, len(content)),) if content else ()
        left_out = bool(told.get("is_left_out"))
        held = Held(size=told["size"], mtime=told["mtime"], spans=spans, is_whole=True, is_left_out=left_out)
        self._put(path, held)

    def _take_pieces(self, path: str, told: Mapping[str, Any], content: bytes) -> None:
        before = Held() if told.get("is_anew") else self.index.files.get(path, Held())
        pieces, at = [], 0
        for begin, count in told["pieces"]:
            pieces.append((begin, content[at : at + count]))
            at += count
        if told.get("is_anew"):
            with contextlib.suppress(FileNotFoundError):
                (self._folder / path).unlink()
        self._write(path, pieces)
        spans = join([*before.spans, *((begin, begin + len(piece)) for begin, piece in pieces)])
        if sum(end - begin for begin, end in spans) > MOST_OF_A_LOG and path.startswith(f"{wire.LOGS}/"):
            spans = self._keep_end(path, spans)
        held = Held(size=told["size"], mtime=told["mtime"], end=told["end"], mark=told["mark"], spans=spans)
        self._put(path, held)

    def _keep_end(self, path: str, spans: Sequence[Span]) -> tuple[Span, ...]:
        """A log without end fills the disk of the laptop: its last part is kept, the rest can be asked for again."""
        file, end = self._folder / path, spans[-1][1]
        begin = max(spans[-1][0], end - KEPT_OF_A_LOG)
        with open(file, "rb") as opened:
            opened.seek(begin)
            content = opened.read(end - begin)
        file.unlink()  # who has it open goes on reading the old one
        self._write(path, [(begin, content)])
        return ((begin, end),)

    def _write(self, path: str, pieces: Sequence[tuple[int, bytes]]) -> None:
        file = self._folder / path
        make_private_folder(file.parent)
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                for begin, piece in pieces:
                    _write_all(handle, piece, begin)
            finally:
                os.close(handle)
        except OSError as problem:
            raise explain(problem, file) from problem

    def _put(self, path: str, held: Held) -> None:
        self.index = replace(self.index, files={**self.index.files, path: held})


def is_ours(path: str) -> bool:
    """A name that the deputy may tell: what comes from elsewhere must not name a place of its own."""
    folder, slash, name = path.rpartition("/")
    if not slash:
        return path in _PLAIN or _SCRIPT.fullmatch(path) is not None
    return folder in _FOLDERS and not name.startswith(".") and "\0" not in name and 0 < _count_letters(name) <= 200


def _count_letters(name: str) -> int:
    """In bytes; none where it is no text: such a file is not brought."""
    try:
        return len(name.encode())
    except UnicodeEncodeError:
        return 0


def join(spans: Sequence[Span]) -> tuple[Span, ...]:
    """In order, and those that touch as one."""
    joined: list[Span] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return tuple(joined)


def _write_all(handle: int, content: bytes, at: int) -> None:
    view = memoryview(content)
    while view:
        written = os.pwrite(handle, view, at)
        view, at = view[written:], at + written


def _list_folders(folder: Path) -> list[Path]:
    try:
        return [one for one in folder.iterdir() if one.is_dir()]
    except OSError:
        return []


def _count_time(folder: Path) -> float:
    try:
        return (folder / _INDEX).stat().st_mtime
    except OSError:
        return 0.0


def _count_bytes(folder: Path) -> int:
    """As they lie on the disk: holes take no room."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
