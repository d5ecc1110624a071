"""What do `run.log`, `run.should_stop` and a verified checkpoint cost a training? Beside doing without them.

Everything is measured in a process of its own, with the zip on its path as in a job.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Row, count_cpu_ms, show
from windlass.edges.job_zip import make_job_zip

FRAMEWORKS = Path(__file__).parents[1] / ".venv-frameworks" / "bin" / "python"
_REPEATS = 9
_CALLS = """
import json, sys, time
from windlass_job import run
from windlass_job.run import _get

def time_us(work, calls):
    work(1000)
    found = []
    for _ in range(9):
        begin = time.process_time()
        work(calls)
        found.append((time.process_time() - begin) / calls * 1e6)
    return sorted(found)[4]

def log(calls):
    tell = run.log
    for step in range(calls):
        tell(step, loss=1 / (step + 1), accuracy=0.5, rate=1e-3)
    _get().done()  # waits until all is written

def ask(calls):
    should_stop = run.should_stop
    for _ in range(calls):
        should_stop()

def agree(calls):
    should_stop = run.should_stop
    for _ in range(calls):
        should_stop(all_ranks=True)

print(json.dumps({"log": time_us(log, 50000), "ask": time_us(ask, 100000), "agree": time_us(agree, 100000)}))
"""
# What is saved is written by the same function each time; only what is around it differs.
_SAVES = """
import json, os, shutil, sys, time
from windlass_job import run
try:
    import torch
    state = {str(number): torch.rand(4 << 20) for number in range(16)}
    write = lambda folder: torch.save(state, os.path.join(str(folder), "state.pt"))
except ImportError:
    state = os.urandom(256 << 20)
    def write(folder):
        with open(os.path.join(str(folder), "state.pt"), "wb") as file:
            file.write(state)

def plain():
    shutil.rmtree("plain", ignore_errors=True)
    os.mkdir("plain")
    write("plain")

def flushed():
    plain()
    handle = os.open("plain/state.pt", os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)

saves = run.checkpoint("checkpoints", keep=1)

def ours():
    with saves.save(1) as folder:
        write(folder)

times = {"plain": [], "flushed": [], "ours": [], "latest": []}
for turn in range(6):
    for name, work in (("plain", plain), ("flushed", flushed), ("ours", ours), ("latest", saves.latest)):
        os.sync()
        begin = time.perf_counter()
        work()
        if turn:
            times[name].append(1000 * (time.perf_counter() - begin))
print(json.dumps({name: sorted(found)[len(found) // 2] for name, found in times.items()}))
"""


def main() -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        home = Path(name)
        archive = home / "windlass_job.pyz"
        archive.write_bytes(make_job_zip())
        env = {**os.environ, "PYTHONPATH": str(archive), "WINDLASS_RUN_DIR": str(home), "WINDLASS_RUN_ID": "bench"}
        rows = [*_measure_calls(home, env), *_measure_import(env), *_measure_saves(home, env)]
    show("the API inside jobs", rows)


def _measure_calls(home: Path, env: dict[str, str]) -> list[Row]:
    found = _run(Path(sys.executable), _CALLS, home, env)
    return [
        Row(what="run.log, three numbers, until written, CPU", value=found["log"], unit="µs", budget=5),
        Row(what="run.should_stop()", value=found["ask"], unit="µs", budget=1),
        Row(what="run.should_stop(all_ranks=True), one rank", value=found["agree"], unit="µs", budget=1),
    ]


def _measure_import(env: dict[str, str]) -> list[Row]:
    bare = {name: value for name, value in env.items() if name != "PYTHONPATH"}
    works = {
        "python -c pass": (bare, "pass"),
        "with the zip on its path": (env, "pass"),
        "from windlass_job import run": (env, "from windlass_job import run"),
        "and the first run.log": (env, "from windlass_job import run; run.log(1, loss=1)"),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(_REPEATS):
        for name, (one, text) in works.items():
            times[name].append(count_cpu_ms([sys.executable, "-S", "-c", text], env=one))
    spent = {name: statistics.median(found) for name, found in times.items()}
    first = spent["python -c pass"]
    return [Row(what=f"{name}, CPU", value=one, peer="bare Python", ratio=one / first) for name, one in spent.items()]


def _measure_saves(home: Path, env: dict[str, str]) -> list[Row]:
    python = FRAMEWORKS if FRAMEWORKS.exists() else Path(sys.executable)
    saver = "torch.save" if FRAMEWORKS.exists() else "a plain write"
    found = _run(python, _SAVES, home, env)
    flushed = found["flushed"]
    return [
        Row(
            what=f"{saver} of 256 MB, not flushed", value=found["plain"], peer="flushed", ratio=found["plain"] / flushed
        ),
        Row(what=f"{saver} of 256 MB and fsync", value=flushed),
        Row(
            what="the same by saves.save: fsync, checksums, rename",
            value=found["ours"],
            peer="flushed",
            ratio=found["ours"] / flushed,
            budget=2,
        ),
        Row(what="saves.latest: all of it read and verified", value=found["latest"]),
    ]


def _run(python: Path, script: str, home: Path, env: dict[str, str]) -> dict[str, float]:
    argv = [str(python), "-c", script]
    done = subprocess.run(argv, cwd=home, env=env, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
