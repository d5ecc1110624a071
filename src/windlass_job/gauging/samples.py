"""One look at this node: what is so now (gauges), and what has been counted so far (counters)."""

import time
from typing import Any, Dict, Mapping, NamedTuple, Optional

from windlass_job import cgroups, slurm
from windlass_job.gauging import cores, storage
from windlass_job.gauging.cards import Cards
from windlass_job.gauging.who import MOST_RANKS, JobProcesses

MB = 1024.0 * 1024.0

Sample = NamedTuple(
    "Sample",
    [
        ("time", float),  # by the clock
        ("moment", float),  # by one that is never set
        ("gauges", Dict[str, Optional[float]]),
        ("counters", Dict[str, float]),  # by the name of the rate that they become
        ("cores", cores.Times),
    ],
)


class Node:
    """Looks at the job's part of this node."""

    def __init__(self, env: Mapping[str, str], cards: Cards) -> None:
        self._folders = cgroups.load_folders()
        self._members = self._folders.get("") or next(iter(self._folders.values()), None)
        self._processes = JobProcesses(env)
        self._cards = cards
        self.cores = cores.find_cores(env, self._folders)
        asked = slurm.read_number(env, "SLURM_MEM_PER_NODE", 0)
        self._limit_mb: Optional[float] = float(asked) or None
        self._shared: Optional[str] = None

    def describe(self) -> Dict[str, Any]:
        """What does not change from row to row, as far as it is known after the first look."""
        about: Dict[str, Any] = {"cores": self.cores.count}
        if self._limit_mb is not None:
            about["memory_limit_mb"] = round(self._limit_mb)
        if self._shared is not None:
            about["shared"] = self._shared
        if self._cards.about:
            about["gpus"] = self._cards.about
        return about

    def look(self, *, is_row: bool = True, is_last: bool = False) -> Sample:
        """is_row: what has been counted so far is needed, and not only what is so now.

        is_last: the command has ended, and its processes with all they did are gone.
        """
        gauges: Dict[str, Optional[float]] = {}
        counters: Dict[str, float] = {}
        self._look_at_group(gauges, counters)
        is_told = gauges["memory_mb"] is not None
        if not is_last and (is_row or not is_told):  # each process is two files: most of what a look costs
            self._look_at_processes(gauges, counters)
        self._look_at_storage(counters)
        for place, reading in enumerate(self._cards.read()):
            for name, value in zip(("use", "memory_mb", "power_w"), reading):
                gauges["gpu{}.{}".format(place, name)] = value
        return Sample(time.time(), time.monotonic(), gauges, counters, cores.load_times())

    def _look_at_group(self, gauges: Dict[str, Optional[float]], counters: Dict[str, float]) -> None:
        usage = cgroups.load_group(self._folders)
        self._limit_mb = usage.get("memory_limit_mb", self._limit_mb)
        gauges["memory_mb"] = usage.get("memory_needed_mb")
        gauges["memory_peak_mb"] = usage.get("memory_peak_mb")
        gauges["oom_kills"] = usage.get("oom_kills")
        if "cpu_s" in usage:
            counters["cpu_cores"] = usage["cpu_s"]

    def _look_at_processes(self, gauges: Dict[str, Optional[float]], counters: Dict[str, float]) -> None:
        work = self._processes.load(self._members)
        if gauges["memory_mb"] is None:
            gauges["memory_mb"] = work.memory_bytes / MB or None
        counters.setdefault("cpu_cores", work.cpu_s)
        counters["read_mb_s"] = work.read_bytes / MB
        counters["write_mb_s"] = work.write_bytes / MB
        for rank in sorted(work.rank_cpu_s)[:MOST_RANKS]:
            counters["rank{}.cpu_cores".format(rank)] = work.rank_cpu_s[rank]

    def _look_at_storage(self, counters: Dict[str, float]) -> None:
        moved = storage.load_moved()
        if moved is not None:
            self._shared = moved.kind
            counters["shared_read_mb_s"] = moved.read_bytes / MB
            counters["shared_write_mb_s"] = moved.write_bytes / MB
            counters["shared_ops_s"] = float(moved.ops)
