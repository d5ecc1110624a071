"""What a training reads packed data with: `from windlass_job import data`.

    shards = data.Shards("imagenet")  # [data.imagenet] of the run file, or a path
    batches = data.loader(shards.under("train/"), batch_size=256, size=224, device="cuda", dtype="bfloat16")
    for epoch in range(batches.epoch, 90):
        for images, labels in batches:
            ...
    save({"data": batches.state_dict(), ...})  # goes on in the middle of an epoch, also on other numbers of ranks

Single files are `shards[7]`, `shards["train/cat/1.jpg"]`, `shards.label(7)`, `shards.read_many([3, 1, 2])`. All that
needs nothing but Python; images need NumPy and a decoder (simplejpeg, torchvision, OpenCV or Pillow), tensors PyTorch.
"""

import os

from windlass_job.reading.finding import find as find
from windlass_job.reading.order import Order as Order
from windlass_job.reading.shards import ReadFailed as ReadFailed
from windlass_job.reading.shards import Selection as Selection
from windlass_job.reading.shards import Shards as Shards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, Union

    from windlass_job.reading.labels import Source
    from windlass_job.reading.loader import Loader


def loader(
    source: "Union[str, Source]",
    batch_size: int,
    size: int = 224,
    train: bool = True,
    crop: "Optional[str]" = None,
    flip: "Optional[bool]" = None,
    decode: "Union[str, Callable[[memoryview], Any]]" = "auto",
    device: "Any" = None,
    dtype: "Optional[str]" = None,
    mean: "Sequence[float]" = (0.485, 0.456, 0.406),
    std: "Sequence[float]" = (0.229, 0.224, 0.225),
    label: "Optional[str]" = None,
    seed: "Any" = 0,
    rank: "Optional[int]" = None,
    world_size: "Optional[int]" = None,
    remainder: "Optional[str]" = None,
    drop_last: "Optional[bool]" = None,
    workers: "Optional[int]" = None,
    processes: "Optional[bool]" = None,
    prefetch: int = 4,
    on_error: str = "raise",
) -> "Loader":
    """Batches of images and labels, made ahead of the training.

    train: random order, crops and flips, equally many whole batches on all ranks; else in order, the middle of each
    image, every sample once. crop: random_resized, random, centre or whole. decode: a decoder's name, `nvjpeg` for
    the GPU's (by torchvision; chosen where a trial shows it twice as fast as all CPUs of the task), or a function
    from a content to an array, a tensor or a number, of always the same shape and type. dtype: floating point, less
    the mean and divided by std; else the bytes of the images. label: a column of numbers instead of the class; where
    one has a fraction all are floats. remainder and
    drop_last: see `Order`. workers: as many as this task has CPUs; processes: instead of threads; the default
    for our own decoders. on_error: `raise`, or `skip` broken images, which are told and counted.
    """
    from windlass_job.reading.making import make_loader

    return make_loader(**{name: value for name, value in locals().items() if name != "make_loader"})


def dataset(
    source: "Union[str, Source]",
    transform: "Optional[Callable[[Any], Any]]" = None,
    decode: "Union[str, Callable[[memoryview], Any], None]" = None,
    label: "Optional[str]" = None,
) -> "Any":
    """A torch.utils.data.Dataset of (content, label), for PyTorch's own DataLoader; reads whole batches at once.

    decode: `auto` or a decoder's name for arrays of height, width and colours, `pillow image` for images of Pillow's;
    or a function. transform: called with what was decoded.
    """
    from windlass_job.reading.torch_sets import make_dataset

    return make_dataset(_open(source), transform, decode, label)


def iterable_dataset(
    source: "Union[str, Source]",
    order: "Optional[Order]" = None,
    transform: "Optional[Callable[[Any], Any]]" = None,
    decode: "Union[str, Callable[[memoryview], Any], None]" = None,
    label: "Optional[str]" = None,
) -> "Any":
    """A torch.utils.data.IterableDataset of the same: its workers share the order among themselves."""
    from windlass_job.reading.torch_sets import make_iterable

    return make_iterable(_open(source), order, transform, decode, label)


def dali_source(source: "Union[str, Source]", batch_size: int, epoch: int = 0, **order: "Any") -> "Iterator[Any]":
    """For DALI's fn.external_source(source=..., num_outputs=2): endless batches of coded images and labels.

    epoch: the first one, after a restart. order: options of `Order`.
    """
    from windlass_job.reading.dali import make_source

    return make_source(_open(source), batch_size, epoch, order)


def tensorflow_dataset(
    source: "Union[str, Source]", order: "Optional[Order]" = None, label: "Optional[str]" = None
) -> "Any":
    """A tf.data.Dataset of (content, label); each time it is iterated, one epoch."""
    from windlass_job.reading.tensorflow_sets import make_dataset

    return make_dataset(_open(source), order, label)


def find_tfrecords(folder: str, index_folder: "Optional[str]" = None) -> "Tuple[List[str], List[str]]":
    """For DALI's fn.readers.tfrecord: the files of a folder, and the index of each, made where it is missing."""
    from windlass_job.reading.tfrecords import find_files

    return find_files(folder, index_folder)


def _open(source: "Union[str, Source]") -> "Any":
    return Shards(source) if isinstance(source, (str, os.PathLike)) else source
