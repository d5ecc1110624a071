"""Who sends into a data set: one at a time. A holder that is dead, or cut off, keeps nobody out.

The lock of the file system decides where it reaches; on another host's word it is not relied upon, because some shared
file systems keep locks within one host only. There the time of the lock's file tells whether its holder lives.
"""

import fcntl
import json
import os
import threading

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

NAME = b"lock"
_BEAT_S = 10.0
_DEAD_AFTER_S = 45.0


class Holding:
    """laptop: whose it is. One laptop keeps its own commands apart, so its earlier holder is known to be dead."""

    def __init__(self, folder: bytes, laptop: str, token: str) -> None:
        self._path = os.path.join(folder, NAME)
        self._token = token
        self._laptop = laptop
        self._handle: "Optional[int]" = None
        self._stop = threading.Event()

    def take(self) -> None:
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            if self._is_free(handle) and self._is_at(handle):
                break
            os.close(handle)
        content = {"token": self._token, "laptop": self._laptop, "host": os.uname()[1], "pid": os.getpid()}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(content).encode("ascii"), 0)
        self._handle = handle
        beat = threading.Thread(target=self._beat)
        beat.daemon = True
        beat.start()

    def let_go(self) -> None:
        self._stop.set()
        if self._handle is not None:
            if is_held_by(os.path.dirname(self._path), self._token):
                disk.remove_if_there(self._path)
            os.close(self._handle)
            self._handle = None

    def _is_free(self, handle: int) -> bool:
        """Refused when somebody lives there; False: look again."""
        holder = _read(handle)
        is_locked = not _lock(handle)
        if holder.get("laptop") == self._laptop:
            if is_locked:  # cut off from us, and not aware of it yet: it sees that its file is gone, and stops
                disk.remove_if_there(self._path)
            return not is_locked
        if is_locked or (holder.get("host", os.uname()[1]) != os.uname()[1] and self._is_fresh(handle)):
            raise disk.Refused(
                "busy", "somebody is sending into it at this moment, through {}".format(holder.get("host", "this host"))
            )
        return True

    def _is_fresh(self, handle: int) -> bool:
        """By the clock of the file system itself."""
        clock = self._path + b"." + disk.make_suffix()
        disk.write_new(clock, b"")
        now = os.stat(clock).st_mtime
        disk.remove_if_there(clock)
        return now - os.fstat(handle).st_mtime < _DEAD_AFTER_S

    def _is_at(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(handle))
        except FileNotFoundError:
            return False

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT_S):
            try:
                if self._handle is not None:
                    os.utime(self._handle)
            except OSError:
                return


def is_held_by(folder: bytes, token: str) -> bool:
    return (disk.read_json(os.path.join(folder, NAME)) or {}).get("token") == token


def _read(handle: int) -> "Dict[str, Any]":
    try:
        found = json.loads(os.pread(handle, 4096, 0).decode("utf-8"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _lock(handle: int) -> bool:
    """False when another process has it; a file system without locks gives it to everybody."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
