"""How many tasks a second: `/bin/true` in a farm, beside the machine's own posix_spawn and other programs for this.

In turns, on the same cores, each with as many at once as there are cores. `tools/farm-peers.sh` installs the peers;
those that are not there are left out, and arrays of jobs where the test cluster is not up.
A million tasks in one table, for cost and memory: `--million`, ten minutes.
`--tasks 10000`: so many in a round; the fewer, the more the start of Python counts, which is in ours.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.cluster import SlurmCluster, reason_it_cannot_run

from benchmarks.report import Row, show
from windlass.edges.job_zip import make_job_zip
from windlass_job import wire
from windlass_job.farming import ledger, table
from windlass_job.farming.entries import DiskStore, Ledger
from windlass_job.farming.ledger import State

HERE = Path(__file__).parent
PEERS = HERE.parent.parent / ".venv-farm-peers" / "bin"
SLOTS = len(os.sched_getaffinity(0))
ROUNDS = 3
TASKS = 40_000  # in a round
SLOWEST = 1 / 0.9  # of posix_spawn's time
MOST_MB = 200
MOST_FILES = 50


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--tasks", type=int, default=TASKS)
    options, sys.argv[1:] = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="farm-") as place:
        os.chdir(place)
        show("tasks of a farm: /bin/true", measure_rates(Path(place), options.tasks))
        show("the cost of a task in tables of all sizes", measure_sizes(Path(place), is_long=options.million))


def measure_rates(place: Path, tasks: int) -> list[Row]:
    works = list_works(place, tasks)
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, (count, work) in works.items():
            found[name].append(count / work(count))
    rates = {name: statistics.median(values) for name, values in found.items()}
    ours, best = rates.pop("Windlass"), rates["posix_spawn in C"]
    rows = [
        Row(
            what="Windlass", value=ours, unit="/s", peer="posix_spawn's time", ratio=best / ours, budget=SLOWEST,
            note=f"{min(found['Windlass']):.0f} to {max(found['Windlass']):.0f}",
        )
    ]  # fmt: skip
    for name, rate in rates.items():
        note = f"{min(found[name]):.0f} to {max(found[name]):.0f}"
        rows.append(Row(what=name, value=rate, unit="/s", peer="ours", ratio=rate / ours, note=note))
    return rows


def list_works(place: Path, tasks: int) -> dict[str, tuple[int, Callable[[int], float]]]:
    """Name -> how many tasks in a round, and what runs so many and says in how many seconds."""
    spawn = place / "spawn"
    subprocess.run(["cc", "-O2", "-o", spawn, HERE / "spawn.c"], check=True)
    works: dict[str, tuple[int, Callable[[int], float]]] = {
        "posix_spawn in C": (tasks, lambda count: time_command([str(spawn), str(count), str(SLOTS), "/bin/true"])),
        "Windlass": (tasks, lambda count: run_farm(place / "farm", count)[0]),
        "xargs -P": (tasks, lambda count: time_command(["xargs", "-P", str(SLOTS), "-n", "1", "/bin/true"], count)),
    }
    if shutil.which("parallel"):
        argv = ["parallel", "--will-cite", "-j", str(SLOTS), "/bin/true"]
        works["GNU Parallel"] = (2000, lambda count: time_command(argv, count))
    if PEERS.exists():
        works["HyperQueue, by its Python interface"] = (10_000, lambda count: run_peer("hyperqueue_peer.py", count))
        works["Parsl, HighThroughputExecutor"] = (2000, lambda count: run_peer("parsl_peer.py", count))
    if reason_it_cannot_run() is None and SlurmCluster().is_up():
        works["an array of Slurm jobs"] = (100, run_array)
        if PEERS.exists():
            works["submitit, an array"] = (100, run_submitit)
    return works


def time_command(argv: list[str], lines: int = 0) -> float:
    began = time.perf_counter()
    text = "\n".join(map(str, range(lines)))
    subprocess.run(argv, input=text, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def run_peer(script: str, count: int) -> float:
    env = {**os.environ, "PATH": f"{PEERS}:{os.environ['PATH']}"}
    argv = [str(PEERS / "python"), str(HERE / script), str(count), str(SLOTS)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def run_array(count: int) -> float:
    began = time.perf_counter()
    command = f"sbatch --wait --quiet --array=1-{count} --output=/dev/null --wrap=/bin/true"
    SlurmCluster().run_as("alice", command, timeout_s=300)
    return time.perf_counter() - began


def run_submitit(count: int) -> float:
    command = f"cd && rm -rf submitit && {PEERS / 'python'} {HERE / 'submitit_peer.py'} {count} submitit"
    return float(SlurmCluster().run_as("alice", command, timeout_s=300).stdout.split()[-1])


def run_farm(folder: Path, count: int) -> tuple[float, float, int]:
    """Seconds with the start of Python and all; the most megabytes; and how many files it made."""
    shutil.rmtree(folder, ignore_errors=True)
    lay(folder, count)
    zipped = folder.parent / "windlass_job.pyz"
    zipped.write_bytes(make_job_zip())
    before = count_files(folder)
    began = time.perf_counter()
    pilot = subprocess.Popen(
        [sys.executable, "-I", zipped, "farm", "--farm", folder], stdout=subprocess.DEVNULL, cwd=folder
    )
    _, status, usage = os.wait4(pilot.pid, 0)
    seconds = time.perf_counter() - began
    pilot.returncode = 0
    state = Ledger(DiskStore(os.fsencode(folder / "log"))).load()
    assert status == 0
    assert state.done == count
    return seconds, usage.ru_maxrss / 1024, count_files(folder) - before


def lay(folder: Path, count: int) -> None:
    folder.mkdir()
    (folder / wire.FARM_CARD).write_text(json.dumps({"cpus": 1}))
    tasks, row = os.fsencode(folder / "tasks"), table.make_row({"command": "/bin/true"})
    table.write_rows(tasks, 0, (row for _ in range(count)))
    table.publish(tasks, table.Segment(0, count, table.COMMANDS))

    def change(state: State) -> tuple[State, bytes]:
        made = ledger.grow(state, count)
        return made, ledger.format_entry(ledger.GROW, "laptop", made, moved=[])

    Ledger(DiskStore(os.fsencode(folder / "log"))).append(change)


def count_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def measure_sizes(place: Path, *, is_long: bool) -> list[Row]:
    """In turns with the machine's own rate, which others on it change from minute to minute."""
    rows = []
    for count in (1000, 10_000, 100_000, 1_000_000)[: 4 if is_long else 2]:
        own = 3000 / time_command([str(place / "spawn"), "3000", str(SLOTS), "/bin/true"])
        seconds, memory_mb, files = run_farm(place / "farm", count)
        own = (own + 3000 / time_command([str(place / "spawn"), "3000", str(SLOTS), "/bin/true"])) / 2
        rate, many = count / seconds, max(count, 10_000)
        rows += [
            Row(what=f"{count} tasks", value=rate, unit="/s", peer="posix_spawn's", ratio=rate / own),
            Row(what="its memory", value=memory_mb, unit="MB", budget=MOST_MB),
            Row(what="its files, for 10,000 tasks", value=10_000 * files / many, unit="", budget=MOST_FILES),
        ]
    return rows


if __name__ == "__main__":
    main()
