"""Rows on their way to a site: in pieces of some megabytes, compressed, each of which can be read alone.

A piece is, before it is compressed: how many rows, how long each is, and the rows. Numbers are of 4 bytes, the least
first.
"""

import array
import struct
import sys
import zlib
from typing import Iterable, Iterator, List

_PIECE = 8 << 20
_MOST = 200000  # rows of a piece
_LEVEL = 3


def pack(rows: "Iterable[bytes]") -> "Iterator[bytes]":
    held, size = [], 0  # type: List[bytes], int
    for row in rows:
        held.append(row)
        size += len(row)
        if size >= _PIECE or len(held) >= _MOST:
            yield _pack(held)
            held, size = [], 0
    if held:
        yield _pack(held)


def unpack(piece: bytes) -> "List[bytes]":
    """Raises ValueError where it is no such piece."""
    try:
        content = zlib.decompress(piece)
        (count,) = struct.unpack_from("<I", content)
        lengths = _swap(array.array("I", content[4 : 4 + 4 * count]))
    except (zlib.error, struct.error) as error:
        raise ValueError("no piece of a table: {}".format(error))
    at, rows = 4 + 4 * count, []
    if len(lengths) != count or at + sum(lengths) != len(content):
        raise ValueError("no piece of a table: it is cut short")
    for length in lengths:
        rows.append(content[at : at + length])
        at += length
    return rows


def _pack(rows: "List[bytes]") -> bytes:
    lengths = _swap(array.array("I", [len(row) for row in rows]))
    return zlib.compress(struct.pack("<I", len(rows)) + lengths.tobytes() + b"".join(rows), _LEVEL)


def _swap(numbers: "array.array[int]") -> "array.array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
