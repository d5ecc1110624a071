"""Which bytes of a job's log went to stderr, told without coming between the command and its log.

Both streams go into one file, so that they stay in order, but stderr by an opening of its own, and for each opening the
system keeps where its last write ended. Whenever the file has changed these two places are read: if one has moved, the
new bytes are its. If both have between two looks, only what was written last is known. What came by a third opening
(`echo >> /dev/stderr`) belongs to nobody, and so does all that was written while somebody else could write.

A line of streams/LOG: `@` and a byte, then the lengths of what was written from there on, each behind its letter: o for
stdout, e for stderr, m for both. A line with an earlier byte takes back what was told of that byte and all behind it.
"""

import fcntl
import os
import select
import stat
import struct
import threading
import time
from typing import Any, List, NamedTuple, Optional, Tuple

from windlass_job import wire
from windlass_job.bounded import within

_PAUSE_S = 0.01  # between two looks, where a command writes so often that each write cannot be looked at
_AT_ONCE = 200.0  # looks in a row, and ...
_EACH_S = 10.0  # ... in a second in the long run
_WRITE_S = 2.0  # how long what is known may wait to be written down
_POLL_S = 0.2  # where nobody tells when the file changes
_LAST_S = 2.0  # for the last words when the command has ended
_MOST_BYTES = 1 << 20  # of what is told
_MOST_PIECES = 10000  # that wait to be told
_IN_MODIFY, _IN_CLOSE_WRITE, _IN_CLOSE_NOWRITE, _IN_OPEN, _IN_OVERFLOW = 0x2, 0x8, 0x10, 0x20, 0x4000
_MANY = 1 << 30
_EVENT = struct.Struct("iIII")

Places = NamedTuple("Places", [("out", int), ("err", int)])  # where the last write of each stream ended
Piece = NamedTuple("Piece", [("kind", str), ("begin", int), ("end", int)])


