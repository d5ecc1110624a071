"""A part of a picture brought to another size on the CPU, by what the training has: one entry each, the fastest first.

All smooth alike (triangle filter); they differ by a step or two of 256.
"""

from windlass_job.reading import libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Resize = Callable[[Any, Any], None]  # from an array into one of another size


def choose() -> "Resize":
    for module, make in RESIZERS:
        if libraries.find(module) is not None:
            return make()
    raise libraries.Missing("images of different sizes need one of OpenCV, PyTorch or Pillow to be resized")


def _make_opencv() -> "Resize":
    cv2 = libraries.load("cv2", "resizing")

    def resize(part: "Any", out: "Any") -> None:
        height, width = out.shape[:2]
        # Plain interpolation looks at four pixels: where the picture shrinks to less than half it would skip some.
        is_small = part.shape[0] > 2 * height or part.shape[1] > 2 * width
        cv2.resize(part, (width, height), dst=out, interpolation=cv2.INTER_AREA if is_small else cv2.INTER_LINEAR)

    return resize


def _make_torch() -> "Resize":
    torch = libraries.load("torch", "resizing")
    interpolate = libraries.load("torch.nn.functional", "resizing").interpolate

    def resize(part: "Any", out: "Any") -> None:
        picture = torch.from_numpy(part).permute(2, 0, 1)[None]
        found = interpolate(picture, out.shape[:2], mode="bilinear", antialias=True)
        out[...] = found[0].permute(1, 2, 0).numpy()

    return resize


def _make_pillow() -> "Resize":
    image = libraries.load("PIL.Image", "resizing")

    def resize(part: "Any", out: "Any") -> None:
        out[...] = image.fromarray(part).resize((out.shape[1], out.shape[0]), 2)  # 2: bilinear, by whatever name

    return resize


RESIZERS = (("cv2", _make_opencv), ("torch", _make_torch), ("PIL.Image", _make_pillow))
