"""What is to be made of each sample, for whoever makes it: a thread, or a process that gets it pickled."""

import os

from windlass_job.reading import cropping, decoding, libraries, resizing
from windlass_job.reading.cropping import Dice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple, Union


class Images:
    """Decoded, cut and brought to one size: `size` by `size` pixels of three bytes.

    keep_crops: leave the cut pictures in their own sizes, for the GPU to resize.
    """

    dtype = "uint8"

    def __init__(self, size: int, crop: str, flip: bool, decoder: "Optional[str]", keep_crops: bool = False) -> None:
        if crop not in cropping.CROPS:
            raise ValueError("crop is one of {}, not {!r}".format(", ".join(sorted(cropping.CROPS)), crop))
        self.size, self.crop, self.flip, self.keep_crops = size, crop, flip, keep_crops
        self.decoder = decoding.choose(decoder).name
        self.shape = (size, size, 3)
        # Room for the usual crop; a larger one is resized where it was decoded.
        self.least_bytes = 3 * size * size
        self.sample_bytes = 3 * (size * 7 // 4) ** 2 if keep_crops else self.least_bytes

    def make(self) -> "Picture":
        return Picture(self)


class Picture:
    """One thread's way from content to pixels."""

    def __init__(self, recipe: Images) -> None:
        self._recipe = recipe
        self._crop = cropping.CROPS[recipe.crop]
        self._decoding = decoding.Decoding(recipe.decoder)
        self._plain = self._decoding.plain
        self._resize: "Optional[Callable[[Any, Any], None]]" = None
        self._numpy = libraries.load("numpy", "decoding")

    def put(self, content: "memoryview", dice: Dice, place: "Place") -> int:
        part, is_flipped = self._cut(content, dice)
        if not self._recipe.keep_crops:
            self._finish(part, is_flipped, place.take(self._recipe))
            return place.after
        height, width, _ = part.shape
        if place.at + 3 * height * width <= place.limit:
            place.take_bytes(3 * height * width).reshape(part.shape)[...] = part
        else:
            height, width, _ = self._recipe.shape
            self._finish(part, False, place.take_bytes(3 * height * width).reshape(self._recipe.shape))
        row = place.row
        row["where"], row["height"], row["width"], row["flip"] = place.at, height, width, is_flipped
        row["row_step"], row["pixel_step"], row["colour_step"] = 3 * width, 3, 1
        return place.after

    def _cut(self, content: "memoryview", dice: Dice) -> "Tuple[Any, bool]":
        """The chosen part of the picture as it was decoded, and whether it is to be flipped."""
        size = self._recipe.size
        head = cropping.read_head(content)
        if head is not None and head[2] in (1, 3) and self._plain is not None:
            height, width, _ = head
            box = self._crop(height, width, size, dice)
            shrink = cropping.choose_shrink(box, size)
            picture = self._plain(content, height, width, shrink)
            if picture.shape[0] != height:
                box = cropping.shrink_box(box, shrink, *picture.shape[:2])
        else:
            picture = self._decoding.decode_any(content)
            box = self._crop(picture.shape[0], picture.shape[1], size, dice)
        top, left, height, width = box
        return picture[top : top + height, left : left + width], self._recipe.flip and dice.roll() < 0.5

    def _finish(self, part: "Any", is_flipped: bool, out: "Any") -> None:
        """In its final size."""
        if part.shape != out.shape:
            if self._resize is None:
                self._resize = resizing.choose()
            self._resize(part, out)
            part = out
        if is_flipped:
            # As pixels of three bytes: NumPy moves each at once. Through a copy where it would overtake itself.
            mirrored = self._as_pixels(part)[:, ::-1]
            self._as_pixels(out)[...] = mirrored.copy() if part is out else mirrored
        elif part is not out:
            out[...] = part

    def _as_pixels(self, picture: "Any") -> "Any":
        return self._numpy.ascontiguousarray(picture).view("V3")[..., 0]


class Coded:
    """Contents as they are, and which part of each picture is wanted: for a GPU that decodes. Threads only."""

    dtype = "uint8"
    keep_crops = True
    shape = (0,)
    sample_bytes = least_bytes = 1  # the contents lie beside the slot

    def __init__(self, size: int, crop: str, flip: bool, decoder: "Optional[str]") -> None:
        self.size = size
        self.pictures: "Dict[Tuple[int, int], Any]" = {}  # by slot and row: a content, or pixels that the CPU decoded
        self._images = Images(size, crop, flip, decoder, keep_crops=True)
        self._crop, self._flip = cropping.CROPS[crop], flip

    def make(self) -> "CodedPicture":
        return CodedPicture(self, self._images.make())

    def choose(self, height: int, width: int, dice: Dice) -> "Tuple[cropping.Box, bool]":
        return self._crop(height, width, self.size, dice), self._flip and dice.roll() < 0.5


class CodedPicture:
    def __init__(self, recipe: Coded, picture: Picture) -> None:
        self._recipe, self._picture = recipe, picture

    def put(self, content: "memoryview", dice: Dice, place: "Place") -> int:
        head, row = cropping.read_head(content), place.row
        if head is not None and head[2] == 3:
            (top, left, height, width), is_flipped = self._recipe.choose(head[0], head[1], dice)
            self._recipe.pictures[place.key] = content
        else:  # what the GPU does not know
            part, is_flipped = self._picture._cut(content, dice)
            top, left, (height, width, _) = 0, 0, part.shape
            self._recipe.pictures[place.key] = part.copy()
        row["height"], row["width"], row["flip"] = height, width, is_flipped
        row["row_step"], row["pixel_step"] = top, left  # until it is decoded
        return place.at


class Arrays:
    """What a function of the user's makes of a content: arrays, tensors or numbers, of one shape and type."""

    keep_crops = False

    def __init__(self, decode: "Callable[[memoryview], Any]", made: "Any") -> None:
        """made: what it makes of the first sample."""
        example = _as_array(made)
        self.decode = decode
        self.shape, self.dtype = example.shape, example.dtype.str
        self.sample_bytes = self.least_bytes = example.nbytes

    def make(self) -> "Arrays":
        return self

    def put(self, content: "memoryview", dice: Dice, place: "Place") -> int:
        made = _as_array(self.decode(content))
        if made.shape != self.shape:
            raise decoding.Broken("its shape is {}, and that of the first sample {}".format(made.shape, self.shape))
        out = place.take(self)
        if made.dtype.str != self.dtype and not libraries.load("numpy", "arrays").can_cast(made.dtype, out.dtype):
            raise decoding.Broken("its type is {}, and that of the first sample {}".format(made.dtype, out.dtype))
        out[...] = made
        return place.after


def _as_array(made: "Any") -> "Any":
    numpy = libraries.load("numpy", "arrays")
    try:
        found = numpy.asarray(made)
        # Text that is an array already was meant to be one.
        if found.dtype.kind not in ("O" if isinstance(made, numpy.ndarray) else "OSU"):
            return found
        problem = ""
    except Exception as error:  # a list of lists of different lengths, a tensor of a GPU or of a type of its own
        problem = ": {}".format(error)
    raise TypeError(
        "the function given as decode= must return an array of NumPy, a tensor of the CPU or a number, of the same "
        "shape for every sample; it returned {}{}".format(type(made).__name__, problem)
    )


class Place:
    """Where one sample goes: `pixels` of a slot from byte `at`, at the most to `limit`, and its row of numbers."""

    __slots__ = ("after", "at", "key", "limit", "pixels", "row")

    def __init__(self, pixels: "Any", row: "Any", at: int, limit: int, key: "Tuple[int, int]" = (0, 0)) -> None:
        self.pixels, self.row, self.at, self.limit = pixels, row, at, limit
        self.key = key  # its slot, and which row
        self.after = at  # where the next sample begins

    def take(self, recipe: "Union[Images, Arrays]") -> "Any":
        """As an array of the recipe's shape."""
        return self.take_bytes(recipe.sample_bytes).view(recipe.dtype).reshape(recipe.shape)

    def take_bytes(self, size: int) -> "Any":
        self.after = self.at + size
        return self.pixels[self.at : self.after]


def count_cpus() -> int:
    """Of this task: what it is bound to, and what it asked Slurm for."""
    bound = len(os.sched_getaffinity(0))
    asked = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return max(1, min(bound, int(asked)) if asked.isdigit() else bound)
