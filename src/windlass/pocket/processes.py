"""Processes of a job: found, measured and killed, also those that ran away from their parent."""

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

MARKER = "WINDLASS_POCKET_JOB"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PROC = Path("/proc")
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    rss_kb: int
    is_zombie: bool


def become_subreaper() -> None:
    """Orphans of this process come to it, not to init. Elsewhere than on Linux they get away."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """For a child, before its exec."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def take_name(name: str) -> None:
    """As `ps` shows this process: a Python program is called python else. Only Linux lets us."""
    with contextlib.suppress(OSError):
        (_PROC / "self/comm").write_text(name, encoding="ascii")


def list_processes() -> dict[int, Process]:
    return _list_proc() if (_PROC / "self/stat").exists() else _list_ps()


def descendants(root: int, table: dict[int, Process], spare: Collection[int] = ()) -> list[int]:
    """Everything below `root`, without the subtrees of `spare` and without the dead."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: list[int] = []
    waiting = list(children.get(root, ()))
    while waiting:
        pid = waiting.pop()
        if pid in spare:
            continue
        if not table[pid].is_zombie:
            found.append(pid)
        waiting += children.get(pid, ())
    return found


def marked(mark: str, table: Iterable[int]) -> list[int]:
    """Processes that carry the mark of a job in their environment; only Linux can tell."""
    needle = f"{MARKER}={mark}".encode()
    found = []
    for pid in table:
        try:
            environment = (_PROC / str(pid) / "environ").read_bytes()
        except OSError:
            continue
        if needle in environment.split(b"\0"):
            found.append(pid)
    return found


def pss_kb(pid: int) -> int | None:
    """Memory with shared pages split among their users, None where the kernel does not say."""
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return None
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def children_max_rss_kb() -> int:
    """The most memory that one of the ended children had."""
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return most // 1024 if sys.platform == "darwin" else most


def send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def is_alive(pid: int) -> bool:
    process = list_processes().get(pid) if pid else None
    return process is not None and not process.is_zombie


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _list_proc() -> dict[int, Process]:
    table: dict[int, Process] = {}
    for path in _PROC.iterdir():
        if not path.name.isdigit():
            continue
        try:
            text = (path / "stat").read_bytes()
        except OSError:
            continue
        # The name in brackets may itself hold blanks and brackets.
        fields = text[text.rindex(b")") + 2 :].split()
        pid = int(path.name)
        table[pid] = Process(pid, int(fields[1]), int(fields[21]) * _PAGE_KB, fields[0] in b"ZX")
    return table


def _list_ps() -> dict[int, Process]:
    done = subprocess.run(["ps", "-axo", "pid=,ppid=,rss=,stat="], capture_output=True, text=True, check=False)
    table: dict[int, Process] = {}
    for line in done.stdout.splitlines():
        pid, parent, rss, stat = line.split(None, 3)
        table[int(pid)] = Process(int(pid), int(parent), int(rss), stat.startswith("Z"))
    return table
