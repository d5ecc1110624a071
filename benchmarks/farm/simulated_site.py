"""A clock, a file system and a roll of workers that are simulated: each operation takes its time, and is counted."""

import collections
import heapq
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

# Seconds an operation takes on a busy parallel file system, and how many requests to its metadata server it is.
COSTS = {
    "look": (0.001, 1),  # lookup, utime, unlink
    "read": (0.002, 2),  # open and close; the bytes come from elsewhere
    "list": (0.005, 2),
    "write": (0.004, 3),
    "publish": (0.012, 5),  # create, flush, link, unlink, flush of the folder
}


class Recorded(Protocol):
    """Whoever has records."""

    def read_history(self) -> Iterator[bytes]: ...


class Clock:
    """Threads, of which one runs at a time: whoever's time comes next."""

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, threading.Lock]] = []
        self._number = 0
        self._done = threading.Event()
        self.alive = 0

    def start(self, at: float, work: Callable[[], None]) -> None:
        lock = threading.Lock()
        lock.acquire()
        self._put(at, lock)
        self.alive += 1

        def run() -> None:
            lock.acquire()
            work()
            self.alive -= 1
            self._wake_next()

        threading.Thread(target=run, daemon=True).start()

    def sleep_until(self, at: float) -> None:
        if not self._queue or at < self._queue[0][0]:
            self.now = max(self.now, at)
            return
        lock = threading.Lock()
        lock.acquire()
        self._put(at, lock)
        self._wake_next()
        lock.acquire()

    def run(self) -> None:
        self._wake_next()
        self._done.wait()

    def _put(self, at: float, lock: threading.Lock) -> None:
        self._number += 1
        heapq.heappush(self._queue, (at, self._number, lock))

    def _wake_next(self) -> None:
        if not self._queue:
            self._done.set()
            return
        at, _, lock = heapq.heappop(self._queue)
        self.now = max(self.now, at)
        lock.release()


@dataclass
class Server:
    """The shared file system: counts what is asked of it, second by second."""

    clock: Clock
    requests: "collections.Counter[int]" = field(default_factory=collections.Counter)
    kinds: "collections.Counter[str]" = field(default_factory=collections.Counter)

    def take(self, kind: str) -> None:
        seconds, count = COSTS[kind]
        self.kinds[kind] += 1
        self.requests[int(self.clock.now)] += count
        self.clock.sleep_until(self.clock.now + seconds * random.uniform(0.5, 1.5))


@dataclass
class Store:
    server: Server
    entries: dict[int, bytes] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)  # when each was made

    def exists(self, number: int) -> bool:
        self.server.take("look")
        return number in self.entries

    def refresh(self, number: int) -> None:
        self.server.take("look")

    def read(self, number: int) -> bytes:
        self.server.take("read")
        return self.entries[number]

    def publish(self, number: int, content: bytes) -> bool:
        self.server.take("publish")
        if number in self.entries:
            self.server.take("look")
            return False
        self.entries[number] = content
        self.times[number] = self.server.clock.now
        return True

    def pause(self, seconds: float) -> None:
        self.server.clock.sleep_until(self.server.clock.now + seconds)


@dataclass
class Roll:
    server: Server
    beats: dict[str, int] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    histories: dict[str, Recorded] = field(default_factory=dict)

    def join(self, name: str, number: int) -> None:
        self.server.take("write")
        self.beats[name], self.joined[name] = 1, number

    def beat(self, name: str) -> bool:
        self.server.take("look")
        if name in self.beats:
            self.beats[name] += 1
        return name in self.beats

    def leave(self, name: str) -> None:
        self.server.take("look")
        self.server.take("look")
        self.beats.pop(name, None)
        self.wanted.discard(name)

    def want(self, name: str, is_wanting: bool) -> None:
        self.server.take("write" if is_wanting else "look")
        (self.wanted.add if is_wanting else self.wanted.discard)(name)

    def is_wanted(self) -> bool:
        self.server.take("list")
        return bool(self.wanted)

    def list_names(self) -> list[str]:
        self.server.take("list")
        return sorted(self.beats)

    def read_beat(self, name: str) -> int | None:
        self.server.take("read")
        return self.beats.get(name)

    def read_joined(self, name: str) -> int:
        self.server.take("read")
        return self.joined.get(name, 0)

    def read_records(self, name: str) -> Iterator[bytes]:
        self.server.take("read")
        yield from self.histories[name].read_history()
