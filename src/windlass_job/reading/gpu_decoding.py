"""JPEGs decoded on the GPU, by torchvision: for nodes with few CPUs for each GPU, where a trial shows that it pays."""

import time

from windlass_job.reading import libraries
from windlass_job.reading.cropping import read_head
from windlass_job.reading.decoding import Broken, Decoding
from windlass_job.reading.gpu_handing import GpuHanding
from windlass_job.reading.recipe import Images, Place
from windlass_job.reading.slots import SKIPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

TRIAL = 64  # images
# What the GPU decodes with, the training lacks: it must be this much faster than all workers together.
WORTH = 2.0


class DecodingHanding(GpuHanding):
    """Takes coded pictures, and resizes from where the decoder has put them."""

    def __init__(self, source: "Any", skips: bool, *options: "Any") -> None:
        """source: of the samples. skips: those that are broken, which are told instead of raised."""
        GpuHanding.__init__(self, *options)
        self._source, self._skips = source, skips
        self._problems: "List[str]" = []

    def take_problems(self) -> "List[str]":
        found, self._problems = self._problems, []
        return found

    def begin(self, slots: "Any", recipe: "Any") -> None:
        GpuHanding.begin(self, slots, recipe)
        self._recipe = recipe
        self._numpy = libraries.load("numpy", "decoding")
        self._decode = load_decode()
        self._rescuer = Rescuer(self._source)

    def _prepare(self, slot: int, rows: int) -> int:
        table = self._slots.rows(slot)
        contents = {row: self._recipe.pictures[slot, row] for row in range(rows)}
        coded = {row: one for row, one in contents.items() if isinstance(one, memoryview)}
        numbers = {row: int(table[row]["number"]) for row in coded}
        pictures, problems = decode_good(self._decode_some, self._rescuer.decode, coded, numbers)
        if problems and not self._skips:
            raise Broken(next(iter(problems.values())))
        for row, problem in problems.items():
            table[row]["state"] = SKIPPED
            del self._recipe.pictures[slot, row]
            self._problems.append(problem)
        contents.update(pictures)
        held = [self._bring(contents[row]) for row in range(rows) if row not in problems]
        rows = self._leave_out(slot, rows) if problems else rows
        for row in range(rows):
            del self._recipe.pictures[slot, row]
        self._held = held  # until the next batch, which waits for this one's kernel
        for at, picture in enumerate(held):
            row = table[at]
            colour, line, pixel = picture.stride()
            row["where"] = picture.data_ptr() + int(row["row_step"]) * line + int(row["pixel_step"]) * pixel
            row["row_step"], row["pixel_step"], row["colour_step"] = line, pixel, colour
        return rows

    def _decode_some(self, contents: "List[memoryview]") -> "List[Any]":
        return list(self._decode(self._torch, self._numpy, contents, self._device))

    def _bring(self, picture: "Any") -> "Any":
        """One that the CPU decoded."""
        if not isinstance(picture, self._numpy.ndarray):
            return picture
        return self._torch.from_numpy(self._numpy.ascontiguousarray(picture)).to(self._device).permute(2, 0, 1)

    def _find_pixels(self) -> int:
        return 0  # rows hold addresses

    def _move(self, slot: int, good: "List[int]") -> None:
        pictures = [self._recipe.pictures.pop((slot, row)) for row in good]
        self._recipe.pictures.update(((slot, row), one) for row, one in enumerate(pictures))


class Rescuer:
    """Pictures that the GPU cannot decode: the CPU knows more kinds, and a damaged copy is read where it came from."""

    def __init__(self, source: "Any") -> None:
        self._source = source
        self._decoding: "Optional[Decoding]" = None

    def decode(self, content: memoryview, number: int) -> "Any":
        sound = memoryview(self._source.read(number, check=True))
        if self._decoding is None:
            self._decoding = Decoding()
        picture, head = self._decoding.decode_any(sound), read_head(content)
        if head is None or picture.shape[:2] != head[:2]:  # its part was chosen by that
            raise Broken("it is {} by {}, and says otherwise".format(*picture.shape[:2]))
        return picture


def decode_good(
    decode: "Callable[[List[memoryview]], List[Any]]",
    rescue: "Callable[[memoryview, int], Any]",
    contents: "Dict[int, memoryview]",
    numbers: "Dict[int, int]",
) -> "Tuple[Dict[int, Any], Dict[int, str]]":
    """By row: what was decoded, and what is wrong with the rest. All at once; where that fails one after the other."""
    if not contents:
        return {}, {}
    try:
        return dict(zip(contents, decode(list(contents.values())))), {}
    except RuntimeError:
        pass
    good, problems = {}, {}  # type: Dict[int, Any], Dict[int, str]
    for row, content in contents.items():
        try:
            good[row] = decode([content])[0]
        except RuntimeError as error:
            try:
                good[row] = rescue(content, numbers[row])
            except Exception:  # a decoder may raise anything
                problems[row] = "sample {} cannot be decoded on the GPU: {}".format(numbers[row], error)
    return good, problems


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
