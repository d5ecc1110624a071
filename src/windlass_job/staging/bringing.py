"""Results brought from a node's own disk to the run's working folder: written aside there, and renamed when whole.

The first node's files keep their paths; those of other nodes come into a folder with the node's name, so that two of
one name are kept apart.
"""

import os
import re
import shutil
import stat
import time
from contextlib import contextmanager
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from windlass_job import disk
from windlass_job.bounded import describe
from windlass_job.deputy_files import make_regex
from windlass_job.shards.links import find_inside

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
        self._links: Set[bytes] = set()  # among what was brought

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
            except (OSError, _Unfit) as error:
                failed += 1
                words = describe(error).lower() if isinstance(error, OSError) else str(error)
                problems.append("{}: {}".format(disk.as_text(relative), words))
                continue
            files, size = files + (count is not None), size + (count or 0)
        return Brought(files, size, problems[:_MOST_TOLD], failed)

    def _list(self) -> "Iterator[bytes]":
        """What was last changed first: where time is short, the newest counts."""
        found = []
        for folder, folders, names in os.walk(self._source):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            is_empty = not folders and not names and folder != self._source
            for path in [os.path.join(folder, name) for name in names + links] + [folder] * is_empty:
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
        if self._brought.get(relative) == sign:
            return None
        target = os.path.join(self._target, relative)
        self._remove_links_above(relative)
        if stat.S_ISDIR(before.st_mode):
            disk.make_folders(target)
        elif stat.S_ISLNK(before.st_mode):
            return self._bring_link(relative, target, sign)
        elif not stat.S_ISREG(before.st_mode):
            raise _Unfit("it is a pipe, a socket or a device")
        else:
            return self._bring_file(relative, target, sign, is_last)
        self._brought[relative] = sign
        return None

    def _bring_file(self, relative: bytes, target: bytes, sign: "Tuple[int, int]", is_last: bool) -> "Optional[int]":
        path = os.path.join(self._source, relative)
        with _aside(target) as aside:
            _copy(path, aside)
            after = os.lstat(path)
            is_same = (after.st_mtime_ns, after.st_size) == sign
            if not is_same and not is_last:
                return None  # being written: next time
            os.rename(aside, target)
        if is_same:
            self._brought[relative] = sign
        return os.stat(target).st_size

    def _bring_link(self, relative: bytes, target: bytes, sign: "Tuple[int, int]") -> int:
        """As a link, where it stays inside: through one that leads out, later results would be written elsewhere."""
        points_to = find_inside(self._source, relative)
        if points_to is None:
            raise _Unfit("it is a link that leads out of the node's folder")
        real = os.path.realpath(os.path.join(self._source, relative))
        inside = os.path.relpath(real, os.path.realpath(self._source))
        with _aside(target) as aside:
            if os.path.isfile(real) and not self._matches(disk.as_text(inside)):
                _copy(real, aside)  # what it points to does not come
                os.rename(aside, target)
                return os.stat(target).st_size
            if os.path.isdir(real) and not self._is_any_below(inside):
                raise _Unfit("it is a link to a folder that does not come back")
            os.symlink(points_to, aside)
            os.rename(aside, target)
        self._brought[relative] = sign
        self._links.add(relative)
        return 0

    def _is_any_below(self, folder: bytes) -> bool:
        return folder == b"." or any(one == folder or one.startswith(folder + b"/") for one in self._list())

    def _remove_links_above(self, relative: bytes) -> None:
        """What was a link when it was brought is a folder by now."""
        above = os.path.dirname(relative)
        while above:
            if above in self._links:
                disk.remove_if_there(os.path.join(self._target, above))
                self._links.discard(above)
            above = os.path.dirname(above)


class _Unfit(Exception):
    """It cannot be brought, in words."""


@contextmanager
def _aside(target: bytes) -> "Iterator[bytes]":
    """A name beside it, for what takes its name when it is whole."""
    folder, name = os.path.split(target)
    disk.make_folders(folder)
    aside = os.path.join(folder, b"." + name[:200] + b"." + disk.make_suffix())
    try:
        yield aside
    finally:
        disk.remove_if_there(aside)


def _copy(source: bytes, target: bytes) -> None:
    with open(source, "rb") as old, open(target, "xb") as new:
        mode = os.fstat(old.fileno()).st_mode
        shutil.copyfileobj(old, new, _PIECE)
        new.flush()
        os.fsync(new.fileno())
    os.chmod(target, stat.S_IMODE(mode))
