"""Batches for a training, made ahead of it by threads or processes, in order, into memory that is used again."""

import collections
import os
import time
import weakref

from windlass_job.bounded import say
from windlass_job.reading.crew import LOOK_S, Crew
from windlass_job.reading.slots import Slots
from windlass_job.reading.waiting import Waiting
from windlass_job.reading.worker import Kitchen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Deque, Dict, Iterator, List, Optional, Tuple

    from windlass_job.reading.order import Order

_MOST_TOLD = 10
_POLL_S = 0.002


class BatchFailed(RuntimeError):
    """A sample could not be read or decoded; says which."""


class Loader:
    """Iterate it once for each epoch. It ends its workers when it is closed, or no longer used."""

    def __init__(
        self,
        kitchen: Kitchen,
        batch_size: int,
        workers: int,
        processes: bool,
        prefetch: int,
        drop_last: bool,
        finish: "Any",
    ) -> None:
        """finish: makes of a slot what the training gets; see `handing.py`."""
        self.order: "Order" = kitchen.order
        self.batch_size = batch_size
        self.drop_last = drop_last
        if not self._count_batches(0):
            raise ValueError(
                "a batch of {} is more than the {} samples of a rank: take smaller ones, or drop_last=False".format(
                    batch_size, self.order.count_left(0)
                )
            )
        self.skipped = 0  # samples that were broken, so far
        self._chunk = max(1, min(32, -(-batch_size // workers)))
        kitchen.ahead = 2 * workers * self._chunk
        are_floats = kitchen.labels.are_floats
        self._slots = Slots(
            prefetch + finish.slots_held, batch_size, kitchen.recipe.sample_bytes, are_floats=are_floats
        )
        self._finish = finish
        finish.begin(self._slots, kitchen.recipe)
        self._free = list(range(self._slots.count))
        try:
            self._crew = Crew(kitchen, self._slots, workers, processes)
        finally:
            self._slots.close_handle()  # processes have it by inheritance
        self._pending: "Dict[int, _Batch]" = {}
        self._next_id = 0
        self._sent: "Deque[Tuple[int, int, int]]" = collections.deque()  # epoch, its start, number of the batch
        self._to_send = (0, 0, 0)
        self._yielded = 0
        self.waiting = Waiting(os.environ, time.perf_counter())
        self._ender = weakref.finalize(self, Crew.close, self._crew)

    def __len__(self) -> int:
        return self._count_batches(self.order.start)

    def __iter__(self) -> "Iterator[Any]":
        self.order.begin()
        self._yielded = 0
        first = (self.order.epoch, self.order.start, 0)
        if self._sent and self._sent[0] != first:
            self._drain()
        if not self._sent:
            self._to_send = first
        return self._iterate(len(self))

    @property
    def wait_share(self) -> float:
        """Which part of the training's time went into waiting for batches."""
        return self.waiting.share

    @property
    def epoch(self) -> int:
        """The one that is, or will be, iterated."""
        return self.order.epoch

    def set_epoch(self, epoch: int) -> None:
        if epoch != self.order.epoch:
            self._yielded = 0
        self.order.set_epoch(epoch)

    def state_dict(self) -> "Dict[str, Any]":
        """Where this epoch stands: for a checkpoint. The same on all ranks after the same number of batches."""
        if self._yielded >= self._count_batches(self.order.start, rank=0):  # the same question on all ranks
            return dict(self.order.state_dict(0), epoch=self.order.epoch + 1, start=0)
        return self.order.state_dict(self._yielded * self.batch_size)

    def load_state_dict(self, state: "Dict[str, Any]") -> None:
        """The next iteration goes on from there."""
        self.order.load_state_dict(state)
        self._yielded = 0

    def close(self) -> None:
        self.waiting.close()
        self._finish.end()
        self._ender()

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: "Any") -> None:
        self.close()

    def _iterate(self, total: int) -> "Iterator[Any]":
        for number in range(total):
            self._order_ahead()
            made, waited_s = self._hand_out()
            self._yielded = number + 1
            self.waiting.count(time.perf_counter(), waited_s, self._count_samples(self.order.start, number))
            yield made
        self.waiting.pause()
        if self._yielded == total:
            self.order.set_epoch(self.order.epoch + 1)
            self._yielded = 0

    def _order_ahead(self) -> None:
        """Tasks for as many batches as there is room for, into the next epoch: its first batch is then ready too."""
        self._free += self._finish.take_back()
        while self._free:
            epoch, start, number = self._to_send
            batch = _Batch(self._free.pop(), self._count_samples(start, number))
            self._pending[self._next_id] = batch
            for row in range(0, batch.rows, self._chunk):
                count = min(self._chunk, batch.rows - row)
                batch.left += 1
                at = number * self.batch_size + row
                self._crew.send(self._next_id, batch.slot, row, count, at, epoch, start)
            self._next_id += 1
            self._sent.append(self._to_send)
            is_last = number + 1 >= self._count_batches(start)
            self._to_send = (epoch + 1, 0, 0) if is_last else (epoch, start, number + 1)

    def _count_batches(self, start: int, rank: "Optional[int]" = None) -> int:
        samples = self.order.count_left(start, rank)
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)

    def _count_samples(self, start: int, number: int) -> int:
        return min(self.batch_size, self.order.count_left(start) - number * self.batch_size)

    def _hand_out(self) -> "Tuple[Any, float]":
        """Batches that are whole go to the finish early: a GPU copies them while it computes.

        And how long the training stood still for it, which on a GPU is less than its program waited.
        """
        since: "Optional[float]" = None
        self._collect(0)
        while True:
            while self._finish.has_room() and self._is_whole(self._finish.submitted):
                batch = self._pending[self._finish.submitted]
                if batch.error is not None:
                    break
                del self._pending[self._finish.submitted]
                self._finish.submit(batch.slot, batch.rows, batch.used, batch.skipped)
                for problem in self._finish.take_problems():
                    self._tell_left_out(1, problem)
            if self._finish.is_ready():
                self._sent.popleft()
                return self._finish.take(), 0.0 if since is None else time.perf_counter() - since
            self._raise_error(self._finish.submitted)
            if since is None and self._finish.is_idle():
                since = time.perf_counter()
            self._collect(_POLL_S if since is None else LOOK_S)

    def _raise_error(self, number: int) -> None:
        """In the order of the batches: those before it are handed out, always the same ones."""
        batch = self._pending.get(number)
        if batch is not None and batch.left == 0 and batch.error is not None:
            self._sent.appendleft((-1, 0, 0))  # whatever comes next begins anew
            raise BatchFailed(batch.error)

    def _is_whole(self, number: int) -> bool:
        batch = self._pending.get(number)
        return batch is not None and batch.left == 0

    def _collect(self, wait_s: float) -> None:
        for number, row, used, skipped, failed in self._crew.collect(wait_s):
            batch = self._pending[number]
            batch.left -= 1
            batch.used.append((row, used))
            if failed:
                batch.error = self._slots.read_text(batch.slot, row)
            if skipped:
                self._tell_skipped(batch, row, skipped)

    def _tell_skipped(self, batch: "_Batch", row: int, skipped: int) -> None:
        batch.skipped += skipped
        self._tell_left_out(skipped, self._slots.read_text(batch.slot, row))

    def _tell_left_out(self, count: int, problem: str) -> None:
        self.skipped += count
        if self.skipped <= _MOST_TOLD:
            say("left out: {}".format(problem))

    def _drain(self) -> None:
        """What an iteration that was left early has under way must end before its memory is used again."""
        while any(batch.left for batch in self._pending.values()):
            self._collect(LOOK_S)
        self._free += [batch.slot for batch in self._pending.values()]
        self._pending = {}
        self._sent.clear()
        self._free += self._finish.restart(self._next_id)


class _Batch:
    """One batch under way."""

    def __init__(self, slot: int, rows: int) -> None:
        self.slot = slot
        self.rows = rows
        self.left = 0  # tasks
        self.skipped = 0
        self.used: "List[Tuple[int, int]]" = []  # of each task: its first row, bytes of pixels
        self.error: "Optional[str]" = None
