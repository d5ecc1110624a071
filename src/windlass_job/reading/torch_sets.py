"""Packed data for PyTorch's own DataLoader: a Dataset and an IterableDataset.

The classes are made when they are first asked for, because only then PyTorch may be imported; what is pickled is how
to make them again.
"""

import itertools

from windlass_job.reading import decoding, libraries
from windlass_job.reading.ahead import BLOCK
from windlass_job.reading.labels import Labels
from windlass_job.reading.order import Order, follow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

_classes: "Dict[str, Any]" = {}


class Samples:
    """(content, label) by number: what both kinds of data sets hand on."""

    def __init__(self, source: "Any", transform: "Any", decode: "Any", label: "Optional[str]") -> None:
        self.source, self.transform, self.decode, self.label = source, transform, decode, label
        self._function: "Optional[Callable[[Any], Any]]" = None
        self._labels: "Optional[Labels]" = None

    def __getstate__(self) -> "Tuple[Any, ...]":
        return self.source, self.transform, self.decode, self.label

    def __setstate__(self, state: "Tuple[Any, ...]") -> None:
        Samples.__init__(self, *state)

    def get(self, numbers: "Sequence[int]") -> "List[Any]":
        contents = self.source.read_many(numbers)
        return [self._make(number, content) for number, content in zip(numbers, contents)]

    def _make(self, number: int, content: "Any") -> "Any":
        if self._function is None:
            self._function = make_function(self.decode)
        try:
            made = self._function(content)
            if self.transform is not None:
                made = self.transform(made)
        except Exception as error:  # a decoder may raise anything: the sample is named
            raise decoding.Broken(
                "sample {} ({}): {}: {}".format(number, self.source.name(number), type(error).__name__, error)
            ) from error
        if self._labels is None:
            self._labels = Labels(self.source, self.label)
        return made, self._labels.find(self.source, number)


def make_function(decode: "Any") -> "Callable[[Any], Any]":
    """From a content to what the training's transform takes."""
    if decode is None:
        return bytes
    if callable(decode):
        function: "Callable[[Any], Any]" = decode
        return function
    if decode == "pillow image":
        import io

        image = libraries.load("PIL.Image", "decode={!r}".format(decode))
        return lambda content: image.open(io.BytesIO(content)).convert("RGB")
    from windlass_job.reading.cropping import read_head

    numpy = libraries.load("numpy", "decoding")
    chosen = decoding.Decoding(None if decode == "auto" else decode)
    plain = chosen.plain

    def decode_image(content: "Any") -> "Any":
        head = read_head(content)
        if plain is not None and head is not None and head[2] in (1, 3):
            return numpy.array(plain(content, head[0], head[1], 1))
        return chosen.decode_any(content)

    return decode_image


def make_dataset(source: "Any", transform: "Any", decode: "Any", label: "Optional[str]") -> "Any":
    if "Dataset" not in _classes:
        base = libraries.load("torch.utils.data", "a Dataset").Dataset

        class PackedDataset(base):  # type: ignore[misc, valid-type]
            """Samples by number; a DataLoader asks for whole batches, which are read at once."""

            def __init__(self, samples: Samples) -> None:
                self.samples = samples

            def __len__(self) -> int:
                return len(self.samples.source)

            def __getitem__(self, number: int) -> "Any":
                return self.samples.get([number])[0]

            def __getitems__(self, numbers: "List[int]") -> "List[Any]":
                return self.samples.get(numbers)

            def __reduce__(self) -> "Tuple[Any, ...]":
                return make_dataset, self.samples.__getstate__()

        _classes["Dataset"] = PackedDataset
    return _classes["Dataset"](Samples(source, transform, decode, label))


def make_iterable(
    source: "Any", order: "Optional[Order]", transform: "Any", decode: "Any", label: "Optional[str]"
) -> "Any":
    if "IterableDataset" not in _classes:
        base = libraries.load("torch.utils.data", "an IterableDataset").IterableDataset

        class PackedIterable(base):  # type: ignore[misc, valid-type]
            """Samples in their order; each worker of a DataLoader takes its part of it."""

            def __init__(self, samples: Samples, order: Order) -> None:
                self.samples, self.order = samples, order
                # Workers may live for many epochs (persistent_workers=True), and have a copy of the order.
                if not self.order.is_shared:
                    self.order.share_epoch(libraries.load("torch", "workers").tensor([order.epoch]).share_memory_())

            def __len__(self) -> int:
                return len(self.order)

            def __iter__(self) -> "Iterator[Any]":
                info = libraries.load("torch.utils.data", "workers").get_worker_info()
                if info is None:
                    return _iterate(self.samples, iter(self.order))
                self.order.follow_epoch()
                return _iterate(self.samples, self.order.split(info.id, info.num_workers))

            def set_epoch(self, epoch: int) -> None:
                self.order.set_epoch(epoch)

            def __reduce__(self) -> "Tuple[Any, ...]":
                source, *rest = self.samples.__getstate__()
                return make_iterable, (source, self.order) + tuple(rest)

        _classes["IterableDataset"] = PackedIterable
    samples = Samples(source, transform, decode, label)
    return _classes["IterableDataset"](samples, order if order is not None else Order(len(source)))


def _iterate(samples: Samples, numbers: "Iterable[int]") -> "Iterator[Any]":
    source, hand_out = follow(numbers)
    block = list(itertools.islice(source, BLOCK))
    while block:
        for one in samples.get(block):
            hand_out()
            yield one
        block = list(itertools.islice(source, BLOCK))
