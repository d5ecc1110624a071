"""What the GPU decodes and what is left of a batch when it cannot; the GPU itself is not needed for that."""

from typing import Any

from windlass_job.reading.decoding import Broken
from windlass_job.reading.gpu_decoding import decode_good

CONTENTS = {0: memoryview(b"one"), 2: memoryview(b"odd"), 3: memoryview(b"broken"), 5: memoryview(b"four")}
NUMBERS = {0: 10, 2: 12, 3: 13, 5: 15}


def decode(contents: list[memoryview]) -> list[str]:
    for content in contents:
        if bytes(content) in (b"odd", b"broken"):
            raise RuntimeError(f"not a JPEG: {bytes(content).decode()}")
    return [bytes(content).decode() for content in contents]


def rescue(content: memoryview, number: int) -> str:
    if bytes(content) == b"broken":
        raise Broken("it is broken")
    return f"by the CPU: {number}"


def test_what_is_broken_is_named_and_the_rest_of_the_batch_stays() -> None:
    good, problems = decode_good(decode, rescue, CONTENTS, NUMBERS)

    assert good == {0: "one", 2: "by the CPU: 12", 5: "four"}
    assert problems == {3: "sample 13 cannot be decoded on the GPU: not a JPEG: broken"}


def test_a_batch_that_is_whole_is_decoded_at_once() -> None:
    asked: list[int] = []

    def count(contents: list[memoryview]) -> list[Any]:
        asked.append(len(contents))
        return decode(contents)

    good, problems = decode_good(count, rescue, {0: CONTENTS[0], 5: CONTENTS[5]}, NUMBERS)

    assert (good, problems, asked) == ({0: "one", 5: "four"}, {}, [2])
    assert decode_good(count, rescue, {}, {}) == ({}, {})
    assert asked == [2]
