"""How fast do 50,000 JPEGs and a million tiny files become shards? Beside GNU tar and Python's tarfile, cold and warm.

Ours flushes its shards to the disk and computes checksums and an index; `tar cf` leaves its bytes in memory.
"""

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.data.corpus import CORPUS, ROOT, make_jpegs, make_tiny
from benchmarks.report import Row, show

ROUNDS = 5
DROP = Path("/proc/sys/vm/drop_caches")
OURS = """
import os, sys
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source
pack(choose_source(os.fsencode(sys.argv[1])), os.fsencode(sys.argv[2]), Settings("bench"))
"""
TARFILE = """
import sys, tarfile
with tarfile.open(sys.argv[2], "w") as archive:
    archive.add(sys.argv[1], arcname=".")
"""


def main() -> None:
    for title, folder, count, peers in (
        ("50,000 JPEGs of 45 KB", make_jpegs(), 50_000, ("tar cf", "tar cf, then sync", "Python tarfile")),
        ("1,000,000 tiny files", make_tiny(), 1_000_000, ("tar cf",)),
    ):
        rows = []
        for state in ("cold", "warm") if os.access(DROP, os.W_OK) else ("warm",):
            times = _measure(folder, ("windlass pack", *peers), is_cold=state == "cold")
            rows += [_make_row(name, state, spent, times["tar cf"], count) for name, spent in times.items()]
        rows.append(_measure_memory(folder))
        rows.append(_measure_delta(folder))
        show(f"pack {title}", rows)


def _make_row(name: str, state: str, spent: list[float], peer: list[float], count: int) -> Row:
    """Rates of the medians; the note tells how far the rounds lie apart."""
    seconds = statistics.median(spent)
    ratio = seconds / statistics.median(peer)
    note = f"{seconds:.2f} s ({min(spent):.2f} to {max(spent):.2f}), {1 / ratio:.2f} of tar's rate"
    budget = 1 / 0.95 if name == "windlass pack" else None
    return Row(
        what=f"{name}, {state}", value=count / seconds, unit="files/s", peer="tar cf's time", ratio=ratio,
        budget=budget, note=note,
    )  # fmt: skip


def _measure(folder: Path, names: Sequence[str], *, is_cold: bool) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(ROUNDS + (not is_cold)):
        # In another order each time: memory that the one before it gave back makes the next one faster or slower.
        for name in random.sample(list(names), len(names)):
            spent = _time(name, folder, is_cold=is_cold)
            if turn or is_cold:  # the first warm round fills the caches
                found[name].append(spent)
    return found


def _time(name: str, folder: Path, *, is_cold: bool) -> float:
    with tempfile.TemporaryDirectory(dir=CORPUS) as home:
        os.sync()  # what others have written is not to be paid for here
        if is_cold:
            DROP.write_text("3")
        start = time.perf_counter()
        _run(name, folder, Path(home) / "packed")
        return time.perf_counter() - start


def _run(name: str, folder: Path, target: Path) -> None:
    python = [sys.executable, "-c"]
    argv: dict[str, Callable[[], list[str | Path]]] = {
        "windlass pack": lambda: [*python, OURS, folder, target],
        "tar cf": lambda: ["tar", "cf", target, "-C", folder, "."],
        "tar cf, then sync": lambda: ["sh", "-c", f"tar cf {target} -C {folder} . && sync {target}"],
        "Python tarfile": lambda: [*python, TARFILE, folder, target],
    }
    subprocess.run(argv[name](), check=True, cwd=ROOT / "src")


def _measure_memory(folder: Path) -> Row:
    """Of all its processes together, what they share counted once."""
    with tempfile.TemporaryDirectory(dir=CORPUS) as home:
        argv = [sys.executable, "-c", OURS, str(folder), str(Path(home) / "packed")]
        packer = subprocess.Popen(argv, cwd=ROOT / "src")
        most, done = [0.0], threading.Event()

        def watch() -> None:
            while not done.wait(0.05):
                most[0] = max(most[0], _sum_memory_mb(packer.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        packer.wait()
        done.set()
        watcher.join()
    return Row(what="windlass pack, memory of all its processes", value=most[0], unit="MB", budget=200)


def _sum_memory_mb(pid: int) -> float:
    found = 0.0
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (str(pid), *children):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            found += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    except (OSError, ValueError):  # it has just ended
        pass
    return found


def _measure_delta(folder: Path) -> Row:
    """100 files are changed for it and then given back their content and their time."""
    with tempfile.TemporaryDirectory(dir=CORPUS) as home:
        target = Path(home) / "packed"
        _run("windlass pack", folder, target)
        chosen = [place for place in sorted(folder.glob("class_0??0/*0.*"))[:100] if place.is_file()]
        kept = [(path, path.read_bytes(), path.stat().st_mtime_ns) for path in chosen]
        try:
            for path, content, _ in kept:
                path.write_bytes(content[::-1])
            start = time.perf_counter()
            _run("windlass pack", folder, target)
            spent = time.perf_counter() - start
        finally:
            for path, content, mtime in kept:
                path.write_bytes(content)
                os.utime(path, ns=(mtime, mtime))
        size = sum(path.stat().st_size for path in target.glob("*.tar"))
        delta = max(target.glob("*.tar")).stat().st_size
        shutil.rmtree(target)
    note = f"{100 * delta / size:.2f} % of the bytes"
    return Row(what="100 files changed, packed again", value=1000 * spent, note=note)


if __name__ == "__main__":
    main()
