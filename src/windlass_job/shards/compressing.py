"""Compression, where a trial shows that it pays: each file by itself, as gzip, so that any one can still be read alone.

Shards as a whole are not compressed: a sample in the middle would need all that comes before it. Images, sound and
video are compressed already; text, tables and labels shrink to a third. Tar rounds up to 512 bytes, and so does the
trial. A file that was compressed gets `.gz` behind its name and a remark in its gzip header, by which it is told from
one that was a `.gz` from the beginning.
"""

import io
import struct
import zlib

from windlass_job.shards.readers import Member
from windlass_job.shards.tarring import BLOCK, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Tuple

LEVEL = 6
SUFFIX = b".gz"
LARGEST = 64 << 20  # a file is compressed in memory; larger ones stay as they are
_REMARK = b"windlass"
# Magic, deflate, "a comment follows", no time, no hints, unknown system: nothing that differs from run to run.
_HEAD = b"\x1f\x8b\x08\x10\0\0\0\0\0\xff" + _REMARK + b"\0"
HEAD_BYTES = len(_HEAD)
_WORTH = 0.8


class Verdict:
    """`pays`, with the share that is left and a sentence for people."""

    def __init__(self, pays: bool, left: float, why: str) -> None:
        self.pays = pays
        self.left = left
        self.why = why


def judge(trial: "List[Tuple[int, int]]") -> Verdict:
    """Pairs of bytes before and after, of a sample of files, as archives hold them."""
    before = sum(_measure(plain) for plain, _ in trial)
    after = sum(min(_measure(plain), _measure(small)) for plain, small in trial)
    left = after / before if before else 1.0
    figures = "{} files of a trial keep {:.0f} % of their bytes".format(len(trial), 100 * left)
    if left > _WORTH:
        return Verdict(False, left, figures + ", so they are packed as they are: reading them costs nothing extra")
    return Verdict(True, left, figures + ", so each is packed as .gz")


def compress(content: bytes) -> bytes:
    """A gzip file; the same for the same content."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    tail = struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)
    return _HEAD + packer.compress(content) + packer.flush() + tail


def is_ours(name: bytes, content: bytes) -> bool:
    return name.endswith(SUFFIX) and bytes(content[: len(_HEAD)]) == _HEAD


def restore(name: bytes, content: bytes) -> "Tuple[bytes, bytes]":
    """The file as it was before it was packed; one that was not compressed by us comes back as it is."""
    if not is_ours(name, content):
        return name, content
    return name[: -len(SUFFIX)], zlib.decompress(content, 16 + zlib.MAX_WBITS)


def squeeze(name: bytes, file: "Any") -> "Tuple[bytes, Any]":
    """The file under its new name, or as it was where that makes it no smaller."""
    if file.size > LARGEST or name.endswith(SUFFIX):
        return name, file
    content = _read_all(file)
    small = compress(content)
    if _measure(len(small)) < _measure(len(content)):
        return name + SUFFIX, _Held(small, file)
    return name, _Held(content, file)


class _Held(Member):
    """Bytes in memory in place of the file they came from."""

    def __init__(self, content: bytes, origin: "Any") -> None:
        Member.__init__(self, io.BytesIO(content), len(content))
        self._origin = origin

    def has_changed(self) -> bool:
        return bool(self._origin.has_changed())

    def close(self) -> None:
        self._origin.close()


def _read_all(file: "Any") -> bytes:
    content = bytearray(file.size)
    view, done = memoryview(content), 0
    while done < len(content):
        count = file.readinto(view[done:])
        if not count:
            break
        done += count
    return bytes(content[:done])


def _measure(size: int) -> int:
    return BLOCK + size + pad(size)
