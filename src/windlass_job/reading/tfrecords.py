"""TFRecord files for DALI's own reader, which wants an index for each: a line for every record, where and how long.

    paths, indexes = data.find_tfrecords("/shared/imagenet/tfrecord")
    inputs = fn.readers.tfrecord(path=paths, index_path=indexes, features={...})

`windlass data convert --to tfrecord` writes the indexes beside its files; for those of others they are made here.
"""

import hashlib
import os
import struct
import tempfile

from windlass_job import disk, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

SUFFIX, INDEX_SUFFIX = ".tfrecord", ".idx"
_LENGTH = struct.Struct("<Q")
_FRAME = 16  # the length, its checksum, and that of the record


class NoRecords(ValueError):
    """There are no TFRecord files, or one is cut off."""


def find_files(folder: str, index_folder: "Optional[str]" = None) -> "Tuple[List[str], List[str]]":
    """The files in order, and the index of each. Those that are missing are made in `index_folder`, which is on this
    node's own disk where none is named: the folder of a data set that all share can seldom be written."""
    names = sorted(name for name in os.listdir(folder) if _is_file(os.path.join(folder, name)))
    if not names:
        raise NoRecords("there are no TFRecord files in {}".format(folder))
    paths = [os.path.join(os.path.abspath(folder), name) for name in names]
    return paths, [_find_index(path) or _make_index(path, index_folder or _choose_folder()) for path in paths]


def _is_file(path: str) -> bool:
    name = os.path.basename(path)
    return not name.endswith(INDEX_SUFFIX) and (SUFFIX in name or "-of-" in name) and os.path.isfile(path)


def _find_index(path: str) -> "Optional[str]":
    for found in (os.path.splitext(path)[0] + INDEX_SUFFIX, path + INDEX_SUFFIX):
        if os.path.isfile(found):
            return found
    return None


def _choose_folder() -> str:
    name = "tfrecord-index-{}".format(os.getuid())  # of each user: /tmp is everybody's
    return os.path.join(os.environ.get(wire.ENV_NODE_DIR) or tempfile.gettempdir(), name)


def _make_index(path: str, folder: str) -> str:
    """Any number of processes may do it at once: each writes aside, and all write the same."""
    seen = os.stat(path)
    key = hashlib.sha1("{}\n{}\n{}".format(path, seen.st_size, seen.st_mtime_ns).encode("utf-8", "surrogateescape"))
    index = os.path.join(folder, key.hexdigest()[:16] + INDEX_SUFFIX)
    if not os.path.isfile(index):
        os.makedirs(folder, exist_ok=True)
        disk.replace(os.fsencode(index), make_index(path))
    return index


def make_index(path: str) -> bytes:
    """Only the lengths are read: a file of 150 MB takes milliseconds."""
    lines = []
    handle = os.open(path, os.O_RDONLY)
    try:
        size, at = os.fstat(handle).st_size, 0
        while at < size:
            head = os.pread(handle, _LENGTH.size, at)
            length = _LENGTH.unpack(head)[0] + _FRAME if len(head) == _LENGTH.size else size
            if at + length > size:
                raise NoRecords("{} is no TFRecord file, or cut off: at byte {}".format(path, at))
            lines.append(b"%d %d\n" % (at, length))
            at += length
    finally:
        os.close(handle)
    return b"".join(lines)
