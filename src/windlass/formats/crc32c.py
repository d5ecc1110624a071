"""The checksum of TFRecord: CRC-32C, as a library computes it where one is installed, else slowly by a table."""

from collections.abc import Callable
from importlib import import_module

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8


def mask(crc: int) -> int:
    """As TFRecord stores it: a checksum of bytes that hold their own checksum would be weak."""
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def choose() -> tuple[Callable[[bytes], int], bool]:
    """The fastest function there is, and whether it is a library's."""
    for module, function in (("google_crc32c", "value"), ("crc32c", "crc32c")):
        try:
            found: Callable[[bytes], int] = getattr(import_module(module), function)
        except ImportError:
            continue
        return found, True
    return compute, False


def compute(content: bytes) -> int:
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _make_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_TABLE = _make_table()
