"""In which order samples come: a full permutation, computed number by number, and which of it each rank takes.

A permutation of 0 .. count - 1 is a cipher on its positions: a Feistel network over the next power of two, applied
again while the outcome is not below count. It needs no memory, whatever the count, and follows from seed, epoch and
count alone. With NumPy thousands are computed at once, and are the same numbers.

Positions are dealt like cards: of those left, rank r of W takes each W-th from the r-th on. What all ranks have taken
is then always one stretch of positions, so that any other number of ranks can go on from its end.

Where an epoch stands is what the training was handed. Who takes numbers ahead of it counts by `follow`.
"""

import hashlib
import os
import struct

from windlass_job.reading import libraries
from windlass_job.saving import world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

ROUNDS = 8
REMAINDERS = ("wrap", "drop", "keep")
_BLOCK = 1024  # numbers that are computed at once
_MASK = (1 << 64) - 1
_SPREAD, _MIX = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93  # odd and irregular: each bit of a product depends on many


class Permutation:
    def __init__(self, count: int, seed: "Any" = 0, epoch: int = 0) -> None:
        bits = max(2, (count - 1).bit_length())
        self.count = count
        self._low_bits = bits // 2
        self._low_mask = (1 << self._low_bits) - 1
        self._high_mask = (1 << (bits - self._low_bits)) - 1
        text = "windlass {} {} {}".format(seed, epoch, count).encode("utf-8", "surrogateescape")
        self._keys = struct.unpack("<8Q", hashlib.sha512(text).digest())

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> int:
        if not 0 <= position < self.count:
            raise IndexError(position)
        found = self._encipher(position)
        while found >= self.count:
            found = self._encipher(found)
        return found

    def take(self, positions: "Sequence[int]") -> "List[int]":
        """Of many positions, by NumPy where the training has it."""
        numpy = libraries.find_loaded("numpy")
        if numpy is None or len(positions) < 16:
            return [self[position] for position in positions]
        found = self._encipher_many(numpy, numpy.asarray(positions, dtype=numpy.uint64))
        outside = numpy.flatnonzero(found >= self.count)
        while len(outside):
            found[outside] = self._encipher_many(numpy, found[outside])
            outside = outside[found[outside] >= self.count]
        numbers: "List[int]" = found.tolist()
        return numbers

    def _encipher(self, value: int) -> int:
        low, high = value & self._low_mask, value >> self._low_bits
        for turn, key in enumerate(self._keys):
            mixed = ((low if turn % 2 == 0 else high) * _SPREAD + key) & _MASK
            mixed = ((mixed ^ (mixed >> 32)) * _MIX) & _MASK
            if turn % 2 == 0:
                high ^= (mixed >> 32) & self._high_mask
            else:
                low ^= (mixed >> 32) & self._low_mask
        return high << self._low_bits | low

    def _encipher_many(self, numpy: "Any", values: "Any") -> "Any":
        """`_encipher` again; NumPy's 64 bits overflow as the mask does there."""
        number = numpy.uint64
        half, low_bits = number(32), number(self._low_bits)
        low, high = values & number(self._low_mask), values >> low_bits
        for turn, key in enumerate(self._keys):
            mixed = (low if turn % 2 == 0 else high) * number(_SPREAD) + number(key)
            mixed = (mixed ^ (mixed >> half)) * number(_MIX)
            if turn % 2 == 0:
                high = high ^ ((mixed >> half) & number(self._high_mask))
            else:
                low = low ^ ((mixed >> half) & number(self._low_mask))
        return high << low_bits | low


