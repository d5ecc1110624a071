"""The memory that batches are made in: one piece of it for each batch under way, the same for threads and processes.

A slot holds the pixels, then a row of numbers for each sample, then a line of text for each task that failed. Pixels
are either one array (every sample of one shape) or pictures of any size one after another, which the GPU resizes.
"""

import mmap
import os
import tempfile

from windlass_job.reading import libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple

# One row a sample. The kernel of `gpu_resizing` reads them as they lie here.
ROW = (
    ("label", "i8"),  # or f8
    ("where", "i8"),  # the first byte of the picture in the slot
    ("height", "i4"),
    ("width", "i4"),
    ("flip", "i4"),
    ("state", "i4"),
    ("row_step", "i4"),  # bytes from a line of the picture to the next, from pixel to pixel, from colour to colour
    ("pixel_step", "i4"),
    ("colour_step", "i4"),
    ("number", "i4"),  # of the sample, its last 31 bits
)
READY, SKIPPED = 1, 2
TEXT_BYTES = 1024
_PAGE = 4096


class Slots:
    """handle: of memory that processes share, made here unless it is given. are_floats: the labels."""

    def __init__(self, count: int, batch: int, sample_bytes: int, handle: int = -1, are_floats: bool = False) -> None:
        self._numpy = libraries.load("numpy", "making batches")
        self.count, self.batch, self.sample_bytes = count, batch, sample_bytes
        self.are_floats = are_floats
        self._rows = self._numpy.dtype([("label", "f8" if are_floats else "i8")] + list(ROW[1:]))
        self._rows_at = _round_up(batch * sample_bytes, _PAGE)
        self._texts_at = _round_up(self._rows_at + batch * self._rows.itemsize, _PAGE)
        self.slot_bytes = _round_up(self._texts_at + batch * TEXT_BYTES, _PAGE)
        self.handle = _make_memory(self.slot_bytes * count) if handle < 0 else handle
        self._map = mmap.mmap(self.handle, self.slot_bytes * count)
        self.memory = self._numpy.frombuffer(self._map, self._numpy.uint8)

    def pixels(self, slot: int) -> "Any":
        """All of a slot's pixels as bytes."""
        return self._piece(slot, 0, self.batch * self.sample_bytes)

    def rows(self, slot: int) -> "Any":
        return self._piece(slot, self._rows_at, self.batch * self._rows.itemsize).view(self._rows)

    def find_rows(self) -> "Tuple[int, int]":
        """Where a slot's rows lie in it, and how many bytes they are."""
        return self._rows_at, self.batch * self._rows.itemsize

    def write_text(self, slot: int, row: int, text: str) -> None:
        content = text.encode("utf-8", "replace")[: TEXT_BYTES - 2]
        piece = self._piece(slot, self._texts_at + row * TEXT_BYTES, TEXT_BYTES)
        piece[: len(content)] = self._numpy.frombuffer(content, self._numpy.uint8)
        piece[len(content)] = 0

    def read_text(self, slot: int, row: int) -> str:
        piece: bytes = self._piece(slot, self._texts_at + row * TEXT_BYTES, TEXT_BYTES).tobytes()
        return piece.split(b"\0", 1)[0].decode("utf-8", "replace")

    def close_handle(self) -> None:
        """Once all who share the memory have mapped it: it lives as long as it is mapped."""
        os.close(self.handle)
        self.handle = -1

    def _piece(self, slot: int, at: int, size: int) -> "Any":
        begin = slot * self.slot_bytes + at
        return self.memory[begin : begin + size]


def _make_memory(size: int) -> int:
    """Memory without a name, that processes reach by its handle."""
    make = getattr(os, "memfd_create", None)  # since Python 3.8; not bounded by the size of /dev/shm
    if make is not None:
        handle: "int" = make("windlass-batches")
    else:
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
        handle, path = tempfile.mkstemp(prefix="windlass-", dir=folder)
        os.unlink(path)
    try:
        os.ftruncate(handle, size)
        if make is None:
            os.posix_fallocate(handle, 0, size)  # now an error; later, when a page is touched, the end of the process
    except OSError:
        os.close(handle)
        raise
    return handle


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
