"""What /proc says about the processes of this job."""

import os
from typing import Dict, List, NamedTuple, Optional, Set

Process = NamedTuple(
    "Process",
    [
        ("pid", int),
        ("name", str),
        ("state", str),
        ("parent", int),
        ("session", int),
        ("cpu_ticks", int),  # its own and that of the children it has waited for
        ("resident_pages", int),
    ],
)

_ENDED = ("Z", "X", "x")


def load_processes() -> Dict[int, Process]:
    """Every process that we may see and that has not ended; empty where there is no /proc."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    found = (_load_process(int(name)) for name in names if name.isdigit())
    return {process.pid: process for process in found if process and process.state not in _ENDED}


def _load_process(pid: int) -> Optional[Process]:
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            return read_stat(file.read().decode("utf-8", "replace"))
    except (OSError, ValueError, IndexError):
        return None  # it has just ended


def read_stat(text: str) -> Process:
    # The name stands in parentheses and may itself hold spaces and parentheses.
    pid, rest = text.split(" (", 1)
    name, rest = rest.rsplit(")", 1)
    words = rest.split()
    return Process(
        pid=int(pid),
        name=name,
        state=words[0],
        parent=int(words[1]),
        session=int(words[3]),
        cpu_ticks=sum(int(word) for word in words[11:15]),
        resident_pages=int(words[21]),
    )


def find_tree(root: int, processes: Dict[int, Process]) -> List[Process]:
    """The process and its descendants, parents first."""
    children = find_children(processes)
    tree = [processes[root]] if root in processes else []
    for process in tree:
        tree.extend(children.get(process.pid, []))
    return tree


def find_children(processes: Dict[int, Process]) -> Dict[int, List[Process]]:
    children: Dict[int, List[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    return children


def load_command_line(pid: int) -> List[str]:
    try:
        with open("/proc/{}/cmdline".format(pid), "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def load_pipes(pid: int, descriptors: Set[int]) -> Set[str]:
    """The pipes behind these file descriptors, as the kernel names them."""
    pipes = set()
    for descriptor in descriptors:
        try:
            target = os.readlink("/proc/{}/fd/{}".format(pid, descriptor))
        except OSError:
            continue
        if target.startswith("pipe:"):
            pipes.add(target)
    return pipes
