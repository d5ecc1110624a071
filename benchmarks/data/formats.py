"""What it costs to convert packed data into each other format and back, beside `cp` of the same bytes."""

import importlib.util
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.data.corpus import PEERS, ROOT, make_jpegs
from benchmarks.report import Row, show, skip
from windlass.app.data.converting import convert
from windlass.formats import FORMATS
from windlass.formats.form import Sample, Source

TITLE = "data.formats: 10,000 JPEGs of 45 KB converted, MB/s"
WORK = ROOT / "build" / "data-formats"
FILES = 10_000
ROUNDS = 3


def main() -> None:
    if importlib.util.find_spec("h5py") is None:  # the libraries are in an environment of their own
        if PEERS.exists():
            sys.exit(subprocess.run([PEERS, "-m", "benchmarks.data.formats", *sys.argv[1:]], cwd=ROOT).returncode)
        skip(TITLE, "tools/peers.sh makes the environment with the other formats' libraries")
        return
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    try:
        show(TITLE, _measure())
    finally:
        shutil.rmtree(WORK, ignore_errors=True)


def _measure() -> list[Row]:
    ours = WORK / "ours"
    size = _pack_some(ours)
    times: dict[str, list[float]] = {}
    memory = _Memory()
    for _ in range(ROUNDS):  # in turns, so that a busy machine is unfair to all alike
        _add(times, "cp", lambda: shutil.copytree(ours, WORK / "copy", copy_function=_copy))
        shutil.rmtree(WORK / "copy")
        for name in FORMATS:
            _add(times, f"to {name}", partial(convert, ours, WORK / "there", to=name, progress=memory.look))
            back = partial(convert, WORK / "there", WORK / "back", to="windlass", progress=memory.look)
            _add(times, f"from {name}", back)
            for made in (WORK / "there", WORK / "back"):
                shutil.rmtree(made) if made.is_dir() else made.unlink()
    plain = statistics.median(times.pop("cp"))
    return [
        Row(what="cp of the shards, flushed", value=size / plain / 1e6, unit="MB/s"),
        *(_make_row(what, statistics.median(found), plain, size) for what, found in times.items()),
        Row(what="memory at most, of all of them", value=memory.most_mb, unit="MB", budget=200),
    ]


class _Memory:
    """The process's own: pages of files that LMDB maps are the system's, which takes them back when it needs them."""

    def __init__(self) -> None:
        self.most_mb = 0.0

    def look(self, *_: object) -> None:
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
        self.most_mb = max(self.most_mb, (int(resident) - int(shared)) * resource.getpagesize() / 1e6)


def _make_row(what: str, taken: float, plain: float, size: int) -> Row:
    return Row(what=what, value=size / taken / 1e6, unit="MB/s", peer="the time of cp", ratio=taken / plain)


def _add(times: dict[str, list[float]], what: str, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    times.setdefault(what, []).append(time.perf_counter() - start)


def _copy(source: str, target: str) -> None:
    """Flushed, as what is converted is."""
    subprocess.run(["cp", source, target], check=True)
    subprocess.run(["sync", target], check=True)


def _pack_some(target: Path) -> int:
    folder = make_jpegs()
    paths = sorted(folder.glob("*/*"))[:FILES]
    samples = (Sample(bytes(one.relative_to(folder)), one.read_bytes(), 0) for one in paths)
    target.mkdir()
    FORMATS["windlass"].save(target, Source(samples=samples, classes=["all"]), 1 << 30)
    return sum(one.stat().st_size for one in paths)


if __name__ == "__main__":
    main()
