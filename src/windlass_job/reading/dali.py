"""Packed data for NVIDIA's DALI, which decodes by itself: a source for its operator `fn.external_source`.

@pipeline_def(batch_size=256, num_threads=8, device_id=0)
def make_pipeline():
    coded, labels = fn.external_source(source=data.dali_source("imagenet", 256), num_outputs=2)
    images = fn.decoders.image_random_crop(coded, device="mixed")
    ...
"""

from windlass_job.reading import ahead, libraries
from windlass_job.reading.labels import Labels
from windlass_job.reading.order import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Tuple

THREADS = 2  # that read ahead


def make_source(source: "Any", batch_size: int, epoch: int, options: "Dict[str, Any]") -> "Iterator[Any]":
    """Epoch after epoch; whole batches only, because that is what a pipeline takes. options: those of `Order`."""
    numpy = libraries.load("numpy", "DALI")
    labels_of = Labels(source, None)
    order = Order(len(source), **options)
    order.set_epoch(epoch)
    if len(order) < batch_size:
        raise ValueError("a batch of {} is more than the {} samples of a rank".format(batch_size, len(order)))

    def make(numbers: "List[int]") -> "List[Tuple[Any, Any]]":
        coded = [numpy.frombuffer(one, numpy.uint8) for one in source.read_many(numbers)]
        labels = numpy.array([[labels_of.find(source, number)] for number in numbers], numpy.int64)
        return [(coded, labels)]

    return ahead.iter_ahead(make, _list_batches(order, batch_size), THREADS, depth=3)


def _list_batches(order: Order, batch_size: int) -> "Iterator[List[int]]":
    while True:
        order.begin()
        for first in range(0, len(order) - batch_size + 1, batch_size):
            yield order.numbers(first, first + batch_size)
        order.set_epoch(order.epoch + 1)
