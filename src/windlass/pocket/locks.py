"""Locks that the kernel lets go when their holder dies, however it dies: a reboot counts too."""

import fcntl
import os
import time
from pathlib import Path


class Lock:
    """A file held by one process. Whoever only asks takes it shared, so two askers do not mistake
    each other for the holder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def take(self) -> bool:
        """Hold it until this process ends; False when another one has it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _lock(fd):
            os.close(fd)
            return False
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        self._fd = fd
        return True

    def let_go(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _lock(fd: int) -> bool:
    # One who only asks has the file for some microseconds: that is no reason to give up.
    for _ in range(20):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.01)
        else:
            return True
    return False


def holder(path: Path) -> int | None:
    """The process that holds the lock, None when nobody does."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(fd, 32, 0).decode("ascii", "ignore")
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)
    return None