class StreamWatch:
    """`stderr` is for the command. Nothing is watched before `begin`; later it never raises."""

    def __init__(self, path: bytes) -> None:
        """Of what our own stdout goes to. May raise OSError."""
        self.stderr = os.open(b"/proc/self/fd/1", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._teller = _Teller(path)
        self._looks = _Looks()
        self._before = self._load_places()
        self._known = os.fstat(1).st_size  # whatever is there before the command begins is nobody's
        self._teller.take_back(self._known)  # an earlier start may have told of it, and the log been emptied since
        self._is_over = self._is_silent = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def fall_silent(self) -> None:
        """The job is cancelled: what Slurm says of that goes to our stdout, and is none."""
        self._is_silent = True

    def end(self) -> None:
        """When the command has ended."""
        self._is_over = True
        self._looks.wake()
        self._thread.join(_LAST_S)

    def _work(self) -> None:
        try:
            while not self._is_over:
                self._looks.wait(self._teller.left_s)
                self._look()
            self._look(is_last=True)
        except (OSError, ValueError):
            pass  # the disk is full or gone: what is not known is shown as both

    def _look(self, is_last: bool = False) -> None:
        size = os.fstat(1).st_size  # before the places: what they end behind it came later
        now = self._load_places()
        self._looks.read_news()  # last: whoever wrote before those places were read had opened the log before
        if size < self._known:  # somebody emptied it
            self._teller.take_back(size)
            self._known = size
        found, self._known = split(self._before, now, self._known)
        self._known = max(self._known, size)  # what neither has written came by a third opening
        self._before = now
        if self._is_silent:
            self._teller.forget()
        elif not self._looks.was_written_to:
            self._teller.add(found)
        else:
            self._teller.forget_waiting()
        if self._looks.is_alone:
            self._teller.settle()
        self._teller.write(is_last=is_last)
        _append_again(self.stderr)

    def _load_places(self) -> Places:
        """Both of the same moment: neither may have moved while the other was read."""
        while True:
            out = os.lseek(1, 0, os.SEEK_CUR)
            err = os.lseek(self.stderr, 0, os.SEEK_CUR)
            if os.lseek(1, 0, os.SEEK_CUR) == out:
                return Places(out, err)


def watch_streams(folder: Optional[str]) -> Optional[StreamWatch]:
    """None where the log is not this run's, or no file to which both could be appended: nothing is changed then."""
    try:
        log = _find_log(folder) if folder is not None else None
        if folder is None or log is None:
            return None
        place = os.path.join(os.fsencode(folder), wire.STREAMS.encode())
        watch: StreamWatch = within(_LAST_S, _make_watch, place, os.path.basename(log))
        os.dup2(1, 2)  # what we say ourselves is told from what the command complains of
        watch.begin()
        return watch
    except (OSError, RuntimeError):
        return None


def _make_watch(place: bytes, name: bytes) -> StreamWatch:
    os.makedirs(place, mode=0o700, exist_ok=True)
    if os.path.islink(place):
        raise OSError("a link may lead anywhere")
    return StreamWatch(os.path.join(place, name))


def _find_log(folder: str) -> Optional[bytes]:
    out, err = os.fstat(1), os.fstat(2)
    is_one = stat.S_ISREG(out.st_mode) and (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)
    if not is_one or not fcntl.fcntl(1, fcntl.F_GETFL) & os.O_APPEND:
        return None
    log = os.readlink(b"/proc/self/fd/1")
    logs = os.path.join(folder, wire.LOGS)
    return log if os.path.exists(log) and os.path.samefile(os.path.dirname(log), logs) else None


def _append_again(stderr: int) -> None:
    """A program that sets flags of its output and forgets this one would write over what the other wrote."""
    for handle in (1, stderr):
        flags = fcntl.fcntl(handle, fcntl.F_GETFL)
        if not flags & os.O_APPEND:
            fcntl.fcntl(handle, fcntl.F_SETFL, flags | os.O_APPEND)


def split(before: Places, now: Places, known: int) -> "Tuple[List[Piece], int]":
    """What was written between two looks, and up to where it is known now. known: the same of the look before."""
    ends = [(now.out, wire.STDOUT)] if now.out != before.out else []
    ends += [(now.err, wire.STDERR)] if now.err != before.err else []
    is_both, ends = len(ends) > 1, sorted(end for end in ends if end[0] > known)
    pieces: List[Piece] = []
    for end, stream in ends:
        pieces.append(Piece(wire.BOTH if is_both and not pieces else stream, known, end))
        known = end
    return pieces, known


class _Teller:
    """Writes down whose is what, some of it at a time."""

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._file: Optional[int] = None
        self._pieces: List[Piece] = []  # to be written
        self._waiting: List[Piece] = []  # the same, unless who has the log open writes to it
        self._since: Optional[float] = None
        self._written = 0

    @property
    def left_s(self) -> Optional[float]:
        """Until something is to be written; None: there is nothing."""
        return None if self._since is None else max(0.0, self._since + _WRITE_S - time.monotonic())

    def take_back(self, begin: int) -> None:
        """What was told of this byte and all behind it."""
        self.forget()
        if os.path.lexists(self._path):
            self._write("\n@{}\n".format(begin).encode())

    def add(self, pieces: List[Piece]) -> None:
        for piece in pieces:
            add_piece(self._waiting, piece)
        del self._waiting[:-_MOST_PIECES]

    def forget(self) -> None:
        self._pieces, self._waiting, self._since = [], [], None

    def forget_waiting(self) -> None:
        self._waiting = []

    def settle(self) -> None:
        """Nobody else has the log open: what waited for that is certain."""
        for piece in self._waiting:
            add_piece(self._pieces, piece)
        self._waiting = []
        if self._pieces and self._since is None:
            self._since = time.monotonic()

    def write(self, *, is_last: bool) -> None:
        if self._pieces and (is_last or self.left_s == 0.0):
            content = format_pieces(self._pieces)
            self._pieces, self._since = [], None
            self._write(content)

    def _write(self, content: bytes) -> None:
        self._written += len(content)
        if self._written > _MOST_BYTES:
            raise OSError("too much is printed by turns")
        if self._file is None:
            self._file = _open_own(self._path)
        if os.write(self._file, content) < len(content):
            raise OSError("the disk is full")  # what would come behind half a line would be read wrongly


def _open_own(path: bytes) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or os.path.sameopenfile(handle, 1):
        os.close(handle)
        raise OSError("no file of ours")
    return handle


def add_piece(pieces: List[Piece], piece: Piece) -> None:
    """One that goes on is one piece."""
    last = pieces[-1] if pieces else None
    if last is not None and (last.kind, last.end) == (piece.kind, piece.begin):
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

    def __init__(self) -> None:
        self._news = _tell_changes()
        self._end, self._ender = os.pipe()
        self._left, self._at = _AT_ONCE, time.monotonic()
        self._others = 0  # who have the log open beside us and the command
        self._has_changed = False  # since it was waited for
        self.was_written_to = False  # by one of them, who has just closed it, or perhaps

    @property
    def is_alone(self) -> bool:
        return self._others == 0

    def wake(self) -> None:
        os.write(self._ender, b".")

    def wait(self, most_s: Optional[float]) -> None:
        self._spare()
        if self._news is None:
            most_s = min(_POLL_S, _POLL_S if most_s is None else most_s)
        sources = [one for one in (self._news, self._end) if one is not None]
        select.select(sources, [], [], 0.0 if self._has_changed else most_s)
        self.was_written_to = False
        self.read_news()
        self._has_changed = False

    def read_news(self) -> None:
        """Who has opened and closed the log. Where it has changed, too, the next look waits for nothing."""
        while self._news is not None:
            try:
                self._count(os.read(self._news, 65536))
            except BlockingIOError:
                return

    def _count(self, content: bytes) -> None:
        at = 0
        while at < len(content):
            _, mask, _, length = _EVENT.unpack_from(content, at)
            at += _EVENT.size + length
            if mask & _IN_MODIFY:
                self._has_changed = True
            if mask & _IN_OPEN:
                self._others += 1
            if mask & (_IN_CLOSE_WRITE | _IN_CLOSE_NOWRITE):
                self._others = max(0, self._others - 1)
            if mask & _IN_OVERFLOW:
                self._others = _MANY  # nobody can tell any more
            if mask & (_IN_CLOSE_WRITE | _IN_OVERFLOW):
                self.was_written_to = True

    def _spare(self) -> None:
        now = time.monotonic()
        self._left = min(_AT_ONCE, self._left + (now - self._at) * _EACH_S) - 1
        self._at = now
        if self._left < 0:
            time.sleep(_PAUSE_S)


def _tell_changes() -> Optional[int]:
    """Readable when the log was written to, opened or closed; None where the system cannot tell."""
    try:
        import ctypes

        library: Any = ctypes.CDLL(None, use_errno=True)
        handle = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        wanted = _IN_MODIFY | _IN_CLOSE_WRITE | _IN_CLOSE_NOWRITE | _IN_OPEN
        if handle < 0 or library.inotify_add_watch(handle, b"/proc/self/fd/1", wanted) < 0:
            return None
        return int(handle)
    except (ImportError, OSError, AttributeError):
        return None
