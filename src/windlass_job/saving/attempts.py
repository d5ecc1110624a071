"""Whose turn it is in a folder of checkpoints: the newest attempt of a run, and no older one.

A node that Slurm took for dead may train on while its job runs again elsewhere. Each attempt writes into a folder of
its own inside the folder of checkpoints, .windlass-RUN.SUBMISSION.LINK.ATTEMPT, and publishes by renaming out of it.
A newer attempt that opens the folder renames those of older ones away: their next rename finds nothing to rename. So
the file system itself decides, in one step and without locks.

It holds for every order of events: each makes its own folder first and looks for others then, so of two that come at
the same moment the newer sees the older's folder, or the older sees the newer's.
"""

import errno
import os
import re
import shutil

from windlass_job import disk, wire
from windlass_job.bounded import say
from windlass_job.faults import pass_point
from windlass_job.saving import world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, List, Mapping, Optional, Tuple

    Order = Tuple[int, int, int]

LOCAL = b".windlass-local"
REMOVED = b".windlass-removed-"
_NAME = re.compile(rb"\.windlass-(.+)\.(\d+)\.(\d+)\.(\d+)\Z")
_TOKEN = re.compile(rb"(.+)\.(\d+)\.[0-9a-f]+\Z")
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


class FencedOff(RuntimeError):
    """A newer attempt of this run has taken over: this one must save nothing more, and end."""


class Aside:
    """This attempt's own folder beside the checkpoints. One process, rank 0, opens it; the others look for it."""

    def __init__(self, folder: bytes, env: "Mapping[str, str]") -> None:
        self._folder = folder
        self._run = disk.as_path(env.get(wire.ENV_RUN_ID) or "run") if env.get(wire.ENV_RUN_DIR) else b""
        self._order = world.read_order(env)
        name = b".windlass-%s.%d.%d.%d" % ((self._run,) + self._order) if self._run else LOCAL
        self.root = os.path.join(folder, name)
        self._token = b""

    @property
    def path(self) -> bytes:
        """Where this process writes. Its name is random: who makes the folder above again does not bring it back."""
        return os.path.join(self.root, self._token)

    def open(self) -> None:
        """Take the turn. Raises FencedOff when a newer attempt has it."""
        if self._token:
            return
        disk.make_folders(self._folder)
        try:
            _make_one(self.root)
            self._make_own()
            disk.flush(self._folder)
        except OSError as error:
            raise self.explain(error)
        self.check()
        for name, order in self._list_others():
            if order < self._order:
                remove_folder(os.path.join(self._folder, name), self._folder)
        self._remove_dead()

    def join(self) -> bool:
        """A place for this process in the folder that rank 0 opens; False as long as it has not."""
        if not self._token:
            try:
                self._make_own()
            except FileNotFoundError:
                self._token = b""
        return bool(self._token)

    def _make_own(self) -> None:
        host = os.fsencode(os.uname().nodename.replace("/", "_"))
        self._token = b"%s.%d.%s" % (host, os.getpid(), disk.make_suffix())
        os.mkdir(self.path)

    def check(self) -> None:
        """Raises FencedOff when a newer attempt has opened the folder."""
        newer = [order for _, order in self._list_others() if order > self._order]
        if newer:
            if self._token:
                remove_folder(self.root, self._folder)
            raise FencedOff(self._tell(max(newer)))

    def explain(self, error: OSError) -> "Exception":
        """What to raise for a path that has vanished: FencedOff where that is why."""
        if error.errno not in _GONE or os.path.isdir(self.path):
            return error
        newer = [order for _, order in self._list_others() if order > self._order]
        return FencedOff(self._tell(max(newer) if newer else None))

    def list_inside(self, name: bytes) -> "List[bytes]":
        """Paths with this name that processes of this attempt have made, oldest first."""
        _look_again(self.root)
        places = [os.path.join(self.root, token) for token in _list(self.root)]
        for place in places:
            _look_again(place)
        found = (os.path.join(place, name) for place in places)
        return sorted(filter(os.path.lexists, found), key=os.path.getmtime)

    def _tell(self, newer: "Optional[Order]") -> str:
        mine = "this one (submission {}, link {}, attempt {}) publishes nothing more".format(*self._order)
        if newer is None:
            return "{} was removed: {}".format(disk.as_text(self.root), mine)
        theirs = "a newer attempt (submission {}, link {}, attempt {})".format(*newer)
        return "{} has taken over {}: {}".format(theirs, disk.as_text(self._folder), mine)

    def _list_others(self) -> "Iterator[Tuple[bytes, Order]]":
        """Of this run only: attempts of another run that uses the same folder cannot be compared."""
        _look_again(self._folder)
        for name in _list(self._folder) if self._run else ():
            found = _NAME.match(name)
            if found and found.group(1) == self._run and name != os.path.basename(self.root):
                yield name, (int(found.group(2)), int(found.group(3)), int(found.group(4)))

    def _remove_dead(self) -> None:
        """What an earlier try of this same attempt left behind when it was killed, and what is half removed."""
        for name in _list(self._folder):
            if name.startswith(REMOVED):
                shutil.rmtree(os.path.join(self._folder, name), ignore_errors=True)
        host = self._token.rsplit(b".", 2)[0]
        for token in _list(self.root):
            found = _TOKEN.match(token)
            if found and found.group(1) == host and token != self._token and not _is_alive(int(found.group(2))):
                remove_folder(os.path.join(self.root, token), self.path)


def remove_folder(path: bytes, place: bytes, point: str = "") -> None:
    """Renamed away at once, then emptied: nobody ever sees a half of it."""
    away = os.path.join(place, REMOVED + disk.make_suffix())
    try:
        os.rename(path, away)
    except OSError as error:
        if error.errno not in _GONE:
            say("cannot remove {}: {}".format(disk.as_text(path), error.strerror))
        return
    pass_point(point)
    shutil.rmtree(away, ignore_errors=True)


def _make_one(path: bytes) -> None:
    try:
        os.mkdir(path)
    except FileExistsError:
        pass


def _list(path: bytes) -> "List[bytes]":
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def _look_again(path: bytes) -> None:
    """A folder on a file server may look as it did a minute ago, until we change it."""
    try:
        os.utime(path)
    except OSError:
        pass


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
