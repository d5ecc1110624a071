"""Results come as pieces of files; here they become whole again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from windlass_job.farming.records import Ended, read_ends

# What a call left: task, attempt, and the bytes, whose first letter says what they are. A tuple: there may be millions.
Left = tuple[int, int, bytes]


@dataclass
class Stream:
    """Of one worker: how far its files were read, and what of them waits for more."""

    read: list[int] = field(default_factory=lambda: [0, 0, 0])  # records, places, results
    _places: list[tuple[int, int, int, int]] = field(default_factory=list)
    _held: bytes = b""
    _held_at: int = 0

    def take(self, places: bytes, results: bytes) -> Iterator[Left]:
        """In the order in which they ended."""
        for line in places.splitlines():
            task, attempt, offset, size = map(int, line.split())
            self._places.append((task, attempt, offset, size))
        self._held += results
        end, done = self._held_at + len(self._held), 0
        for task, attempt, offset, size in self._places:
            if offset + size > end:
                break
            begin = offset - self._held_at
            done += 1
            yield task, attempt, self._held[begin : begin + size]
        self._forget(done)

    def _forget(self, done: int) -> None:
        if not done:
            return
        _, _, offset, size = self._places[done - 1]
        del self._places[:done]
        self._held = self._held[offset + size - self._held_at :]
        self._held_at = offset + size


@dataclass(frozen=True, kw_only=True)
class News:
    left: list[tuple[str, int, int, bytes]]  # by which worker, and then as in Left
    failed: list[tuple[str, Ended]]
    running: frozenset[int]
    is_more: bool


class Streams:
    """Of all workers of a farm."""

    def __init__(self) -> None:
        self._streams: dict[str, Stream] = {}

    @property
    def since(self) -> dict[str, list[int]]:
        return {name: stream.read for name, stream in self._streams.items()}

    def read(self, values: Mapping[str, Any], payload: bytes) -> News:
        left: list[tuple[str, int, int, bytes]] = []
        failed: list[tuple[str, Ended]] = []
        at = 0
        for told in values["workers"]:
            parts = []
            for size in told["bytes"]:
                parts.append(payload[at : at + size])
                at += size
            name, stream = told["name"], self._streams.setdefault(told["name"], Stream())
            left += [(name, *one) for one in stream.take(parts[1], parts[2])]
            failed += [(name, one) for one in read_ends(parts[0])]
            stream.read = told["to"]
        return News(
            left=left,
            failed=failed,
            running=frozenset(values["running"]),
            is_more=values["more"],
        )
