"""A shard on its way: a file aside that grows, is checked, brought to the disk and renamed.

A part's name is the plan of its shard: which files, as they were. The same plan goes on where it was cut; another
one begins anew.
"""

import os
import re
import zlib

from windlass_job import disk
from windlass_job.shards.card import Shard, keep_mode
from windlass_job.shards.index import Index, IndexDamaged, name_index
from windlass_job.shards.verifying import verify_archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

ASIDE = b".sending"
_PART = ".part"
_DONE = ".done"
_PLAN = re.compile("[0-9a-f]{16,64}")
_BLOCK = 1 << 20
_FLUSH_EVERY = 8 << 20  # what is acknowledged in the end is on the disk by then, all but a little


class Part:
    """`write` as the bytes come; `finish` when all are there."""

    def __init__(self, folder: bytes, plan: str, name: str, start: int) -> None:
        check_names(plan, name)
        self._folder = folder
        self.plan = plan
        self.name = name
        self.path = os.path.join(folder, ASIDE, disk.as_path(plan + _PART))
        self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(self._handle, min(start, os.fstat(self._handle).st_size))
        self.crc = _count_crc(self._handle)
        self.written = os.lseek(self._handle, 0, os.SEEK_END)
        self._flushed = self.written

    def write(self, piece: memoryview) -> None:
        self.crc = zlib.crc32(piece, self.crc)
        self.written += len(piece)
        while len(piece):
            piece = piece[os.write(self._handle, piece) :]
        if self.written - self._flushed >= _FLUSH_EVERY:
            disk.begin_flush(self._handle, self._flushed, self.written)
            self._flushed = self.written

    def close(self) -> None:
        os.close(self._handle)

    def finish(
        self, index: bytes, size: int, crc: int, check_files: bool, about: "Optional[Dict[str, Any]]" = None
    ) -> "Dict[str, Any]":
        """The shard under its name, with its index. Refused where its bytes are not those that were sent.

        about: what the laptop wants to know again when it goes on.
        """
        aside = self.path + b".idx"
        try:
            disk.remove_if_there(aside)
            disk.write_new(aside, index)
            shard = Shard(self.name, size, _count_files(aside), zlib.crc32(index))
            is_whole = self.written == size and self.crc == crc
            if not is_whole or check_files:
                self._look_for_damage(aside, shard, is_whole)
            os.fsync(self._handle)
        finally:
            os.close(self._handle)
        disk.flush(aside)
        for path in (aside, self.path):
            keep_mode(self._folder, path)
        record = dict(shard.as_json(), about=about) if about else shard.as_json()
        disk.replace(self.path[: -len(_PART)] + disk.as_path(_DONE), disk.make_json(record))
        os.rename(aside, os.path.join(self._folder, disk.as_path(name_index(self.name))))
        os.rename(self.path, os.path.join(self._folder, disk.as_path(self.name)))
        disk.flush(self._folder)
        return record

    def _look_for_damage(self, index: bytes, shard: Shard, is_whole: bool) -> None:
        where = find_damage(self.path, index, shard)
        if where is None and is_whole:
            return
        disk.remove_if_there(index)
        disk.remove_if_there(self.path)
        raise disk.Refused("damaged", "{} arrived damaged ({})".format(self.name, where or "around its files"))


def check_names(plan: str, name: str) -> None:
    if not _PLAN.fullmatch(plan) or "/" in name or "\0" in name or name.startswith(".") or not name.endswith(".tar"):
        raise disk.Refused("failed", "{!r} of {!r} is no shard".format(name, plan))


def find_damage(path: bytes, index_path: bytes, shard: Shard) -> "Optional[str]":
    """Which file is not as the index has it, in words; None when all are."""
    for damage in verify_archive(path, index_path, shard):
        return damage.make_line()
    return None


def list_parts(folder: bytes) -> "Dict[str, int]":
    """Plan -> how many bytes of it are here."""
    aside = os.path.join(folder, ASIDE)
    names = [disk.as_text(one) for one in os.listdir(aside)]
    found = {}
    for name in names:
        if name.endswith(_PART):
            found[name[: -len(_PART)]] = os.stat(os.path.join(aside, disk.as_path(name))).st_size
    return found


def list_done(folder: bytes) -> "Dict[str, Dict[str, Any]]":
    """Plan -> what of it lies here whole, under its name."""
    aside = os.path.join(folder, ASIDE)
    found = {}
    for name in (disk.as_text(one) for one in os.listdir(aside)):
        record = disk.read_json(os.path.join(aside, disk.as_path(name))) if name.endswith(_DONE) else None
        if record is not None and is_there(folder, str(record["name"]), int(record["bytes"])):
            found[name[: -len(_DONE)]] = record
    return found


def forget(folder: bytes, plan: str) -> None:
    disk.remove_if_there(os.path.join(folder, ASIDE, disk.as_path(plan + _DONE)))


def is_there(folder: bytes, name: str, size: int) -> bool:
    try:
        is_whole = os.stat(os.path.join(folder, disk.as_path(name))).st_size == size
        return is_whole and os.path.exists(os.path.join(folder, disk.as_path(name_index(name))))
    except OSError:
        return False


def _count_files(index_path: bytes) -> int:
    try:
        index = Index(index_path)
    except IndexDamaged as problem:
        raise disk.Refused("damaged", str(problem))
    try:
        return len(index)
    finally:
        index.close()


def _count_crc(handle: int) -> int:
    crc, at = 0, 0
    while True:
        piece = os.pread(handle, _BLOCK, at)
        if not piece:
            return crc
        crc = zlib.crc32(piece, crc)
        at += len(piece)
