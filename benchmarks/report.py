"""What all benchmarks share: medians over repeats, rows against a budget, and how they are shown."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing measured. ratio: to the peer named; budget: the most it may be, in the unit of what is judged."""

    what: str
    value: float
    unit: str = "ms"
    peer: str | None = None
    ratio: float | None = None
    budget: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        judged = self.ratio if self.ratio is not None else self.value
        return "PASS" if judged <= self.budget else "FAIL"


def time_ms(work: Callable[[], object], *, repeats: int = 9) -> float:
    """The median; the first call, which fills caches, does not count."""
    work()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - start))
    return statistics.median(found)


def time_together_ms(works: Mapping[str, Callable[[], object]], *, repeats: int = 9) -> dict[str, float]:
    """Medians of several, taken in turns, so that a busy machine is unfair to all alike."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if turn:
                found[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in found.items()}


def count_cpu_ms(argv: Sequence[str | Path], *, env: Mapping[str, str]) -> float:
    """User and system time of a command and what it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def show(title: str, rows: Sequence[Row]) -> None:
    """As a table, or with --json as one document."""
    load = os.getloadavg()[0]
    if _read_arguments().json:
        shown = [{**asdict(row), "verdict": row.verdict} for row in rows]
        print(json.dumps({"benchmark": title, "load": load, "cores": os.cpu_count(), "rows": shown}))
        return
    print(f"\n{title}   (load {load:.1f} on {os.cpu_count()} cores)")
    for row in rows:
        ratio = f"{row.ratio:.2f}x {row.peer}" if row.ratio is not None else ""
        budget = (
            f"<= {row.budget:g}{'x' if row.ratio is not None else ' ' + row.unit}" if row.budget is not None else ""
        )
        print(f"  {row.what:<52} {row.value:>9.1f} {row.unit:<6} {ratio:<26} {budget:<12} {row.verdict:<5} {row.note}")


def skip(title: str, reason: str) -> None:
    if _read_arguments().json:
        print(json.dumps({"benchmark": title, "skipped": reason}))
    else:
        print(f"\n{title}\n  skipped: {reason}")


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=Path(sys.argv[0]).name)
    parser.add_argument("--json", action="store_true", help="one JSON document a benchmark")
    return parser.parse_args()
