"""Items read from the shared file system by this node itself: its own share of them, and what nobody brings it."""

import os
import threading
from typing import Callable, Dict, List, Optional

from windlass_job.bounded import describe
from windlass_job.staging.checking import Damaged, find_damage
from windlass_job.staging.items import FAILED, WAITING, Arrival, Full, Part, Stopped, Store

BLOCK = 4 << 20
READERS = 2


class Copier:
    """Threads that read what they are given, in order; `bytes_read` is what came from the shared file system."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: List[Arrival] = []
        self._left_behind: Dict[bytes, bytes] = {}
        self.bytes_read = 0
        self.bytes_adopted = 0

    def start(self) -> None:
        for _ in range(READERS):
            threading.Thread(target=self._work, daemon=True).start()

    def adopt_from(self, left_behind: Dict[bytes, bytes]) -> None:
        """Target -> a file of an earlier start of this run on this node, which may be as good."""
        self._left_behind = left_behind

    def add(self, arrivals: List[Arrival]) -> None:
        with self._store.news:
            self._queue.extend(arrivals)
            self._queue.sort(key=lambda one: (not one.item.is_awaited, one.item.number))
            self._store.news.notify_all()

    def _work(self) -> None:
        buffer = bytearray(BLOCK)
        try:
            while True:
                self._copy(self._take(), buffer)
        except Stopped:
            pass

    def _take(self) -> Arrival:
        with self._store.news:
            while not self._queue and not self._store.is_stopped:
                self._store.news.wait()
            if self._store.is_stopped:
                raise Stopped()
            return self._queue.pop(0)

    def _copy(self, arrival: Arrival, buffer: bytearray) -> None:
        if arrival.state != WAITING:
            return
        if self._store.is_full:
            arrival.give_up(FAILED, "this node is full")
            return
        try:
            for part in arrival.item.parts:
                if not self._adopt(arrival, part, buffer):
                    self._read(arrival, part, buffer)
        except Full as problem:
            self._store.is_full = True
            if arrival.state != FAILED:  # else another thread has met it first
                arrival.give_up(FAILED, "this node is full: {}".format(problem))
        except Damaged as problem:
            arrival.give_up(FAILED, "{} on the shared file system".format(problem))
        except OSError as error:
            arrival.give_up(FAILED, "{} cannot be read: {}".format(arrival.item.name, describe(error).lower()))

    def _read(self, arrival: Arrival, part: Part, buffer: bytearray) -> None:
        view = memoryview(buffer)
        with open(part.source, "rb", 0) as file:
            _announce(file.fileno())
            while True:
                count = file.readinto(view)
                if not count:
                    break
                with self._store.news:
                    self.bytes_read += count
                arrival.write(view[:count])
        arrival.end_part()

    def _adopt(self, arrival: Arrival, part: Part, buffer: bytearray) -> bool:
        old = self._left_behind.get(part.target)
        if old is None:
            return False
        try:
            size = os.stat(old).st_size
            if (part.size is not None and size != part.size) or find_damage(old, part.make_check(), buffer):
                return False
            arrival.adopt(old)
        except (OSError, Damaged):
            return False  # removed meanwhile, or on another disk
        self.bytes_adopted += size
        return True


def _announce(handle: int) -> None:
    advise: Optional[Callable[..., None]] = getattr(os, "posix_fadvise", None)
    if advise is not None:
        try:
            advise(handle, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        except OSError:
            pass  # it only would have been faster
