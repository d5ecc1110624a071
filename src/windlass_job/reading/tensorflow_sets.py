"""Packed data as a tf.data.Dataset of (content, label), which decodes by itself.

    samples = data.tensorflow_dataset("imagenet")
    images = samples.map(lambda content, label: (tf.io.decode_jpeg(content, channels=3), label), tf.data.AUTOTUNE)

Blocks of samples go over to TensorFlow, which takes them apart itself: each crossing costs as much as reading ten.
"""

from windlass_job.reading import ahead, libraries
from windlass_job.reading.labels import Labels
from windlass_job.reading.order import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Optional, Tuple

THREADS = 2  # that read ahead
BLOCK = 128


def make_dataset(source: "Any", order: "Optional[Order]", label: "Optional[str]") -> "Any":
    """Each time it is iterated it gives one epoch, and the next time another order."""
    tensorflow = libraries.load("tensorflow", "a tf.data.Dataset")
    labels = Labels(source, label)
    dealt = Order(len(source)) if order is None else order

    def make(numbers: "List[int]") -> "List[Tuple[List[bytes], List[Any]]]":
        contents = [bytes(one) for one in source.read_many(numbers)]
        return [(contents, [labels.find(source, number) for number in numbers])]

    def iterate() -> "Iterator[Tuple[List[bytes], List[Any]]]":
        for block in ahead.iter_ahead(make, _list_blocks(dealt), THREADS):
            yield block
        dealt.set_epoch(dealt.epoch + 1)

    number_kind = tensorflow.float32 if labels.are_floats else tensorflow.int64
    kinds = (tensorflow.TensorSpec([None], tensorflow.string), tensorflow.TensorSpec([None], number_kind))
    blocks = tensorflow.data.Dataset.from_generator(iterate, output_signature=kinds)
    # Keras shows how far an epoch is only when it knows how long it will be.
    return blocks.unbatch().apply(tensorflow.data.experimental.assert_cardinality(len(dealt)))


def _list_blocks(order: Order) -> "Iterator[List[int]]":
    order.begin()
    total = len(order)
    for first in range(0, total, BLOCK):
        yield order.numbers(first, min(first + BLOCK, total))
