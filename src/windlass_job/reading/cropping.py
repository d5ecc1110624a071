"""Which part of a picture becomes a sample. Numbers only: who has the pixels cuts and resizes.

Chance comes from seed, epoch and the sample's number, so that a run that is resumed, or has other workers, sees the
same pictures.
"""

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional, Tuple

    Box = Tuple[int, int, int, int]  # top, left, height, width

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
SHRINKS = (8, 4, 2)  # what decoders of JPEG halve while they decode; the factors between cost more than they save
_TRIES = 10
_LEAST_AREA, _LEAST_RATIO, _MOST_RATIO = 0.08, 3 / 4, 4 / 3  # of a random resized crop, as everybody has them
_MARGIN = 224 / 256  # of the shorter side, that a centre crop keeps


class Dice:
    """Numbers in [0, 1) that follow from three numbers."""

    def __init__(self, seed: int, epoch: int, number: int) -> None:
        self._state = (seed * 0xBF58476D1CE4E5B9 + epoch * 0x94D049BB133111EB + number * _STEP) & _MASK

    def roll(self) -> float:
        self._state = (self._state + _STEP) & _MASK
        mixed = ((self._state ^ (self._state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53


def crop_random_resized(height: int, width: int, size: int, dice: Dice) -> "Box":
    """8 to 100 % of the area, a little wider or higher than the whole."""
    area = height * width
    for _ in range(_TRIES):
        wanted = area * (_LEAST_AREA + (1 - _LEAST_AREA) * dice.roll())
        ratio = math.exp(math.log(_LEAST_RATIO) + math.log(_MOST_RATIO / _LEAST_RATIO) * dice.roll())
        w, h = round(math.sqrt(wanted * ratio)), round(math.sqrt(wanted / ratio))
        if 0 < w <= width and 0 < h <= height:
            return int(dice.roll() * (height - h + 1)), int(dice.roll() * (width - w + 1)), h, w
    h, w = min(height, round(width / _LEAST_RATIO)), min(width, round(height * _MOST_RATIO))
    return (height - h) // 2, (width - w) // 2, h, w


def crop_random(height: int, width: int, size: int, dice: Dice) -> "Box":
    """A piece of the wanted size, not resized, from anywhere; a picture that is too small is resized."""
    side = min(size, height, width)
    return int(dice.roll() * (height - side + 1)), int(dice.roll() * (width - side + 1)), side, side


def crop_centre(height: int, width: int, size: int, dice: Dice) -> "Box":
    """As if the shorter side were resized to 256/224 of the size, and the middle cut out."""
    side = max(1, round(min(height, width) * _MARGIN))
    return (height - side) // 2, (width - side) // 2, side, side


def crop_whole(height: int, width: int, size: int, dice: Dice) -> "Box":
    """All of it, pressed into a square."""
    return 0, 0, height, width


CROPS: "Dict[str, Callable[[int, int, int, Dice], Box]]" = {
    "random_resized": crop_random_resized,
    "random": crop_random,
    "centre": crop_centre,
    "whole": crop_whole,
}


def choose_shrink(box: "Box", size: int) -> int:
    """By how much a decoder may divide both sides, so that the box is not smaller than what is wanted of it."""
    for shrink in SHRINKS:
        if box[2] >= size * shrink and box[3] >= size * shrink:
            return shrink
    return 1


def shrink_box(box: "Box", shrink: int, height: int, width: int) -> "Box":
    """In the pixels of the picture that was decoded, which has this height and width."""
    if shrink == 1:
        return box
    top, left, h, w = (one // shrink for one in box)
    return min(top, height - 1), min(left, width - 1), min(h, height - top), min(w, width - left)


def read_head(content: "memoryview") -> "Optional[Tuple[int, int, int]]":
    """Height, width and number of colours of a JPEG; None of anything else."""
    if bytes(content[:2]) != b"\xff\xd8":
        return None
    at, end = 2, len(content) - 10
    while at < end:
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF or 0xD0 <= marker <= 0xD8 or marker == 1:  # filling, and markers without a length
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return content[at + 5] << 8 | content[at + 6], content[at + 7] << 8 | content[at + 8], content[at + 9]
        at += 2 + (content[at + 2] << 8 | content[at + 3])
    return None
