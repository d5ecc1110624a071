"""What a training gets of a batch that lies whole in its slot, on the CPU: arrays of NumPy, or tensors of PyTorch.

They are the slot's memory itself, which is used again when nobody holds the batch any more. A training that keeps its
batches gets copies as soon as memory grows short.
"""

import collections
import weakref

from windlass_job.reading import libraries
from windlass_job.reading.slots import SKIPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Deque, List, Optional, Tuple

    from windlass_job.reading.slots import Slots


class CpuHanding:
    """dtype: of images, None for bytes as they are; mean and std: of each colour, as parts of 1."""

    slots_held = 3  # by the training at once, before it gets copies

    def __init__(self, as_torch: bool, dtype: "Optional[str]", mean: "Any", std: "Any", gpu: "Any" = None) -> None:
        self._torch = libraries.load("torch", "tensors") if as_torch else None
        self._numpy = libraries.load("numpy", "batches")
        self._dtype, self._mean, self._std, self._gpu = dtype, mean, std, gpu
        self._ready: "Deque[Tuple[Any, Any]]" = collections.deque()
        self._back: "List[int]" = []
        self._lent = 0
        self.submitted = 0

    def begin(self, slots: "Slots", recipe: "Any") -> None:
        self._slots, self._recipe = slots, recipe

    def has_room(self) -> bool:
        return not self._ready

    def take_back(self) -> "List[int]":
        """Slots that are free again."""
        return [self._back.pop() for _ in range(len(self._back))]

    def is_ready(self) -> bool:
        return bool(self._ready)

    def is_idle(self) -> bool:
        return True  # whoever asks for a batch has nothing else to do

    def restart(self, submitted: int) -> "List[int]":
        """Forget what was not taken. submitted: how many batches there were so far."""
        self.submitted = submitted
        self._ready.clear()
        return self.take_back()

    def submit(self, slot: int, rows: int, used: "Any", skipped: int) -> None:
        recipe, table = self._recipe, self._slots.rows(slot)[:rows]
        labels = table["label"].astype(self._numpy.float32 if self._slots.are_floats else self._numpy.int64)
        pixels = self._lend(slot, rows * recipe.sample_bytes)
        images = pixels.view(recipe.dtype).reshape((rows,) + tuple(recipe.shape))
        if skipped:
            keep = self._numpy.flatnonzero(table["state"] != SKIPPED)
            images, labels = images[keep], labels[keep]
        self._ready.append((images, labels))
        self.submitted += 1

    def take_problems(self) -> "List[str]":
        return []  # workers tell of them

    def take(self) -> "Any":
        images, labels = self._ready.popleft()
        is_picture = images.dtype == self._numpy.uint8 and images.ndim == 4
        if self._torch is None:
            return (self._normalise(images) if self._dtype and is_picture else images), labels
        torch = self._torch
        images, labels = (torch.from_numpy(one).to(self._gpu or "cpu") for one in (images, labels))
        if is_picture:
            images = images.permute(0, 3, 1, 2)  # the memory stays as it is: channels_last
        if self._dtype and is_picture:
            mean, std = (
                torch.tensor(one, device=images.device).view(1, 3, 1, 1) * 255 for one in (self._mean, self._std)
            )
            images = images.to(torch.float32).sub_(mean).div_(std).to(getattr(torch, self._dtype))
        return images, labels

    def end(self) -> None:
        self._ready.clear()

    def _normalise(self, images: "Any") -> "Any":
        numpy = self._numpy
        mean, std = (numpy.array(one, numpy.float32) * 255 for one in (self._mean, self._std))
        return ((images.astype(numpy.float32) - mean) / std).astype(self._dtype)

    def _lend(self, slot: int, size: int) -> "Any":
        pixels = self._slots.pixels(slot)[:size]
        if self._lent >= self.slots_held:
            self._back.append(slot)
            return pixels.copy()
        lent = self._numpy.frombuffer(memoryview(pixels), self._numpy.uint8)
        # Whatever is made of the array without a copy, tensors too, holds its base as long as it lives.
        weakref.finalize(lent.base, self._return, slot).atexit = False
        self._lent += 1
        return lent

    def _return(self, slot: int) -> None:
        self._lent -= 1
        self._back.append(slot)
