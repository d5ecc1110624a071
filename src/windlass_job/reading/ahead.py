"""One sample after another, with what comes next under way: by advice to the system, or read by threads."""

import collections
import itertools
import queue
import threading

from windlass_job.reading.order import follow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

    from windlass_job.reading.shards import Selection, Shards

BLOCK = 64  # samples that are read at once
WINDOW = 16  # blocks that the system is told ahead,
WINDOW_BYTES = 64 << 20  # unless they hold more: what is fetched too early may have to go before it is read


def iterate(source: "Union[Shards, Selection]", numbers: "Iterable[int]", threads: int = 0) -> "Iterator[bytes]":
    """An `Order` is told of each content when it is handed out, not when it is read."""
    source_numbers, hand_out = follow(numbers)
    contents = _iterate_read(source, source_numbers, threads) if threads > 0 else _iterate_told(source, source_numbers)
    for content in contents:
        hand_out()
        yield content


def _iterate_read(source: "Union[Shards, Selection]", numbers: "Iterator[int]", threads: int) -> "Iterator[bytes]":
    return iter_ahead(lambda block: [bytes(one) for one in source.read_many(block)], _cut(numbers), threads)


def _iterate_told(shards: "Union[Shards, Selection]", numbers: "Iterator[int]") -> "Iterator[bytes]":
    """The system is told of a window: the disk then has many reads in flight, and sorts them itself."""
    waiting: "Deque[Tuple[List[int], int]]" = collections.deque()
    told_bytes = 0
    for block in _cut(numbers):
        waiting.append((block, shards.advise(block)))
        told_bytes += waiting[-1][1]
        while len(waiting) > 1 and (len(waiting) > WINDOW or told_bytes > WINDOW_BYTES):
            first, size = waiting.popleft()
            told_bytes -= size
            for number in first:
                yield shards[number]
    for block, _ in waiting:
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
        except Exception as error:  # raised again where the sample is asked for
            self.error = error
        self.done.set()

    def take(self) -> "Sequence[Any]":
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.found


def _cut(numbers: "Iterator[int]") -> "Iterator[List[int]]":
    while True:
        block = list(itertools.islice(numbers, BLOCK))
        if not block:
            return
        yield block
