"""Whether a process that wrote itself down is still alive: same boot, same process, not a zombie."""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple


def describe_process() -> "Dict[str, Any]":
    """What it takes to know this process again: a process id alone is used again and again."""
    pid = os.getpid()
    return {"host": os.uname()[1], "boot": read_boot_id(), "pid": pid, "pid_start": _read_process(pid)[1]}


def is_same_boot(record: "Dict[str, Any]") -> bool:
    return record.get("host") == os.uname()[1] and record.get("boot") == read_boot_id()


def is_alive(record: "Dict[str, Any]", *, with_group: bool = False) -> bool:
    """Of this host and boot. with_group: or what a wrapper script it has become left behind in its group."""
    pid = record.get("pid")
    if not isinstance(pid, int):
        return False
    state, start, _ = _read_process(pid)
    if state is not None and start != record.get("pid_start"):
        return False  # another process has this id by now, so its group is gone too
    if state is not None and state not in "ZX":
        return True
    if not os.path.isdir("/proc/self"):
        return _answers_signal(pid)
    return with_group and _has_group(pid)


def wait_for_group(group: int, limit_s: float) -> None:
    """Until all of a group that was killed have ended: a signal takes a moment to arrive."""
    deadline = time.monotonic() + limit_s
    while _has_group(group) and time.monotonic() < deadline:
        time.sleep(0.01)


def read_boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def _answers_signal(pid: int) -> bool:
    """The best there is without /proc (macOS)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _has_group(group: int) -> bool:
    if not os.path.isdir("/proc/self"):
        return False
    found = (_read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return any(state is not None and state not in "ZX" and its == group for state, _, its in found)


def _read_process(pid: int) -> "Tuple[Optional[str], Optional[int], Optional[int]]":
    """State, start (ticks since boot) and process group, from /proc; Nones without it."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None, None, None
    return words[0].decode(), int(words[19]), int(words[2])
