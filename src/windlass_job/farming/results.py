"""What calls returned or raised, in one file a worker, and where each is.

    pilots/WORKER.res    results, one after another
    pilots/WORKER.rix    for each: TASK ATTEMPT OFFSET BYTES

A result is written before its place, and that before the record of its task's end: who sees a place finds the bytes.
"""

import os
import time
from typing import Callable, List, Optional, Tuple

from windlass_job import disk, wire

_PIECE = 1 << 20
_PAUSE_S = 1.0
PATIENCE_S = 300.0  # for a disk that is full: somebody may make room


class Results:
    """Of one worker."""

    def __init__(self, stem: bytes, say: "Callable[[str], None]") -> None:
        self._stem, self._say = stem, say
        self._handles: "Optional[Tuple[int, int]]" = None
        self._ends = [0, 0]

    def add(self, found: "List[Tuple[int, int, bytes]]") -> None:
        """Of many calls at once: task, attempt, content."""
        at, lines = self._find_end(), []
        for task, attempt, content in found:
            lines.append(b"%d %d %d %d\n" % (task, attempt, at, len(content)))
            at += len(content)
        self._write(0, b"".join([content for _, _, content in found]))
        self._write(1, b"".join(lines))

    def copy(self, task: int, attempt: int, source: "Tuple[int, int, int]") -> None:
        """A large one, from an open file: its handle, the place and the bytes there."""
        handle, offset, size = source
        at, end = self._find_end(), offset + size
        while offset < end:
            piece = os.pread(handle, min(_PIECE, end - offset), offset)
            if not piece:
                raise OSError("a result is cut short")
            self._write(0, piece)
            offset += len(piece)
        self._write(1, b"%d %d %d %d\n" % (task, attempt, at, size))

    def flush(self) -> None:
        for handle in self._handles or ():
            os.fsync(handle)

    def close(self) -> None:
        for handle in self._handles or ():
            os.close(handle)

    def _find_end(self) -> int:
        if self._handles is None:
            names = (wire.FARM_RESULTS, wire.FARM_RESULTS_INDEX)
            opened = [_open(self._stem + name.encode()) for name in names]
            self._handles = (opened[0], opened[1])
            self._ends = [os.fstat(handle).st_size for handle in opened]
        return self._ends[0]

    def _write(self, which: int, content: bytes) -> None:
        """Raises OSError when the disk stays full."""
        assert self._handles is not None
        handle, deadline = self._handles[which], time.monotonic() + PATIENCE_S
        view = memoryview(content)
        while len(view):
            try:
                written = os.write(handle, view)
                self._ends[which] += written
                view = view[written:]
            except OSError as error:
                if error.errno not in disk.NO_SPACE or time.monotonic() > deadline:
                    raise
                self._say("what calls return cannot be kept: {}; no new ones are started".format(error.strerror))
                time.sleep(_PAUSE_S)


def _open(path: bytes) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
