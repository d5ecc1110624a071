"""A worker's own records, written as things happen: what is in the system's hands outlives the worker."""

import os
import threading
import time
from typing import Callable, Optional

from windlass_job import disk

_PAUSE_S = 1.0
PATIENCE_S = 300.0  # for a disk that is full: somebody may make room


class Journal:
    def __init__(self, path: bytes, say: "Callable[[str], None]") -> None:
        """FileExistsError: another worker has this name."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._handle = os.open(path, flags, 0o644)
        self._size = 0
        self._lock = threading.Lock()
        self._say = say
        self._is_flushed = True

    def write(self, text: str, wait: "Callable[[], None]" = lambda: None) -> None:
        """Whole lines. Raises OSError when the disk stays full; `wait` is called while it is waited for."""
        content = text.encode("ascii")
        error = self._try(content)
        deadline = time.monotonic() + PATIENCE_S
        while error is not None:
            if error.errno not in disk.NO_SPACE or time.monotonic() > deadline:
                raise error
            self._say("what became of tasks cannot be recorded: {}; no new ones are started".format(error.strerror))
            wait()
            time.sleep(_PAUSE_S)
            error = self._try(content)

    def _try(self, content: bytes) -> "Optional[OSError]":
        with self._lock:
            try:
                written = os.write(self._handle, content)
            except OSError as error:
                return error
            if written == len(content):
                self._size += written
                self._is_flushed = False
                return None
            os.ftruncate(self._handle, self._size)  # half a line would spoil the next one
            return OSError(28, os.strerror(28))

    def flush(self) -> None:
        if not self._is_flushed:
            self._is_flushed = True
            try:
                os.fsync(self._handle)
            except OSError:
                self._is_flushed = False
                raise

    def close(self) -> None:
        os.close(self._handle)
