"""The processes of this job on this node: their CPU time, memory and input and output, by rank where they have one."""

import os
import re
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set

from windlass_job import wire
from windlass_job.processes import read_stat

MOST_RANKS = 32  # of one node that get a column each
_LOOK_AGAIN_AFTER = 20  # samples: a number may be given again to a process of ours
_LONGEST = 1 << 18  # bytes of an environment
_RANKS = re.compile(rb"(?:\A|\0)(?:RANK|OMPI_COMM_WORLD_RANK|PMIX_RANK|PMI_RANK)=(\d{1,6})(?=\0|\Z)")
_READ = re.compile(rb"^(read_bytes|write_bytes): (\d+)$", re.MULTILINE)

Share = NamedTuple(
    "Share",
    [
        ("parent", int),
        ("rank", Optional[int]),
        ("cpu_s", float),  # its own, and that of children it has waited for; so are those below
        ("read_bytes", int),  # from disks and NFS
        ("write_bytes", int),
        ("memory_bytes", int),  # pages that several share are counted for each
    ],
)
Work = NamedTuple(
    "Work",
    [
        ("cpu_s", float),
        ("read_bytes", int),
        ("write_bytes", int),
        ("memory_bytes", int),
        ("rank_cpu_s", Dict[int, float]),  # of ranks that live
    ],
)


class JobProcesses:
    """Remembers who belongs to the job, so that each of the many others of a node is looked at once.

    What one has done is not lost when it ends: its parent takes it over if that is one of us, else it is kept here.
    """

    def __init__(self, env: Mapping[str, str], root: str = "/proc") -> None:
        self._root = root
        self._marks = [
            "{}={}".format(name, env[name]).encode() for name in ("SLURM_JOB_ID", wire.ENV_START) if env.get(name)
        ]
        self._own: Set[int] = set()
        self._strangers: Set[int] = set()
        self._ranks: Dict[int, int] = {}
        self._alive: Dict[int, Share] = {}
        self._ended: List[Share] = []
        self._looks = 0
        self._tick_s = 1.0 / os.sysconf("SC_CLK_TCK")
        self._page = os.sysconf("SC_PAGE_SIZE")

    def load(self, folder: Optional[str]) -> Work:
        """folder: the control group of the job, which knows its processes; else they are known by their variables."""
        pids = set(load_members(folder) if folder else self._find_own()) - {os.getpid()}
        found = ((pid, self._load_share(pid)) for pid in pids)
        alive = {pid: share for pid, share in found if share is not None}
        gone = (share for pid, share in self._alive.items() if pid not in alive and share.parent not in alive)
        self._ended = [_add_up(self._ended + list(gone))]
        self._alive = alive
        self._ranks = {pid: rank for pid, rank in self._ranks.items() if pid in alive}
        return self._make_work(list(alive.values()))

    def _make_work(self, alive: List[Share]) -> Work:
        total = _add_up(self._ended + alive)
        ranks: Dict[int, float] = {}
        for share in alive:
            if share.rank is not None:
                ranks[share.rank] = ranks.get(share.rank, 0.0) + share.cpu_s
        memory = sum(share.memory_bytes for share in alive)
        return Work(total.cpu_s, total.read_bytes, total.write_bytes, memory, ranks)

    def _load_share(self, pid: int) -> Optional[Share]:
        try:
            process = read_stat(self._load(pid, "stat").decode("utf-8", "replace"))
        except (ValueError, IndexError):
            return None  # it has just ended
        moved = {name: int(number) for name, number in _READ.findall(self._load(pid, "io"))}
        return Share(
            parent=process.parent,
            rank=self._find_rank(pid),
            cpu_s=process.cpu_ticks * self._tick_s,
            read_bytes=moved.get(b"read_bytes", 0),
            write_bytes=moved.get(b"write_bytes", 0),
            memory_bytes=process.resident_pages * self._page,
        )

    def _find_rank(self, pid: int) -> Optional[int]:
        """Looked for again until there is one: a shell sets it before it becomes the program."""
        if pid not in self._ranks:
            found = _RANKS.search(self._load(pid, "environ"))
            if found is None:
                return None
            self._ranks[pid] = int(found.group(1))
        return self._ranks[pid]

    def _find_own(self) -> List[int]:
        self._looks += 1
        if self._looks % _LOOK_AGAIN_AFTER == 0:
            self._own.clear()
            self._strangers.clear()
        try:
            pids = [int(name) for name in os.listdir(self._root) if name.isdigit()]
        except OSError:
            return []
        return [pid for pid in pids if pid not in self._strangers and self._is_own(pid)]

    def _is_own(self, pid: int) -> bool:
        if pid not in self._own:
            words = self._load(pid, "environ").split(b"\0")
            is_own = any(mark in words for mark in self._marks)
            (self._own if is_own else self._strangers).add(pid)
        return pid in self._own

    def _load(self, pid: int, name: str) -> bytes:
        """Empty where it has ended, or is somebody else's."""
        return load_bytes("{}/{}/{}".format(self._root, pid, name))


def _add_up(shares: Sequence[Share]) -> Share:
    """As one that has no rank and no parent."""
    return Share(
        parent=0,
        rank=None,
        cpu_s=sum(share.cpu_s for share in shares),
        read_bytes=sum(share.read_bytes for share in shares),
        write_bytes=sum(share.write_bytes for share in shares),
        memory_bytes=0,
    )


def load_members(folder: str) -> List[int]:
    """All processes of a control group and those below it."""
    found: List[int] = []
    for place, _, names in os.walk(folder):
        if "cgroup.procs" in names:
            found += _read_numbers(load_bytes(os.path.join(place, "cgroup.procs")).split())
    return found


def load_bytes(path: str) -> bytes:
    """Without Python's files, which take four times as long; empty where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _LONGEST)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _read_numbers(words: Iterable[bytes]) -> List[int]:
    return [int(word) for word in words if word.isdigit()]
