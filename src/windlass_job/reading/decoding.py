"""Decoders of images, of those that the training has: one entry each, the fastest first.

Each makes an array of height, width and three colours. `plain` decodes ordinary JPEGs and may shrink them on the way;
`any_image` decodes whatever the library knows. All let other threads work meanwhile, Pillow less than the others.
"""

from windlass_job.reading import libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional, Tuple

MOST_PIXELS = 1 << 24  # of the buffer that simplejpeg decodes into again and again


class Broken(ValueError):
    """The content is no image that can be decoded."""


class Decoder:
    """plain, any_image: None where the library cannot."""

    def __init__(
        self,
        name: str,
        module: str,
        make: "Callable[[], Tuple[Optional[Callable[..., Any]], Optional[Callable[..., Any]]]]",
    ) -> None:
        self.name = name
        self.module = module
        self._make = make

    def is_there(self) -> bool:
        return libraries.find("numpy") is not None and libraries.find(self.module) is not None

    def make(self) -> "Tuple[Optional[Callable[..., Any]], Optional[Callable[..., Any]]]":
        """For one thread: a decoder may keep a buffer."""
        return self._make()


def _make_simplejpeg() -> "Tuple[Optional[Callable[..., Any]], Optional[Callable[..., Any]]]":
    numpy, decode_jpeg = libraries.load("numpy", "decoding"), libraries.load("simplejpeg", "decoding").decode_jpeg
    buffers: "Dict[str, Any]" = {}

    def plain(content: "memoryview", height: int, width: int, shrink: int) -> "Any":
        needed = 3 * height * width
        if buffers.get("size", 0) < needed and height * width <= MOST_PIXELS:
            buffers["size"], buffers["pixels"] = needed, numpy.empty(needed, numpy.uint8)
        options = {"buffer": buffers["pixels"]} if buffers.get("size", 0) >= needed else {}
        if shrink > 1:
            options["min_height"], options["min_width"] = -(-height // shrink), -(-width // shrink)
        # Fast: a tenth less time for differences of one step in 256, which TensorFlow's default has too.
        return decode_jpeg(content, "RGB", fastdct=True, fastupsample=True, **options)

    return plain, None


def _make_torchvision() -> "Tuple[Optional[Callable[..., Any]], Optional[Callable[..., Any]]]":
    numpy, torch = libraries.load("numpy", "decoding"), libraries.load("torch", "decoding")
    io = libraries.load("torchvision.io", "decoding")

    def plain(content: "memoryview", height: int, width: int, shrink: int) -> "Any":
        return take(io.decode_jpeg, content)

    def any_image(content: "memoryview") -> "Any":
        return take(io.decode_image, content)

    def take(decode: "Callable[..., Any]", content: "memoryview") -> "Any":
        coded = torch.from_numpy(numpy.array(numpy.frombuffer(content, numpy.uint8)))
        return decode(coded, mode=io.ImageReadMode.RGB).permute(1, 2, 0).numpy()

    return plain, any_image


def _make_opencv() -> "Tuple[Optional[Callable[..., Any]], Optional[Callable[..., Any]]]":
    numpy, cv2 = libraries.load("numpy", "decoding"), libraries.load("cv2", "decoding")
    flags = {1: cv2.IMREAD_COLOR, 2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4}
    flags[8] = cv2.IMREAD_REDUCED_COLOR_8

    def plain(content: "memoryview", height: int, width: int, shrink: int) -> "Any":
        coded = numpy.frombuffer(content, numpy.uint8)
        found = cv2.imdecode(coded, flags[shrink] | cv2.IMREAD_IGNORE_ORIENTATION)
        if found is None:
            raise Broken("OpenCV cannot decode it")
        return cv2.cvtColor(found, cv2.COLOR_BGR2RGB, dst=found)

    return plain, lambda content: plain(content, 0, 0, 1)


def _make_pillow() -> "Tuple[Optional[Callable[..., Any]], Optional[Callable[..., Any]]]":
    import io

    numpy, image = libraries.load("numpy", "decoding"), libraries.load("PIL.Image", "decoding")

    def plain(content: "memoryview", height: int, width: int, shrink: int) -> "Any":
        found = image.open(io.BytesIO(content))
        if shrink > 1:
            found.draft("RGB", (-(-width // shrink), -(-height // shrink)))
        return numpy.asarray(found.convert("RGB"))

    return plain, lambda content: plain(content, 0, 0, 1)


DECODERS = (
    Decoder("simplejpeg", "simplejpeg", _make_simplejpeg),
    Decoder("torchvision", "torchvision.io", _make_torchvision),
    Decoder("opencv", "cv2", _make_opencv),
    Decoder("pillow", "PIL.Image", _make_pillow),
)


# Which to turn to with images that the chosen one does not know: PyTorch last, whose import takes seconds.
_FOR_OTHERS = ("opencv", "pillow", "torchvision")


def choose(name: "Optional[str]" = None) -> Decoder:
    """The one that is wanted, or else the fastest that is there. No other library is imported."""
    by_name = {one.name: one for one in DECODERS}
    if name is not None and name not in by_name:
        raise ValueError("there is no decoder {!r}: {}".format(name, ", ".join(by_name)))
    if name is not None:
        libraries.load(by_name[name].module, "decoder={!r}".format(name))
        return by_name[name]
    for one in DECODERS:
        if one.is_there():
            return one
    raise libraries.Missing("images need NumPy and a decoder: install one of {}".format(", ".join(by_name)))


class Decoding:
    """One thread's decoder, and for images that it does not know the others, imported when the first such comes."""

    def __init__(self, name: "Optional[str]" = None) -> None:
        self._chosen = choose(name)
        self.plain, self._any_image = self._chosen.make()
        self._others = [one for one in DECODERS if one.name in _FOR_OTHERS and one is not self._chosen]
        self._others.sort(key=lambda one: _FOR_OTHERS.index(one.name))
        self._made: "Dict[str, Any]" = {}

    def decode_any(self, content: "memoryview") -> "Any":
        problem = "nothing that is installed decodes such images"
        for decode in self._iterate():
            try:
                return decode(content)
            except Exception as error:  # each library has its own
                problem = str(error)
        raise Broken(problem)

    def _iterate(self) -> "Iterator[Callable[..., Any]]":
        if self._any_image is not None:
            yield self._any_image
        for one in self._others:
            if one.name not in self._made:
                self._made[one.name] = one.make()[1] if one.is_there() else None
            if self._made[one.name] is not None:
                yield self._made[one.name]
