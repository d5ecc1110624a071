"""What is copied to a node: items, each a shard with its index or one plain file, and how far each has come.

An item is one or two files. They are written aside, checked while they are written, and renamed when whole: nobody sees
a part of one. What has been written can be passed on to the next node before the item is whole.
"""

import errno
import os
import threading
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from windlass_job import disk
from windlass_job.staging.checking import Check, Damaged, check_nothing
from windlass_job.staging.window import Window

Part = NamedTuple(
    "Part",
    [
        ("source", bytes),
        ("target", bytes),
        ("size", Optional[int]),  # None: known only when it has been read
        ("make_check", Callable[[], Check]),
    ],
)

Item = NamedTuple(
    "Item",
    [
        ("number", int),  # of all items of the job, the same on every node
        ("name", str),  # for people
        ("parts", List[Part]),
        ("is_awaited", bool),  # the command starts only when it is here
    ],
)

WAITING, COMING, HERE, FAILED = "waiting", "coming", "here", "failed"


class Stopped(Exception):
    """The job ends: nothing more is copied."""


class Full(Exception):
    """This node has no room for the rest."""


class Arrival:
    """One item as it comes in: its parts in order, each from its first byte to its last."""

    def __init__(self, item: Item, changed: Callable[[], None]) -> None:
        self.item = item
        self.state = WAITING
        self.problem = ""
        self.sizes: List[int] = []  # of the parts that are whole
        self.written = 0  # of the part that is coming
        self.writing = 0  # one more whenever it is begun anew
        self._changed = changed
        # One thread writes it, and another may give it up: a handle must not be closed, and given to another file,
        # in between. Never held while others are told, who look at states under a lock of their own.
        self._lock = threading.Lock()
        self._has_room = threading.Condition(self._lock)
        self._window: Optional[Window] = None  # where it only passes through
        self._is_begun = False
        self._handle: Optional[int] = None
        self._check = check_nothing()

    @property
    def part(self) -> Part:
        return self.item.parts[len(self.sizes)]

    def write(self, data: memoryview) -> None:
        """May raise Full, Damaged and OSError."""
        with self._lock:
            while self.state != FAILED and self._window is not None and not self._window.has_room(len(data)):
                self._has_room.wait()
            if self.state == FAILED:
                raise Full(self.problem)
            if not self._is_begun:
                self._begin()
            self._check.feed(data)
            if self._window is not None:
                self._window.append(data)
            else:
                self._write_file(data)
            self.written += len(data)
        self._changed()

    def _write_file(self, data: memoryview) -> None:
        assert self._handle is not None
        left = data
        try:
            while len(left):
                left = left[os.write(self._handle, left) :]
        except OSError as error:
            raise _translate(error)

    def end_part(self) -> None:
        """May raise Damaged: it is not what was packed, or was cut short."""
        with self._lock:
            if self.state == FAILED:
                raise Full(self.problem)
            if not self._is_begun:
                self._begin()
            part = self.part
            if part.size is not None and self.written != part.size:
                raise Damaged("{} has {} bytes instead of {}".format(self.item.name, self.written, part.size))
            self._check.end()
            self._close()
            if self._window is None:
                os.rename(make_aside(part.target), part.target)
            self._whole(self.written)
        self._changed()

    def adopt(self, path: bytes) -> None:
        """A file that an earlier start of this run has left on this disk, checked already, becomes this part."""
        with self._lock:
            size = os.stat(path).st_size
            os.rename(path, self.part.target)
            self._whole(size)
        self._changed()

    def give_up(self, state: str, problem: str) -> None:
        """What was written of the part that was coming is removed."""
        with self._lock:
            if self.state == HERE:
                return  # it came while somebody decided that it would not
            self._close()
            if len(self.sizes) < len(self.item.parts) and self._window is None:
                disk.remove_if_there(make_aside(self.part.target))
            self.state, self.problem, self.written = state, problem, 0
            if state == WAITING:
                self.sizes = []
                self.writing += 1
                if self._window is not None:
                    self._window.begin_anew()
            self._has_room.notify_all()
        self._changed()

    # ---- what only passes through: one part, which is on no disk

    def pass_through(self, reader: str) -> None:
        """Said before anything comes. It is kept until every reader that said so has had it."""
        with self._lock:
            self._window = self._window or Window()
            self._window.join(reader)

    @property
    def passes_through(self) -> bool:
        return self._window is not None

    def view(self, offset: int, most: int) -> Tuple[memoryview, int]:
        """Some of what comes next, and of which writing it is. It stays as it is until the reader lets go of it."""
        with self._lock:
            assert self._window is not None
            return self._window.view(offset, most), self.writing

    def let_go(self, reader: str, offset: int, writing: Optional[int] = None) -> None:
        """This reader needs nothing before it any more. writing: only where it is still that one."""
        with self._lock:
            if self._window is not None and writing in (None, self.writing):
                self._window.advance(reader, offset)
            self._has_room.notify_all()

    def let_all_go(self, reader: str) -> None:
        """Of this writing; where it comes anew, this reader begins anew too."""
        with self._lock:
            if self._window is not None:
                self._window.advance(reader)
            self._has_room.notify_all()

    def leave(self, reader: str) -> None:
        with self._lock:
            if self._window is not None:
                self._window.leave(reader)
            self._has_room.notify_all()

    def open(self, part: int) -> int:
        """For reading what is here of a part, whole or not."""
        target = self.item.parts[part].target
        try:
            return os.open(make_aside(target), os.O_RDONLY)
        except FileNotFoundError:
            return os.open(target, os.O_RDONLY)

    def count_ready(self, part: int) -> int:
        if part < len(self.sizes):
            return self.sizes[part]
        return self.written if part == len(self.sizes) else 0

    def _begin(self) -> None:
        self.state = COMING
        part = self.part
        self._check = part.make_check()
        self.written = 0
        if self._window is None:
            aside = make_aside(part.target)
            disk.remove_if_there(aside)
            self._handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            _reserve(self._handle, part.size)
        self._is_begun = True

    def _whole(self, size: int) -> None:
        self.sizes.append(size)
        self.written = 0
        if len(self.sizes) == len(self.item.parts):
            self.state = HERE

    def _close(self) -> None:
        self._is_begun = False
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Store:
    """All items of one node. `news` is notified at every change; whoever reads states holds its lock."""

    def __init__(self, items: List[Item]) -> None:
        self.news = threading.Condition()
        self.arrivals: Dict[int, Arrival] = {item.number: Arrival(item, self._tell) for item in items}
        self.is_stopped = False
        self.changes = 0
        self.is_full = False

    def _tell(self) -> None:
        with self.news:
            if self.is_stopped:
                raise Stopped()
            self.changes += 1
            self.news.notify_all()

    def stop(self) -> None:
        with self.news:
            self.is_stopped = True
            self.news.notify_all()

    def count(self, *states: str) -> int:
        return sum(1 for one in self.arrivals.values() if one.state in states)

    def is_over(self) -> bool:
        """Nothing more will come."""
        return self.is_stopped or self.count(HERE, FAILED) == len(self.arrivals)

    def is_awaited(self) -> bool:
        """Something without which the command does not start is not here yet."""
        waiting = (one for one in self.arrivals.values() if one.item.is_awaited)
        return not self.is_stopped and any(one.state in (WAITING, COMING) for one in waiting)

    def fail_rest(self, problem: str) -> None:
        """This node takes no more."""
        with self.news:
            rest = [one for one in self.arrivals.values() if one.state in (WAITING, COMING)]
        for one in rest:
            one.give_up(FAILED, problem)


def make_aside(target: bytes) -> bytes:
    folder, name = os.path.split(target)
    return os.path.join(folder, b"." + name[:200] + b".part")


def _reserve(handle: int, size: Optional[int]) -> None:
    """A disk that is too full says so now, and not when the last byte is written."""
    if not size:
        return
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError as error:
        if error.errno in disk.NO_SPACE:
            raise _translate(error)
        # a file system that cannot reserve


def _translate(error: OSError) -> Exception:
    if error.errno in disk.NO_SPACE or error.errno == errno.EFBIG:
        return Full(os.strerror(error.errno).lower())
    return error
