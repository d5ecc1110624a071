"""tf.train.Example as bytes, both ways: a dictionary of lists of bytes, floats or whole numbers.

By hand, because it is three small messages of protobuf: the library and TensorFlow's generated classes would be 600 MB
to install for fifty lines, and they copy the image three times.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

from windlass.formats.form import as_bytes

Values = Sequence[bytes] | Sequence[int] | Sequence[float]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3


def make_example(features: Mapping[str, Values]) -> bytes:
    """Features in the order of their names, so that the same ones give the same bytes."""
    entries = []
    for name in sorted(features):
        key = as_bytes(name)
        feature = _make_feature(features[name])
        entries.append(_field(1, _field(1, key) + _field(2, feature)))
    return _field(1, b"".join(entries))


def _make_feature(values: Values) -> bytes:
    if all(isinstance(one, bytes) for one in values):
        return _field(_BYTES_LIST, b"".join(_field(1, one) for one in values if isinstance(one, bytes)))
    if all(isinstance(one, int) for one in values):
        return _field(_INT64_LIST, _field(1, b"".join(_varint(int(one)) for one in values)))
    numbers = [float(one) for one in values]
    return _field(_FLOAT_LIST, _field(1, struct.pack(f"<{len(numbers)}f", *numbers)))


def _field(number: int, content: bytes) -> bytes:
    return b"".join((bytes((number << 3 | _BYTES,)), _varint(len(content)), content))


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF  # negative numbers as their 64 bits
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_example(record: bytes) -> dict[str, Values]:
    """ValueError when it is no Example."""
    found: dict[str, Values] = {}
    try:
        for number, features in _walk(memoryview(record)):
            if number != 1 or not isinstance(features, memoryview):
                continue
            for _, entry in _walk(features):
                if isinstance(entry, memoryview):
                    parts = dict(_walk(entry))
                    found[bytes(_as_view(parts.get(1))).decode("utf-8", "surrogateescape")] = _read_feature(
                        _as_view(parts.get(2))
                    )
    except (IndexError, struct.error, TypeError) as error:
        raise ValueError(f"it is no tf.train.Example: {error}") from error
    return found


def _as_view(value: "memoryview | int | None") -> memoryview:
    return value if isinstance(value, memoryview) else memoryview(b"")


def _read_feature(feature: memoryview) -> Values:
    for kind, content in _walk(feature):
        if not isinstance(content, memoryview):
            continue
        if kind == _BYTES_LIST:
            return [bytes(one) for _, one in _walk(content) if isinstance(one, memoryview)]
        if kind == _INT64_LIST:
            return [_signed(one) for one in _numbers(content, _read_varints)]
        if kind == _FLOAT_LIST:
            return [struct.unpack("<f", struct.pack("<I", one))[0] for one in _numbers(content, _read_words)]
    return []


def _numbers(content: memoryview, read_packed: Callable[[memoryview], Iterator[int]]) -> Iterator[int]:
    """Packed together, or one by one as old writers did."""
    for _, value in _walk(content):
        if isinstance(value, memoryview):
            yield from read_packed(value)
        else:
            yield value


def _read_varints(content: memoryview) -> Iterator[int]:
    at = 0
    while at < len(content):
        value, at = _read_varint(content, at)
        yield value


def _read_words(content: memoryview) -> Iterator[int]:
    yield from struct.unpack(f"<{len(content) // 4}I", content)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _walk(message: memoryview) -> "Iterator[tuple[int, memoryview | int]]":
    """The fields of a message, none of them copied."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(message, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("it is no tf.train.Example: a field of a kind that it has not")
        if at + size > len(message):
            raise ValueError("it is no tf.train.Example: it ends in the middle of a field")
        piece = message[at : at + size]
        yield tag >> 3, piece if kind == _BYTES else int.from_bytes(piece, "little")
        at += size


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("it is no tf.train.Example: a number without an end")
