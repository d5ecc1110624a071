"""Processes that tasks have left behind: they would hold their cores and GPUs for ever."""

import os
import signal
import time
from typing import Callable, Iterable, List, NamedTuple, Optional, Set

from windlass_job import wire

_PAUSE_S = 0.01
_MOST_LISTED = 4096  # bytes; those that stand behind change nothing
_TASK = wire.ENV_TASK.encode("ascii") + b"="

# What runs: the first processes of tasks and workers, and numbers of tasks.
Known = NamedTuple("Known", [("pids", Set[int]), ("tasks", Set[int])])


class Strays:
    """Looked for now and then. What is seen twice is ended: a task that has just begun may not be known yet."""

    def __init__(self) -> None:
        self._seen: "Set[int]" = set()
        self._children = _open_children(os.getpid())

    def are_here(self, find_known: "Callable[[], Set[int]]") -> bool:
        """Asked after each task, of which there may be a million. find_known: children that no task has left behind."""
        if self._children is None:
            return False
        listed = os.pread(self._children, _MOST_LISTED, 0)
        return bool(listed) and not find_known().issuperset(map(int, listed.split()))

    def close(self) -> None:
        if self._children is not None:
            os.close(self._children)
            self._children = None

    def look(self, find_known: "Callable[[], Known]") -> None:
        """find_known: asked after the look at processes."""
        found, known = find_children(os.getpid()), find_known()
        strays = {pid for pid in found if not _is_of(pid, known)}
        end_strays(strays & self._seen)
        self._seen = strays


def end_strays(pids: "Iterable[int]") -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)  # one that has ended before
        except OSError:
            pass  # it has ended


def end_all_strays(limit_s: float = 2.0) -> None:
    """What they have started becomes ours when they are gone, and is ended too."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        children = find_children(os.getpid())
        if not children:
            return
        end_strays(children)
        time.sleep(_PAUSE_S)


def _open_children(pid: int) -> "Optional[int]":
    try:
        return os.open("/proc/{0}/task/{0}/children".format(pid), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None  # not Linux


def find_children(pid: int) -> "List[int]":
    """Of the main thread, which also gets those whose parents are gone; not of its lanes."""
    try:
        with open("/proc/{0}/task/{0}/children".format(pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _is_of(pid: int, known: Known) -> bool:
    if pid in known.pids or _find_session(pid) in known.pids:
        return True
    return _find_task(pid) in known.tasks  # a server that a task has sent into the background, for itself


def _find_session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _find_task(pid: int) -> int:
    """The one whose environment it has; -1: none."""
    try:
        with open("/proc/{}/environ".format(pid), "rb") as file:
            found = [word[len(_TASK) :] for word in file.read().split(b"\0") if word.startswith(_TASK)]
        return int(found[0]) if found else -1
    except (OSError, ValueError):
        return -1
