"""Processes that tasks have left behind: they would hold their cores and GPUs for ever."""

import os
import signal
from typing import List, Set


def be_subreaper() -> None:
    """What a task leaves behind becomes our child: so it can be found and ended."""
    try:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    except (ImportError, OSError, AttributeError):
        pass  # not Linux: they are not found


def end_strays(known: "Set[int]") -> int:
    """known: the first processes of what runs now. How many were ended."""
    found = [pid for pid in find_children(os.getpid()) if pid not in known and _find_session(pid) not in known]
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass  # it has ended
    return len(found)


def find_children(pid: int) -> "List[int]":
    try:
        with open("/proc/{0}/task/{0}/children".format(pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _find_session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
