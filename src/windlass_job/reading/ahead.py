"""One sample after another, with what comes next under way: by advice to the system, or read by threads."""

import collections
import itertools
import queue
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Iterable, Iterator, List, Optional, Sequence

    from windlass_job.reading.shards import Shards

BLOCK = 64  # samples that are read at once
WINDOW = 8  # blocks that the system is told ahead


def iterate(shards: "Shards", numbers: "Iterable[int]", threads: int = 0) -> "Iterator[bytes]":
    if threads > 0:
        return iter_ahead(lambda block: [bytes(one) for one in shards.read_many(block)], _cut(numbers), threads)
    return _iterate_told(shards, numbers)


def _iterate_told(shards: "Shards", numbers: "Iterable[int]") -> "Iterator[bytes]":
    """The system is told of a window: the disk then has many reads in flight, and sorts them itself."""
    waiting: "Deque[List[int]]" = collections.deque()
    for block in _cut(numbers):
        shards.advise(block)
        waiting.append(block)
        if len(waiting) > WINDOW:
            for number in waiting.popleft():
                yield shards[number]
    for block in waiting:
        for number in block:
            yield shards[number]


def iter_ahead(
    work: "Callable[[Any], Sequence[Any]]", blocks: "Iterable[Any]", threads: int, depth: "Optional[int]" = None
) -> "Iterator[Any]":
    """What `work` makes of each block, in order, done in threads; an error of its comes where its result would.

    depth: blocks that are under way or wait to be taken.
    """
    source = iter(blocks)
    tasks: "queue.Queue[Optional[_Slot]]" = queue.Queue()
    slots: "Deque[_Slot]" = collections.deque()
    for _ in range(threads):
        threading.Thread(target=_run, args=(work, tasks), daemon=True).start()
    try:
        while True:
            for block in itertools.islice(source, (depth or 2 * threads) - len(slots)):
                slots.append(_Slot(block))
                tasks.put(slots[-1])
            if not slots:
                return
            for one in slots.popleft().take():
                yield one
    finally:
        for _ in range(threads):
            tasks.put(None)


def _run(work: "Callable[[Any], Sequence[Any]]", tasks: "queue.Queue[Optional[_Slot]]") -> None:
    while True:
        slot = tasks.get()
        if slot is None:
            return
        slot.run(work)


class _Slot:
    """One block on its way."""

    def __init__(self, block: "Any") -> None:
        self.block = block
        self.found: "Sequence[Any]" = ()
        self.error: "Optional[Exception]" = None
        self.done = threading.Event()

    def run(self, work: "Callable[[Any], Sequence[Any]]") -> None:
        try:
            self.found = work(self.block)
        except Exception as error:
            self.error = error
        self.done.set()

    def take(self) -> "Sequence[Any]":
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.found


def _cut(numbers: "Iterable[int]") -> "Iterator[List[int]]":
    source = iter(numbers)
    while True:
        block = list(itertools.islice(source, BLOCK))
        if not block:
            return
        yield block
