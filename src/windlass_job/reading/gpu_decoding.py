"""JPEGs decoded on the GPU, by torchvision: for nodes with few CPUs for each GPU, where a trial shows that it pays."""

import time

from windlass_job.reading import libraries
from windlass_job.reading.cropping import read_head
from windlass_job.reading.decoding import Broken
from windlass_job.reading.gpu_handing import GpuHanding
from windlass_job.reading.recipe import Images, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional

TRIAL = 64  # images
# What the GPU decodes with, the training lacks: it must be this much faster than all workers together.
WORTH = 2.0


class DecodingHanding(GpuHanding):
    """Takes coded pictures, and resizes from where the decoder has put them."""

    def begin(self, slots: "Any", recipe: "Any") -> None:
        GpuHanding.begin(self, slots, recipe)
        self._recipe = recipe
        self._numpy = libraries.load("numpy", "decoding")
        self._decode = load_decode()

    def _prepare(self, slot: int, rows: int) -> None:
        torch = self._torch
        pictures = [self._recipe.pictures.pop((slot, row)) for row in range(rows)]
        coded = [at for at, one in enumerate(pictures) if isinstance(one, memoryview)]
        table = self._slots.rows(slot)
        decoded = self._decode_all([pictures[at] for at in coded], [int(table[at]["number"]) for at in coded])
        self._held = dict(zip(coded, decoded))  # until the next batch, which waits for this one's kernel
        for at, one in enumerate(pictures):
            if at not in self._held:
                self._held[at] = torch.from_numpy(one).to(self._device).permute(2, 0, 1)
            picture, row = self._held[at], table[at]
            colour, line, pixel = picture.stride()
            row["where"] = picture.data_ptr() + int(row["row_step"]) * line + int(row["pixel_step"]) * pixel
            row["row_step"], row["pixel_step"], row["colour_step"] = line, pixel, colour

    def _decode_all(self, contents: "List[memoryview]", numbers: "List[int]") -> "List[Any]":
        if not contents:
            return []
        try:
            return list(self._decode(self._torch, self._numpy, contents, self._device))
        except RuntimeError:
            self._name_broken(contents, numbers)
            raise

    def _name_broken(self, contents: "List[memoryview]", numbers: "List[int]") -> None:
        for number, content in zip(numbers, contents):
            try:
                self._decode(self._torch, self._numpy, [content], self._device)
            except RuntimeError as error:
                raise Broken("sample {} cannot be decoded on the GPU: {}".format(number, error))

    def _find_pixels(self) -> int:
        return 0  # rows hold addresses

    def _move(self, slot: int, good: "List[int]") -> None:
        pictures = [self._recipe.pictures.pop((slot, row)) for row in good]
        self._recipe.pictures.update(((slot, row), one) for row, one in enumerate(pictures))


def load_decode() -> "Any":
    io = libraries.load("torchvision.io", "decoding on the GPU")

    def decode(torch: "Any", numpy: "Any", contents: "List[memoryview]", device: "Any") -> "List[Any]":
        coded = [torch.from_numpy(numpy.array(numpy.frombuffer(one, numpy.uint8))) for one in contents]
        found: "List[Any]" = io.decode_jpeg(coded, mode=io.ImageReadMode.RGB, device=device)
        return found

    return decode


def is_faster(source: "Any", recipe: Images, workers: int, device: "Any") -> bool:
    """By a trial of both with the first images."""
    if libraries.find("torchvision.io") is None:
        return False
    contents = [
        one for one in source.read_many(range(min(TRIAL, len(source)))) if (read_head(one) or (0, 0, 0))[2] == 3
    ]
    if len(contents) < TRIAL // 2:
        return False
    by_gpu = _time_gpu(contents, device)
    return by_gpu is not None and by_gpu * WORTH < _time_cpu(contents, recipe) / workers


def _time_gpu(contents: "List[memoryview]", device: "Any") -> "Optional[float]":
    torch, numpy = libraries.load("torch", "a trial"), libraries.load("numpy", "a trial")
    try:
        decode = load_decode()
        for _ in range(2):  # the first one prepares
            began = time.perf_counter()
            decode(torch, numpy, contents, device)
            torch.cuda.synchronize(device)
        return time.perf_counter() - began
    except RuntimeError:  # a torchvision without it, or an image that it does not know
        return None


def _time_cpu(contents: "List[memoryview]", recipe: Images) -> float:
    from windlass_job.reading.cropping import Dice

    numpy = libraries.load("numpy", "a trial")
    maker, pixels = recipe.make(), numpy.empty(recipe.sample_bytes, numpy.uint8)
    maker.put(contents[0], Dice(0, 0, 0), Place(pixels, {}, 0, recipe.sample_bytes))
    began = time.perf_counter()
    for number, content in enumerate(contents):
        maker.put(content, Dice(0, 0, number), Place(pixels, {}, 0, recipe.sample_bytes))
    return time.perf_counter() - began
