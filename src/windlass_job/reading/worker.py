"""Makes samples of batches: takes a task from a pipe, writes into the batch's slot, says so on another pipe.

The same in a thread and in a process of its own. Tasks and answers are of fixed size, so that any number of workers
can read one pipe: each read takes one whole.
"""

import os
import pickle
import select
import signal
import struct
import sys

from windlass_job.reading.cropping import Dice
from windlass_job.reading.recipe import Place
from windlass_job.reading.slots import READY, SKIPPED, Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Tuple

    from windlass_job.reading.labels import Labels

TASK = struct.Struct("<7q")  # batch, slot, first row, rows, which sample of this rank is the first, epoch, start
ANSWER = struct.Struct("<5q")  # batch, first row, bytes of pixels that were written, samples left out, 1: it failed
ALONE_S = 5.0
_IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")  # meant for the training, which ends us


class Kitchen:
    """All that a worker needs: what to make, of which samples, and the memory to make it in."""

    def __init__(self, source: "Any", order: "Any", recipe: "Any", labels: "Labels", skips: bool) -> None:
        self.source, self.order, self.recipe, self.labels, self.skips = source, order, recipe, labels, skips
        self.ahead = 0  # samples that all workers have under way at once


class Worker:
    def __init__(self, kitchen: Kitchen, slots: Slots) -> None:
        self._kitchen = kitchen
        self._slots = slots
        self._order = pickle.loads(pickle.dumps(kitchen.order))
        self._put_once: "Callable[[memoryview, Dice, Place], int]" = kitchen.recipe.make().put
        self._next = 0, 0  # samples of this rank that are told to the system
        seed = kitchen.order.seed
        self._seed = seed if isinstance(seed, int) else sum(os.fsencode(str(seed)))

    def serve(self, tasks: int, answers: int) -> None:
        while True:
            task = os.read(tasks, TASK.size)
            if len(task) < TASK.size:
                return
            os.write(answers, self.do(*TASK.unpack(task)))

    def do(self, batch: int, slot: int, row: int, count: int, first: int, epoch: int, start: int) -> bytes:
        """One task; never raises: what went wrong is left as text in the slot."""
        try:
            self._order.set_epoch(epoch)
            self._order.start = start
            self._next = first + self._kitchen.ahead, first + self._kitchen.ahead + count
            used, skipped = self._fill(slot, row, self._order.numbers(first, first + count))
            return ANSWER.pack(batch, row, used, skipped, 0)
        except Exception as error:  # a decoder may raise anything: told to the training
            self._slots.write_text(slot, row, "{}: {}".format(type(error).__name__, error))
            return ANSWER.pack(batch, row, 0, 0, 1)

    def _fill(self, slot: int, first_row: int, numbers: "List[int]") -> "Tuple[int, int]":
        """Bytes of pixels that were written, and how many samples were left out."""
        source, recipe = self._kitchen.source, self._kitchen.recipe
        contents = source.read_many(numbers)
        self._tell_ahead(source)
        rows, pixels = self._slots.rows(slot), self._slots.pixels(slot)
        begin = at = first_row * recipe.sample_bytes
        end = begin + len(numbers) * recipe.sample_bytes
        skipped = 0
        for row, (number, content) in enumerate(zip(numbers, contents), first_row):
            later = first_row + len(numbers) - row - 1
            place = Place(pixels, rows[row], at, end - later * recipe.least_bytes, (slot, row))
            try:
                at = self._put(content, number, place)
                place.row["state"], place.row["number"] = READY, number & 0x7FFFFFFF
                place.row["label"] = self._kitchen.labels.find(source, number)
            except Exception as error:  # as above
                problem = self._describe(number, error)
                if not self._kitchen.skips:
                    raise ValueError(problem)
                self._slots.write_text(slot, first_row, problem)
                place.row["state"] = SKIPPED
                at += 0 if recipe.keep_crops else recipe.sample_bytes
                skipped += 1
        return at - begin, skipped

    def _tell_ahead(self, source: "Any") -> None:
        """What will be asked for when all that is under way is done: the system fetches it meanwhile."""
        first, after = self._next
        if after <= len(self._order):
            source.advise(self._order.numbers(first, after))

    def _put(self, content: "memoryview", number: int, place: Place) -> int:
        epoch = self._order.epoch
        try:
            return self._put_once(content, Dice(self._seed, epoch, number), place)
        except Exception:  # a decoder has no common error
            # Is the content as it was packed? A damaged copy on the node is passed over for its origin.
            sound = self._kitchen.source.read(number, check=True)
            if sound == content:
                raise
            return self._put_once(memoryview(sound), Dice(self._seed, epoch, number), place)

    def _describe(self, number: int, error: Exception) -> str:
        try:
            name = self._kitchen.source.name(number)
        except Exception:  # the index itself may be what is damaged
            name = "?"
        return "sample {} ({}): {}: {}".format(number, name, type(error).__name__, error)


def main() -> None:
    """A process of its own: the handles of two pipes and the memory come as arguments, what to do on stdin."""
    for name in _IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    tasks, answers, memory, count, batch = (int(one) for one in sys.argv[1:6])
    kitchen = pickle.loads(sys.stdin.buffer.read())
    worker = Worker(kitchen, Slots(count, batch, kitchen.recipe.sample_bytes, memory, kitchen.labels.are_floats))
    parent = os.getppid()
    os.set_blocking(tasks, False)  # another worker may be quicker
    poll = select.poll()
    poll.register(tasks, select.POLLIN)
    while os.getppid() == parent:  # its end may be unseen otherwise: children of its own hold the pipe open
        if poll.poll(1000 * ALONE_S):
            try:
                worker.serve(tasks, answers)
                return
            except BlockingIOError:
                pass
