"""Memory and CPU time of the whole job on this node: from its control group, else from its processes."""

import os
import re
from typing import Dict, Mapping, Optional, Sequence

from windlass_job import processes

ROOT = "/sys/fs/cgroup"
MB = 1024 * 1024
_GIVES_WAY = ("active_file", "inactive_file", "slab_reclaimable")  # caches: the kernel takes them back when it must


def load_folders() -> Dict[str, str]:
    """Of this job; see `find_folders`."""
    try:
        with open("/proc/self/cgroup") as file:
            return find_folders(file.read(), ROOT)
    except OSError:
        return {}


def load_usage() -> Dict[str, float]:
    usage = load_group(load_folders())
    return usage if "memory_mb" in usage and "cpu_s" in usage else dict(_load_from_processes(), **usage)


def load_group(folders: Mapping[str, str]) -> Dict[str, float]:
    """What the control groups of the job tell; nothing where there are none."""
    usage: Dict[str, float] = {}
    if "" in folders:
        usage = _load_v2(folders[""])
    if "memory" in folders:
        usage = _load_v1_memory(folders["memory"])
    if "cpuacct" in folders:
        _put(usage, "cpu_s", _load_number(folders["cpuacct"], "cpuacct.usage"), 1e9)
    return usage


def find_folders(text: str, root: str) -> Dict[str, str]:
    """Controller -> folder of the *job* from /proc/self/cgroup; "" is version 2. Nothing when Slurm made none."""
    folders: Dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        job = re.match(r".*/job_\d+", path)  # .../job_45/step_batch/user/task_0
        if job is None:
            continue
        if not controllers:
            folders[""] = root + job.group()
        for name in controllers.split(",") if controllers else ():
            folders[name] = os.path.join(root, controllers) + job.group()
    return folders


def _load_v2(folder: str) -> Dict[str, float]:
    usage: Dict[str, float] = {}
    _put(usage, "memory_mb", _load_number(folder, "memory.current"), MB)
    _put(usage, "memory_peak_mb", _load_number(folder, "memory.peak"), MB)
    _put(usage, "memory_limit_mb", _load_number(folder, "memory.max"), MB)
    kinds = _load_words(folder, "memory.stat")
    _put(usage, "memory_anonymous_mb", kinds.get("anon"), MB)
    _put_needed(usage, [kinds.get(word) for word in _GIVES_WAY])
    _put(usage, "cpu_s", _load_number(folder, "cpu.stat", "usage_usec"), 1e6)
    _put(usage, "oom_kills", _load_number(folder, "memory.events", "oom_kill"), 1)
    return usage


def _load_v1_memory(folder: str) -> Dict[str, float]:
    usage: Dict[str, float] = {}
    _put(usage, "memory_mb", _load_number(folder, "memory.usage_in_bytes"), MB)
    _put(usage, "memory_peak_mb", _load_number(folder, "memory.max_usage_in_bytes"), MB)
    _put(usage, "memory_limit_mb", _load_number(folder, "memory.limit_in_bytes"), MB)
    kinds = _load_words(folder, "memory.stat")
    _put(usage, "memory_anonymous_mb", kinds.get("total_rss"), MB)
    _put_needed(usage, [kinds.get("total_" + word) for word in _GIVES_WAY])
    _put(usage, "oom_kills", _load_number(folder, "memory.oom_control", "oom_kill"), 1)
    return usage


def _put_needed(usage: Dict[str, float], caches: Sequence[Optional[int]]) -> None:
    """What is left without caches. Shared memory (/dev/shm) is in it: it does not give way."""
    if "memory_mb" in usage:
        given = sum(cache or 0 for cache in caches)
        usage["memory_needed_mb"] = round(max(usage["memory_mb"] - given / MB, 0.0), 1)


def _load_from_processes() -> Dict[str, float]:
    tree = processes.find_tree(os.getpid(), processes.load_processes())
    if not tree:
        return {}
    usage: Dict[str, float] = {}
    _put(usage, "memory_mb", sum(process.resident_pages for process in tree) * os.sysconf("SC_PAGE_SIZE"), MB)
    _put(usage, "cpu_s", sum(process.cpu_ticks for process in tree), os.sysconf("SC_CLK_TCK"))
    return usage


def _load_number(folder: str, name: str, word: Optional[str] = None) -> Optional[int]:
    """The only number of a file, or the one behind a word; None where there is none (`max`: no limit)."""
    text = _load_text(folder, name)
    found = re.search(r"^{}(\d+)$".format(re.escape(word) + " " if word else ""), text, re.MULTILINE)
    return int(found.group(1)) if found else None


def _load_words(folder: str, name: str) -> Dict[str, int]:
    return {word: int(number) for word, number in re.findall(r"^(\w+) (\d+)$", _load_text(folder, name), re.MULTILINE)}


def _load_text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name)) as file:
            return file.read()
    except OSError:
        return ""


def _put(usage: Dict[str, float], name: str, number: Optional[float], unit: float) -> None:
    if number is not None and number < 1 << 62:  # version 1 writes "no limit" as the largest number it has
        usage[name] = round(number / unit, 1)