class Order:
    """The numbers of the samples that one rank takes in an epoch; a sampler for PyTorch's DataLoader too.

    remainder: what becomes of samples that do not divide among the ranks. `wrap`: some are taken twice, so that all
    ranks have equally many; `drop`: the last are left out; `keep`: each exactly once, and some ranks have one more.
    """

    def __init__(
        self,
        count: int,
        seed: "Any" = 0,
        shuffle: bool = True,
        rank: "Optional[int]" = None,
        world_size: "Optional[int]" = None,
        remainder: str = "wrap",
    ) -> None:
        here, size = world.find_place(os.environ)
        self.count = count
        self.seed = seed
        self.shuffle = shuffle
        self.world_size = size if world_size is None else world_size
        self.rank = here if rank is None else rank
        self.remainder = remainder
        self.epoch = 0
        self.start = 0  # positions of this epoch that were taken, by all ranks, before it was resumed
        self._round: "Optional[_Round]" = None  # what was handed out since then, to this rank
        self._is_resumed = False
        self._permutation: "Optional[Permutation]" = None
        self._shared: "Any" = None
        if remainder not in REMAINDERS:
            raise ValueError("remainder is one of {}, not {!r}".format(", ".join(REMAINDERS), remainder))
        if not 0 <= self.rank < self.world_size:
            raise ValueError("there is no rank {} of {}".format(self.rank, self.world_size))

    def __len__(self) -> int:
        """How many this rank takes, from where the epoch was resumed."""
        return self.count_left(self.start)

    def count_left(self, start: int, rank: "Optional[int]" = None) -> int:
        """How many this rank, or another, takes of an epoch that is resumed there. None has more than rank 0."""
        left = self.count - start
        if self.remainder == "drop":
            return left // self.world_size
        first = (self.rank if rank is None else rank) if self.remainder == "keep" else 0
        return max(0, left - first + self.world_size - 1) // self.world_size

    def __iter__(self) -> "Numbers":
        return Numbers(self, self.begin(), 0)

    def split(self, worker: int, workers: int) -> "Numbers":
        """What one of several workers of this rank takes."""
        current = self._round
        if current is None or current.workers != workers or current.next[worker] is not None:
            current = self.begin(workers)
        return Numbers(self, current, worker)

    def set_epoch(self, epoch: int) -> None:
        """Another order; the one that was resumed goes on where it was."""
        self._go_to(epoch)
        self._tell_epoch()

    def _go_to(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch, self.start, self._round, self._is_resumed, self._permutation = epoch, 0, None, False, None

    @property
    def is_shared(self) -> bool:
        return self._shared is not None

    def share_epoch(self, shared: "Any") -> None:
        """shared: memory for a number, through which copies of this order in other processes hear of a new epoch."""
        self._shared = shared
        self._tell_epoch()

    def follow_epoch(self) -> None:
        """In such a copy, before an epoch."""
        if self._shared is not None:
            self._go_to(int(self._shared[0]))

    def _tell_epoch(self) -> None:
        if self._shared is not None:
            self._shared[0] = self.epoch

    def begin(self, workers: int = 1) -> "_Round":
        """From the start of the epoch, or from where it was resumed, once."""
        if not self._is_resumed:
            self.start = 0
        self._is_resumed = False
        self._round = _Round(len(self), workers)
        return self._round

    @property
    def taken(self) -> int:
        """How many samples this rank was handed since the epoch was begun or resumed."""
        return 0 if self._round is None else self._round.count()

    def numbers(self, first: int, after: int) -> "List[int]":
        """The samples that this rank takes as its first-th and following, from where the epoch was resumed."""
        step = self.world_size
        begin = self.start + self.rank
        positions: "Sequence[int]" = range(begin + first * step, begin + after * step, step)
        if positions and positions[-1] >= self.count:
            positions = [one % self.count for one in positions]
        if not self.shuffle:
            return list(positions)
        if self._permutation is None:
            self._permutation = Permutation(self.count, self.seed, self.epoch)
        return self._permutation.take(positions)

    def state_dict(self, taken: "Optional[int]" = None) -> "Dict[str, Any]":
        """Where this epoch stands, the same on all ranks: behind what the order, or `Shards.iterate` of it, has handed
        out. taken: samples of this rank that the training has used, where something else has asked for more, such as
        PyTorch's DataLoader."""
        used = self.taken if taken is None else taken
        start = self.start + used * self.world_size
        epoch = self.epoch
        if start + (self.world_size - 1 if self.remainder == "drop" else 0) >= self.count:
            epoch, start = epoch + 1, 0
        return {"seed": self.seed, "count": self.count, "shuffle": self.shuffle, "epoch": epoch, "start": start}

    def load_state_dict(self, state: "Dict[str, Any]") -> None:
        """Go on from there, with any number of ranks."""
        if state["count"] != self.count:
            raise ValueError(
                "this epoch began with {} samples, and there are {} now: begin a new one with set_epoch({})".format(
                    state["count"], self.count, state["epoch"] + 1
                )
            )
        self.seed, self.shuffle = state["seed"], state["shuffle"]
        self.epoch, self.start, self._round = state["epoch"], state["start"], None
        self._is_resumed, self._permutation = True, None
        self._tell_epoch()


class _Round:
    """How much of one iteration was handed out; its workers, if they are in one process, share it."""

    def __init__(self, total: int, workers: int) -> None:
        self.total, self.workers = total, workers
        self.next: "List[Optional[int]]" = [None] * workers  # that each is to hand out; None: it is not of this process

    def count(self) -> int:
        """Those before the first that is missing. Workers in other processes are taken to be as far as those here."""
        known = [one for one in self.next if one is not None]
        first = min(known) if known else 0
        if first >= self.total:
            return self.total
        return first if len(known) == self.workers else first // self.workers * self.workers


class Numbers:
    """The numbers of one iteration, or of one worker's part of it. A number that is taken counts as handed out."""

    def __init__(self, order: Order, current: _Round, worker: int) -> None:
        self.ahead = _iterate(order, current, worker)  # the same, not counted
        self._round, self._worker = current, worker
        self._next = current.next[worker] = worker

    def __iter__(self) -> "Iterator[int]":
        return self

    def __next__(self) -> int:
        number = next(self.ahead)
        self.hand_out()
        return number

    def hand_out(self) -> None:
        """The training gets the next one now."""
        self._next += self._round.workers
        self._round.next[self._worker] = self._next


def follow(numbers: "Iterable[int]") -> "Tuple[Iterator[int], Callable[[], None]]":
    """For who takes numbers ahead of the training: they, and what to call whenever a sample is handed out."""
    source = iter(numbers)
    return (source.ahead, source.hand_out) if isinstance(source, Numbers) else (source, _count_nothing)


def _count_nothing() -> None:
    """Numbers that come from no order have nobody to tell."""


def _iterate(order: Order, current: _Round, worker: int) -> "Iterator[int]":
    step = current.workers
    block = _BLOCK // step * step or step
    for begin in range(0, current.total, block):
        for number in order.numbers(begin, min(begin + block, current.total))[worker::step]:
            yield number
