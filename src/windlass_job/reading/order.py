"""In which order samples come: a full permutation, computed number by number, and which of it each rank takes.

A permutation of 0 .. count - 1 is a cipher on its positions: a Feistel network over the next power of two, applied
again while the outcome is not below count. It needs no memory, whatever the count, and follows from seed, epoch and
count alone. With NumPy thousands are computed at once, and are the same numbers.

Positions are dealt like cards: of those left, rank r of W takes each W-th from the r-th on. What all ranks have taken
is then always one stretch of positions, so that any other number of ranks can go on from its end.
"""

import hashlib
import os
import struct

from windlass_job.reading import libraries
from windlass_job.saving import world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Sequence

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
        self.taken = 0  # since then, by this rank
        self._is_resumed = False
        self._permutation: "Optional[Permutation]" = None
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

    def __iter__(self) -> "Iterator[int]":
        self.begin()
        return self._iterate(0, 1)

    def split(self, worker: int, workers: int) -> "Iterator[int]":
        """What one of several workers of this rank takes."""
        self.begin()
        return self._iterate(worker, workers)

    def set_epoch(self, epoch: int) -> None:
        """Another order; the one that was resumed goes on where it was."""
        if epoch != self.epoch:
            self.epoch, self.start, self.taken, self._is_resumed, self._permutation = epoch, 0, 0, False, None

    def begin(self) -> None:
        """From the start of the epoch, or from where it was resumed, once."""
        if not self._is_resumed:
            self.start = 0
        self._is_resumed = False
        self.taken = 0

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
        """Where this epoch stands, the same on all ranks. taken: samples of this rank that the training has used,
        where something between has asked for more, such as PyTorch's DataLoader."""
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
        self.epoch, self.start, self.taken = state["epoch"], state["start"], 0
        self._is_resumed, self._permutation = True, None

    def _iterate(self, first: int, step: int) -> "Iterator[int]":
        total, block = len(self), _BLOCK // step * step or step
        for begin in range(0, total, block):
            for at, number in enumerate(self.numbers(begin, min(begin + block, total))):
                if at % step == first:
                    self.taken = begin + at + 1
                    yield number
