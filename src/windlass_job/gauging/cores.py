"""The cores that this job may use, and how long each was busy."""

import os
import re
from typing import Dict, FrozenSet, Mapping, NamedTuple, Optional, Set, Tuple

from windlass_job import slurm
from windlass_job.gauging.who import load_bytes

FULL = 0.9  # of the time: a core that is a limit to somebody
_LINE = re.compile(rb"^cpu(\d+) ([\d ]+)$", re.MULTILINE)
_IDLE = (3, 4)  # idle, and waiting for a disk
_COUNTED = 8  # guests are counted again in what follows

Times = Dict[int, Tuple[int, int]]  # (busy, all) in ticks
Cores = NamedTuple(
    "Cores",
    [
        ("count", int),
        ("own", Optional[FrozenSet[int]]),  # their numbers; None: the job is not bound to cores of its own
    ],
)


def find_cores(env: Mapping[str, str], folders: Mapping[str, str]) -> Cores:
    """By the control group, else by what this process may use, else by what Slurm says was given."""
    everything = os.cpu_count() or 1
    own = _load_cpuset(folders) or _load_affinity()
    if own and len(own) < everything:
        return Cores(len(own), own)
    given = read_given(env) or everything
    return Cores(given, own if given >= everything else None)


def read_given(env: Mapping[str, str]) -> Optional[int]:
    """Of this node, from `12(x2),4`."""
    counts = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", env.get("SLURM_JOB_CPUS_PER_NODE", "")):
        counts += [int(count)] * min(int(times or 1), 100000)
    place = slurm.read_number(env, "SLURM_NODEID", 0)
    return counts[place] if place < len(counts) else None


def load_times() -> Times:
    found: Times = {}
    for number, words in _LINE.findall(load_bytes("/proc/stat")):
        ticks = [int(word) for word in words.split()[:_COUNTED]]
        idle = sum(ticks[place] for place in _IDLE if place < len(ticks))
        found[int(number)] = (sum(ticks) - idle, sum(ticks))
    return found


def count_full(before: Times, after: Times, own: FrozenSet[int]) -> int:
    """How many of our cores were busy nearly all of the time between, by whomever."""
    return sum(1 for core in own if core in before and core in after and _is_full(before[core], after[core]))


def _is_full(before: Tuple[int, int], after: Tuple[int, int]) -> bool:
    passed = after[1] - before[1]
    return passed > 0 and (after[0] - before[0]) / passed >= FULL


def _load_cpuset(folders: Mapping[str, str]) -> FrozenSet[int]:
    names = (("", "cpuset.cpus.effective"), ("cpuset", "cpuset.cpus"))
    texts = (load_bytes(os.path.join(folders[key], name)) for key, name in names if key in folders)
    return next((cpus for cpus in map(read_ranges, texts) if cpus), frozenset())


def read_ranges(text: bytes) -> FrozenSet[int]:
    """0-3,8"""
    found: Set[int] = set()
    for first, last in re.findall(rb"(\d+)(?:-(\d+))?", text):
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _load_affinity() -> FrozenSet[int]:
    try:
        return frozenset(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on a Mac
        return frozenset()
