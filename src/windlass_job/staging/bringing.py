"""Results brought from a node's own disk to the run's working folder: written aside there, and renamed when whole.

The first node's files keep their paths; those of other nodes come into a folder with the node's name, so that two of
one name are kept apart.
"""

import os
import re
import shutil
import stat
import time
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from windlass_job import disk
from windlass_job.bounded import describe
from windlass_job.deputy_files import make_regex

_PIECE = 4 << 20
_MOST_TOLD = 3

Brought = NamedTuple(
    "Brought",
    [
        ("files", int),
        ("bytes", int),
        ("problems", List[str]),  # sentences, a few of them
        ("failed", int),
    ],
)


class Bringer:
    """Remembers what it has brought: again only what has changed since."""

    def __init__(self, source: bytes, target: bytes, patterns: List[str]) -> None:
        self._source = source
        self._target = target
        self._matches = re.compile("|".join(make_regex(pattern) for pattern in patterns)).match
        self._brought: Dict[bytes, Tuple[int, int]] = {}

    def bring(self, deadline: float, is_last: bool) -> Brought:
        """is_last: also files that are being written at this moment. `deadline` by time.monotonic."""
        files, size, failed = 0, 0, 0
        problems: List[str] = []
        for relative in self._list():
            if time.monotonic() > deadline:
                problems.append("there was no time for the rest")
                failed += 1
                break
            try:
                count = self._bring_one(relative, is_last)
            except OSError as error:
                failed += 1
                problems.append("{}: {}".format(disk.as_text(relative), describe(error).lower()))
                continue
            files, size = files + (count is not None), size + (count or 0)
        return Brought(files, size, problems[:_MOST_TOLD], failed)

    def _list(self) -> "Iterator[bytes]":
        """What was last changed first: where time is short, the newest counts."""
        found = []
        for folder, _, names in os.walk(self._source):
            for name in names:
                path = os.path.join(folder, name)
                relative = os.path.relpath(path, self._source)
                if self._matches(disk.as_text(relative)):
                    try:
                        found.append((os.lstat(path).st_mtime_ns, relative))
                    except OSError:
                        continue  # removed just now
        return (relative for _, relative in sorted(found, reverse=True))

    def _bring_one(self, relative: bytes, is_last: bool) -> "Optional[int]":
        """Its bytes; None where there was nothing to do."""
        path = os.path.join(self._source, relative)
        before = os.lstat(path)
        sign = (before.st_mtime_ns, before.st_size)
        if not stat.S_ISREG(before.st_mode) or self._brought.get(relative) == sign:
            return None
        target = os.path.join(self._target, relative)
        disk.make_folders(os.path.dirname(target))
        aside = os.path.join(os.path.dirname(target), b"." + os.path.basename(target)[:200] + b"." + disk.make_suffix())
        try:
            _copy(path, aside)
            after = os.lstat(path)
            is_same = (after.st_mtime_ns, after.st_size) == sign
            if not is_same and not is_last:
                return None  # being written: next time
            os.rename(aside, target)
        finally:
            disk.remove_if_there(aside)
        if is_same:
            self._brought[relative] = sign
        return os.stat(target).st_size


def _copy(source: bytes, target: bytes) -> None:
    with open(source, "rb") as old, open(target, "xb") as new:
        mode = os.fstat(old.fileno()).st_mode
        shutil.copyfileobj(old, new, _PIECE)
        new.flush()
        os.fsync(new.fileno())
    os.chmod(target, stat.S_IMODE(mode))
