"""What tasks print: into a file without a name on the node, and from there into one file a worker.

    pilots/WORKER.out    pieces of output, of one task after another
    pilots/WORKER.idx    for each piece: TASK ATTEMPT OFFSET BYTES

A task writes into a file and not into a pipe: nobody has to read while it runs, and one that prints very much does not
hold up the others. Of that only so much is kept, and its end.
"""

import fcntl
import os
import signal
import tempfile
from typing import Callable, Iterable, Iterator, List, Optional

DEFAULT_LIMIT = 16 << 20
_TAIL = 64 << 10
_PIECE = 1 << 20
_FATAL = "Fatal Python error: "
_SIGNALS = "SIGILL SIGTRAP SIGBUS SIGFPE SIGKILL SIGSEGV SIGTERM SIGXCPU SIGXFSZ SIGSYS"  # SIGABRT: who aborts says why
_DEADLY = {128 + getattr(signal, name): name for name in _SIGNALS.split() if hasattr(signal, name)}
_HUGE = 64 << 20  # bytes on the node's disk, after which what was left out is removed there too


class Outputs:
    """Of one worker. What cannot be kept is told once and left out: tasks are worth more than what they print."""

    def __init__(self, stem: bytes, say: "Callable[[str], None]") -> None:
        self._stem, self._say = stem, say
        self._out: "Optional[int]" = None
        self._index: "Optional[int]" = None

    def add(self, task: int, attempt: int, pieces: "Iterable[bytes]") -> None:
        """For each of them a line of the index."""
        try:
            for piece in pieces:
                if self._out is None or self._index is None:
                    self._out, self._index = open_to_append(self._stem + b".out"), open_to_append(self._stem + b".idx")
                at = append(self._out, piece)
                append(self._index, b"%d %d %d %d\n" % (task, attempt, at, len(piece)))
        except OSError as error:
            self._say("some of what tasks print is not kept: {}".format(error.strerror))

    def flush(self) -> None:
        for handle in (self._out, self._index):
            if handle is not None:
                os.fsync(handle)

    def close(self) -> None:
        for handle in (self._out, self._index):
            if handle is not None:
                os.close(handle)


class Scratches:
    """Used again: to make one costs as much as a tenth of a task."""

    def __init__(self, folder: "Optional[str]", limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._spare: "List[Scratch]" = [Scratch(folder, limit)]  # so that a disk that cannot hold any is seen at once

    def take(self) -> "Scratch":
        return self._spare.pop() if self._spare else Scratch(self._folder, self._limit)

    def put(self, scratch: "Scratch", is_shared: bool) -> None:
        """is_shared: somebody may still write there. That is then of no task."""
        if is_shared:
            scratch.close()
        else:
            scratch.begin()
            self._spare.append(scratch)

    def close(self) -> None:
        for scratch in self._spare:
            scratch.close()


class Scratch:
    """Where a task writes to; a later one too."""

    def __init__(self, folder: "Optional[str]", limit: int) -> None:
        self.handle = open_unnamed(folder)
        self._limit, self._taken, self._left_out = limit, 0, 0
        self.begin()

    def begin(self) -> None:
        if self._taken or self._left_out:  # who printed may have changed this too
            fcntl.fcntl(self.handle, fcntl.F_SETFL, os.O_APPEND)
        self._taken = self._left_out = self._offset = 0
        self._tail = b""  # of what was left out
        self.last = b""  # the end of what was printed

    def has_more(self) -> bool:
        return self._left_out > 0 or os.fstat(self.handle).st_size > 0

    def is_huge(self) -> bool:
        return os.fstat(self.handle).st_size > _HUGE

    def collect(self, is_over: bool) -> "Iterator[bytes]":
        """What is new, in pieces; for a task that is over all of it."""
        size = os.fstat(self.handle).st_size
        if size < self._offset:
            self._offset = 0  # it was emptied, as by `> /dev/stderr`
        while self._offset < size and self._taken < self._limit:
            piece = os.pread(self.handle, min(_PIECE, size - self._offset, self._limit - self._taken), self._offset)
            if not piece:
                break
            self._offset += len(piece)
            self._taken += len(piece)
            self.last = (self.last + piece)[-_TAIL:]
            yield piece
        self._leave_out(size)
        if is_over and self._left_out:
            words = "\n[windlass: {} bytes were left out here; the last {} follow]\n"
            yield words.format(self._left_out - len(self._tail), len(self._tail)).encode("ascii")
            yield self._tail
        if is_over or (size > _HUGE and self._left_out):
            os.ftruncate(self.handle, 0)
            self._offset = 0

    def _leave_out(self, size: int) -> None:
        if size > self._offset:
            new = os.pread(self.handle, min(_TAIL, size - self._offset), max(self._offset, size - _TAIL))
            self._tail = self.last = (self._tail + new)[-_TAIL:]
            self._left_out += size - self._offset
            self._offset = size

    def close(self) -> None:
        os.close(self.handle)


def find_last_line(output: bytes) -> str:
    """That is not empty."""
    lines = output.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def find_reason(output: bytes, code: int) -> str:
    """The line that says why it ended: the last one; of one that a signal killed what Python said of that."""
    name = _DEADLY.get(code)
    if name is None:
        return find_last_line(output)
    lines = output.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in lines if line.startswith(_FATAL)), "killed by " + name)


def open_unnamed(folder: "Optional[str]", is_appended: bool = True) -> int:
    """Appended to: when a huge one is emptied, its writer goes on at the new end."""
    if not folder or not os.path.isdir(folder):
        folder = tempfile.gettempdir()
    path = os.path.join(folder, "windlass-task-" + os.urandom(8).hex())
    how = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(path, how | os.O_APPEND if is_appended else how, 0o600)
    os.unlink(path)
    return handle


def open_to_append(path: bytes) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


def append(handle: int, content: bytes) -> int:
    """Where it begins. All of it or nothing."""
    at = os.lseek(handle, 0, os.SEEK_END)
    view = memoryview(content)
    try:
        while len(view):
            view = view[os.write(handle, view) :]
    except OSError:
        os.ftruncate(handle, at)
        raise
    return at
