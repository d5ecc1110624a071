"""Which bytes of a job's log went to stderr, told without coming between the command and its log.

Both streams go into one file, so that they stay in order, but stderr by an opening of its own, and for each opening the
system keeps where its last write ended. Whenever the file has changed these two places are read: if one has moved, the
new bytes are its. If both have between two looks, what was written last is known, and of the rest only how it ended.

A line of streams/LOG: `@` and a byte, then the lengths of what was written from there on, each behind its letter: o for
stdout, e for stderr; a capital where both may be meant, and that one wrote the end.
"""

import fcntl
import os
import select
import stat
import threading
import time
from typing import List, NamedTuple, Optional, Tuple

from windlass_job import wire
from windlass_job.bounded import Hangs, within

_PAUSE_S = 0.003  # between two looks, where a command writes so often that each write cannot be looked at
_AT_ONCE = 200.0  # looks in a row, and ...
_EACH_S = 50.0  # ... in a second in the long run
_WRITE_S = 2.0  # how long what is known may wait to be written down
_POLL_S = 0.2  # where nobody tells when the file changes
_LAST_S = 2.0  # for the last words when the command has ended
_MOST_BYTES = 4 << 20
_IN_MODIFY = 2

Places = NamedTuple("Places", [("out", int), ("err", int)])  # where the last write of each stream ended
Piece = NamedTuple("Piece", [("kind", str), ("begin", int), ("end", int)])


class StreamWatch:
    """`stderr` is for the command. Never raises."""

    def __init__(self, log: bytes, path: bytes) -> None:
        """log: what our own stdout goes to. May raise OSError."""
        self.stderr = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._path = path
        self._file: Optional[int] = None
        self._looks = _Looks(log)
        self._before = self._load_places()
        self._known = os.fstat(1).st_size  # whatever is there before the command begins is nobody's
        self._pieces: List[Piece] = []
        self._written = 0
        self._since: Optional[float] = None
        self._is_over = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """When the command has ended."""
        self._is_over = True
        self._looks.wake()
        self._thread.join(_LAST_S)

    def _work(self) -> None:
        try:
            while not self._is_over:
                self._looks.wait(None if self._since is None else max(0.0, self._since + _WRITE_S - time.monotonic()))
                self._look()
            self._look(is_last=True)
        except (OSError, ValueError):
            pass  # the disk is full or gone: what is not known is shown as both

    def _look(self, is_last: bool = False) -> None:
        now = self._load_places()
        found, self._known = split(self._before, now, self._known)
        self._before = now
        for piece in found:
            add_piece(self._pieces, piece)
        if self._pieces and self._since is None:
            self._since = time.monotonic()
        if self._pieces and (is_last or time.monotonic() >= (self._since or 0.0) + _WRITE_S):
            self._write(format_pieces(self._pieces))
            self._pieces, self._since = [], None

    def _load_places(self) -> Places:
        """Both of the same moment: neither may have moved while the other was read."""
        while True:
            out = os.lseek(1, 0, os.SEEK_CUR)
            err = os.lseek(self.stderr, 0, os.SEEK_CUR)
            if os.lseek(1, 0, os.SEEK_CUR) == out:
                return Places(out, err)

    def _write(self, content: bytes) -> None:
        self._written += len(content)
        if self._written > _MOST_BYTES:
            raise OSError("too much is printed by turns")
        if self._file is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.open(self._path, flags, 0o600)
        os.write(self._file, content)


def watch_streams(folder: Optional[str]) -> Optional[StreamWatch]:
    """None where the log is not this run's, or no file to which both could be appended: nothing is changed then."""
    try:
        log = _find_log(folder) if folder is not None else None
        if folder is None or log is None:
            return None
        place = os.path.join(os.fsencode(folder), wire.STREAMS.encode())
        return within(_LAST_S, _begin, place, log)  # type: ignore[no-any-return]
    except (OSError, Hangs):
        return None


def _begin(place: bytes, log: bytes) -> StreamWatch:
    os.makedirs(place, mode=0o700, exist_ok=True)
    streams = StreamWatch(b"/proc/self/fd/1", os.path.join(place, os.path.basename(log)))
    os.dup2(1, 2)  # what we say ourselves is told from what the command complains of
    return streams


def _find_log(folder: str) -> Optional[bytes]:
    out, err = os.fstat(1), os.fstat(2)
    is_one = stat.S_ISREG(out.st_mode) and (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)
    if not is_one or not fcntl.fcntl(1, fcntl.F_GETFL) & os.O_APPEND:
        return None
    log = os.readlink(b"/proc/self/fd/1")
    logs = os.path.join(folder, wire.LOGS)
    return log if os.path.exists(log) and os.path.samefile(os.path.dirname(log), logs) else None


def split(before: Places, now: Places, known: int) -> "Tuple[List[Piece], int]":
    """What was written between two looks, and up to where it is known now. known: the same of the look before."""
    ends = [(now.out, wire.STDOUT)] if now.out != before.out else []
    ends += [(now.err, wire.STDERR)] if now.err != before.err else []
    is_both, ends = len(ends) > 1, sorted(end for end in ends if end[0] > known)
    if not ends:
        return [], known if now == before else min(known, max(now))  # smaller: somebody emptied the file
    pieces: List[Piece] = []
    for end, stream in ends:
        kind = stream.upper() if is_both and not pieces else stream
        pieces.append(Piece(kind, known, end))
        known = end
    return pieces, known


def add_piece(pieces: List[Piece], piece: Piece) -> None:
    """One stream that goes on is one piece; of a mixed one the end matters."""
    last = pieces[-1] if pieces else None
    if last is not None and piece.kind.islower() and (last.kind, last.end) == (piece.kind, piece.begin):
        pieces[-1] = last._replace(end=piece.end)
    else:
        pieces.append(piece)


def format_pieces(pieces: List[Piece]) -> bytes:
    lines: List[str] = []
    end = -1
    for piece in pieces:
        if piece.begin != end:
            lines.append("@{}".format(piece.begin))
        lines[-1] += " {}{}".format(piece.kind, piece.end - piece.begin)
        end = piece.end
    return "".join(line + "\n" for line in lines).encode()


class _Looks:
    """When to look: whenever the file has changed, but not so often that it costs much."""

    def __init__(self, log: bytes) -> None:
        self._news = _tell_changes(log)
        self._end, self._ender = os.pipe()
        self._left, self._at = _AT_ONCE, time.monotonic()

    def wake(self) -> None:
        os.write(self._ender, b".")

    def wait(self, most_s: Optional[float]) -> None:
        self._spare()
        if self._news is None:
            most_s = min(_POLL_S, _POLL_S if most_s is None else most_s)
        sources = [one for one in (self._news, self._end) if one is not None]
        if self._news in select.select(sources, [], [], most_s)[0]:
            os.read(self._news or 0, 4096)

    def _spare(self) -> None:
        now = time.monotonic()
        self._left = min(_AT_ONCE, self._left + (now - self._at) * _EACH_S) - 1
        self._at = now
        if self._left < 0:
            time.sleep(_PAUSE_S)


def _tell_changes(log: bytes) -> Optional[int]:
    """Readable when the file was written to; None where the system cannot tell."""
    try:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        handle = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if handle < 0 or library.inotify_add_watch(handle, log, _IN_MODIFY) < 0:
            return None
        return int(handle)
    except (ImportError, OSError, AttributeError):
        return None
