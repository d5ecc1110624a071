"""The open shards of one data set in one process, and where each is read: on the node, or still at its origin.

Staging puts the card and the indexes into the node's folder at once, with a file `origin` that names the shared
folder, and the shards as they arrive. A shard that is not there yet is read from the origin; once a second it is looked
for again. A handle keeps its number when it changes over (dup2), so readers need not know.
"""

import errno
import os
import threading
import time
import weakref

from windlass_job import disk
from windlass_job.bounded import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set

ORIGIN = "origin"
LOOK_S = 1.0
MOST_HANDLES = 65536


class Handles:
    """Shards are numbered as in the card. A handle that was given out stays open until `close`."""

    def __init__(self, folder: bytes, names: "List[str]", sizes: "List[int]") -> None:
        self._folder = folder
        self._names = names
        self._sizes = sizes
        self._origin = load_origin(folder)
        self._open: "Dict[int, int]" = {}
        self._away: "Set[int]" = set()  # read from the origin, and wanted from the node
        self._spoiled: "Set[int]" = set()  # what lies on the node is damaged
        self._lock = threading.RLock()
        self._looker: "Optional[threading.Thread]" = None
        weakref.finalize(self, _close_all, self._open).atexit = False

    def get(self, shard: int) -> int:
        """Opened when it is not yet. OSError when it is nowhere, or too many files are open."""
        with self._lock:
            if shard not in self._open:
                self._open[shard] = self._open_best(shard)
                self._watch()
            return self._open[shard]

    def name(self, shard: int) -> str:
        """Where it is read now, for people."""
        return disk.as_text(self._make_path(shard, self._is_away(shard)))

    def fall_back(self, shard: int) -> bool:
        """What lies on the node is no good: read the origin from now on. False when that is done already."""
        with self._lock:
            if self._origin is None or self._is_away(shard):
                return False
            try:
                fresh = self._open_at(shard, away=True)
            except OSError:
                return False
            say("{} is damaged: reading it from {}".format(self.name(shard), disk.as_text(self._origin)))
            self._spoiled.add(shard)
            if shard in self._open:
                _move_handle(fresh, self._open[shard])
            else:
                self._open[shard] = fresh
            return True

    def look_again(self) -> bool:
        """Change over to shards that have come to the node; False when there is nothing left to wait for."""
        for shard in list(self._away):
            try:
                fresh = self._open_at(shard, away=False)
            except OSError:
                continue
            with self._lock:
                if shard in self._open and shard in self._away:
                    _move_handle(fresh, self._open[shard])
                    self._away.discard(shard)
                else:
                    os.close(fresh)
        with self._lock:
            if not self._away:
                self._looker = None  # under the lock: whoever adds one now starts another thread
            return bool(self._away)

    def list_away(self) -> "List[int]":
        return sorted(self._away)

    def close(self) -> None:
        with self._lock:
            _close_all(self._open)
            self._away = set()

    def forget_after_fork(self) -> None:
        """The child opens its own: it has no thread that looks for arrivals, and perhaps a lock that nobody frees."""
        self._lock = threading.RLock()
        self._looker = None
        self.close()

    def _is_away(self, shard: int) -> bool:
        return shard in self._away or shard in self._spoiled

    def _make_path(self, shard: int, away: bool) -> bytes:
        folder = self._origin if away and self._origin is not None else self._folder
        return os.path.join(folder, os.fsencode(self._names[shard]))

    def _open_best(self, shard: int) -> int:
        self._away.discard(shard)
        if self._origin is None:
            return self._open_at(shard, away=False)
        if shard not in self._spoiled:
            try:
                return self._open_at(shard, away=False)
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    raise
        handle = self._open_at(shard, away=True)
        if shard not in self._spoiled:
            self._away.add(shard)
        return handle

    def _open_at(self, shard: int, away: bool) -> int:
        """Whole, or not at all: a copy that was cut short is as good as none."""
        path = self._make_path(shard, away)
        handle: int = with_enough_handles(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
        size = os.fstat(handle).st_size
        if size >= self._sizes[shard]:
            return handle
        os.close(handle)
        raise OSError(
            errno.EIO, "it has {} bytes, and {} were packed".format(size, self._sizes[shard]), os.fsdecode(path)
        )

    def _watch(self) -> None:
        if self._away and self._looker is None:
            self._looker = threading.Thread(target=_look, args=(weakref.ref(self),), daemon=True)
            try:
                self._looker.start()
            except RuntimeError:  # no more threads: the origin will do
                self._looker = None


def load_origin(folder: bytes) -> "Optional[bytes]":
    """The shared folder that this one is being copied from, or None."""
    try:
        found = disk.read_bytes(os.path.join(folder, os.fsencode(ORIGIN))).strip()
    except OSError:
        return None
    return found or None


def _look(handles: "weakref.ReferenceType[Handles]") -> None:
    """Holds no more than a weak reference: a data set that nobody uses any more goes."""
    while True:
        time.sleep(LOOK_S)
        found = handles()
        if found is None or not found.look_again():
            return
        del found


def _close_all(handles: "Dict[int, int]") -> None:
    while handles:
        os.close(handles.popitem()[1])


def _move_handle(fresh: int, handle: int) -> None:
    os.dup2(fresh, handle, inheritable=False)
    os.close(fresh)


def with_enough_handles(function: "Callable[..., Any]", *arguments: "Any") -> "Any":
    """What the function returns; when too many files are open, tried once more with as many as may be."""
    try:
        return function(*arguments)
    except OSError as error:
        if error.errno != errno.EMFILE or not _allow_more_handles():
            raise
    return function(*arguments)


def _allow_more_handles() -> bool:
    """Up to what the system allows this process anyway."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_HANDLES if hard == resource.RLIM_INFINITY else min(hard, MOST_HANDLES)
    if wanted <= soft:
        return False
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return False
    return True
