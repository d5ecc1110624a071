"""What a training on a GPU gets of a batch: copied and finished on a stream of its own, beside the batch before."""

import collections
import weakref

from windlass_job.reading import gpu_resizing, libraries
from windlass_job.reading.slots import SKIPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, List, Tuple

    from windlass_job.reading.slots import Slots

DEPTH = 2  # batches on the GPU before they are asked for


class GpuHanding:
    slots_held = DEPTH

    def __init__(self, device: "Any", dtype: "Any", mean: "Any", std: "Any") -> None:
        self._torch = libraries.load("torch", "the GPU")
        self._device, self._dtype, self._mean, self._std = device, dtype or "uint8", mean, std
        self._kernel = gpu_resizing.get(device, self._dtype)
        self._stream = self._torch.cuda.Stream(device)
        self._ready: "Deque[Tuple[Any, Any, Any]]" = collections.deque()
        self._copying: "Deque[Tuple[int, Any]]" = collections.deque()
        self.submitted = 0

    def begin(self, slots: "Slots", recipe: "Any") -> None:
        torch = self._torch
        self._slots, self._size, self._sample_bytes = slots, recipe.size, recipe.sample_bytes
        self._memory = torch.from_numpy(slots.memory)
        with torch.cuda.device(self._device):
            self._unpin = _pin(torch, self._memory, slots, self._stream)
            self._buffer = torch.empty(slots.slot_bytes, dtype=torch.uint8, device=self._device)

    def has_room(self) -> bool:
        return len(self._ready) < DEPTH

    def take_back(self) -> "List[int]":
        """Slots whose bytes have arrived on the GPU."""
        back = []
        while self._copying and self._copying[0][1].query():
            back.append(self._copying.popleft()[0])
        if not back and len(self._copying) >= self._slots.count - 1:
            slot, copied = self._copying.popleft()
            copied.synchronize()
            back.append(slot)
        return back

    def is_ready(self) -> bool:
        return bool(self._ready)

    def is_idle(self) -> bool:
        """Whether the GPU has done all that the training gave it: until then nobody waits for data."""
        return bool(self._torch.cuda.current_stream(self._device).query())

    def restart(self, submitted: int) -> "List[int]":
        """Forget what was not taken. submitted: how many batches there were so far."""
        self._stream.synchronize()
        back = [slot for slot, _ in self._copying]
        self._copying.clear()
        self._ready.clear()
        self.submitted = submitted
        return back

    def submit(self, slot: int, rows: int, used: "Any", skipped: int) -> None:
        torch, stream = self._torch, self._stream
        begin = slot * self._slots.slot_bytes
        rows_at, rows_bytes = self._slots.find_rows()
        if skipped:
            rows = self._leave_out(slot, rows)
        with torch.cuda.device(self._device), torch.cuda.stream(stream):
            rows = self._prepare(slot, rows)
            # One buffer for all: on one stream the next copy waits for the kernel that reads the last.
            for row, size in used:
                at = row * self._sample_bytes
                self._buffer[at : at + size].copy_(self._memory[begin + at : begin + at + size], non_blocking=True)
            table = self._buffer[rows_at : rows_at + rows_bytes]
            table.copy_(self._memory[begin + rows_at : begin + rows_at + rows_bytes], non_blocking=True)
            copied = torch.cuda.Event()
            copied.record(stream)
            shape = (rows, self._size, self._size, 3)
            images = torch.empty(shape, dtype=getattr(torch, self._dtype), device=self._device).permute(0, 3, 1, 2)
            base = self._buffer.data_ptr()
            if rows:
                self._kernel.run(self._find_pixels(), base + rows_at, rows, images, self._mean, self._std)
            kind = torch.float64 if self._slots.are_floats else torch.int64
            labels = table.view(kind).view(self._slots.batch, -1)[:rows, 0].clone()
            if self._slots.are_floats:
                labels = labels.to(torch.float32)
            done = torch.cuda.Event()
            done.record(stream)
        self._copying.append((slot, copied))
        self._ready.append((images, labels, done))
        self.submitted += 1

    def take_problems(self) -> "List[str]":
        """What was left out here since this was last asked."""
        return []

    def _prepare(self, slot: int, rows: int) -> int:
        """Before the rows are copied; how many are left."""
        return rows

    def _find_pixels(self) -> int:
        """The address that rows count from."""
        return int(self._buffer.data_ptr())

    def take(self) -> "Any":
        images, labels, done = self._ready.popleft()
        current = self._torch.cuda.current_stream(self._device)
        current.wait_event(done)
        images.record_stream(current)
        labels.record_stream(current)
        return images, labels

    def end(self) -> None:
        self._ready.clear()
        self._stream.synchronize()
        self._unpin()

    def _leave_out(self, slot: int, rows: int) -> int:
        """The rows of samples that were broken go; how many are left."""
        table = self._slots.rows(slot)
        good = [row for row in range(rows) if table[row]["state"] != SKIPPED]
        table[: len(good)] = table[good]
        self._move(slot, good)
        return len(good)

    def _move(self, slot: int, good: "List[int]") -> None:
        """What belongs to rows moves with them."""


def _pin(torch: "Any", memory: "Any", slots: "Slots", stream: "Any") -> "Callable[[], object]":
    """Memory that the GPU copies from by itself; where that is refused copies are slower, and right all the same.

    It is given back by a call of what is returned, or when nobody uses the slots any more: memory of another loader
    may come to lie at the same address.
    """
    if int(torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), memory.numel(), 0)):
        _forget_error(torch)
        return lambda: None
    ender = weakref.finalize(slots, _unpin, torch, memory.data_ptr(), stream)
    ender.atexit = False
    return ender


def _unpin(torch: "Any", address: int, stream: "Any") -> None:
    stream.synchronize()
    if int(torch.cuda.cudart().cudaHostUnregister(address)):
        _forget_error(torch)


def _forget_error(torch: "Any") -> None:
    """CUDA tells its last error to whoever asks next; else that would be the training."""
    try:
        torch.zeros(1, device="cuda").add_(1)
    except RuntimeError:
        pass
