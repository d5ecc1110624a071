"""How many short Python functions a second does `windlass.Executor` call, submitted one by one? Beside Parsl, Dask,
executorlib and the standard library's pool, with two warm workers each. And how many does a pilot alone run, whose
table is there already, beside commands (/bin/true) of a farm, and beside the programs that this machine starts?

Each is measured in a process of its own, after all its workers have answered: from the first submit to the last result.
The peers are those of tools/call-peers.sh, and are left out where they are not installed.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.farm.rates import run_farm
from benchmarks.report import Row, show

PEERS = Path(__file__).parents[1] / ".venv-call-peers" / "bin" / "python"
_WORKERS = 2
_OURS = ("windlass", "pilot", "pool")  # run by this Python
_COMMANDS = 20_000
_CALLS = {"pilot": 500_000, "windlass": 50_000, "pool": 20_000, "parsl": 5_000, "dask": 3_000, "executorlib": 3_000}
_ROUNDS = 3
_MEASURE = """
import math, sys, time
def measure(executor, count):
    list(executor.map(math.sqrt, range(500)))  # all workers are warm
    begin = time.perf_counter()
    futures = [executor.submit(math.sqrt, number) for number in range(count)]
    for future in futures:
        future.result()
    print(count / (time.perf_counter() - begin))
count = int(sys.argv[1])
"""
_PROGRAMS = {
    "pilot": """
import hashlib, json, os, pickle, subprocess
from windlass_job.farming import adding
function = pickle.dumps(math.sqrt, 4)
digest = hashlib.sha256(function).hexdigest()[:32].encode()
farm = os.fsencode(sys.argv[2])
adding.lay(farm, {"name": "bench"}, (digest + pickle.dumps(((n,), {}), 4) for n in range(count)), "calls")
os.mkdir(farm + b"/functions")
with open(farm + b"/functions/" + digest, "wb") as file:
    file.write(json.dumps({"python": "", "by_value": False, "name": "sqrt"}).encode() + b"\\n" + function)
begin = time.perf_counter()
subprocess.run([sys.executable, "-m", "windlass_job", "farm", "--farm", sys.argv[2]], check=True, stdout=2)
print(count / (time.perf_counter() - begin))
""",
    "windlass": """
import windlass
with windlass.Executor("here", project=sys.argv[2], workers=2, linger="5m", time="20m") as executor:
    measure(executor, count)
""",
    "pool": """
import concurrent.futures
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        measure(executor, count)
""",
    "parsl": """
import parsl
from parsl.concurrent import ParslPoolExecutor
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider
htex = HighThroughputExecutor(max_workers_per_node=2, address="127.0.0.1", provider=LocalProvider(max_blocks=1))
config = Config(executors=[htex], run_dir=sys.argv[2], initialize_logging=False, usage_tracking=0)
with ParslPoolExecutor(config) as executor:
    measure(executor, count)
""",
    "dask": """
import distributed
if __name__ == "__main__":
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=sys.argv[2])
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        measure(client.get_executor(pure=False), count)
""",
    "executorlib": """
import executorlib
if __name__ == "__main__":
    with executorlib.SingleNodeExecutor(max_workers=2, block_allocation=True) as executor:
        measure(executor, count)
""",
}
_SPAWN = """
import os, sys, time
def spawn(count):
    for _ in range(count):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
begin, children = time.perf_counter(), []
for _ in range(2):
    child = os.fork()
    if child == 0:
        spawn(1000)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
print(2000 / (time.perf_counter() - begin))
"""


def main() -> None:
    names = [name for name in _PROGRAMS if name in _OURS or PEERS.exists()]
    found: dict[str, list[float]] = {name: [] for name in ("commands", "programs", *names)}
    for _ in range(_ROUNDS):
        found["commands"].append(_measure_commands())
        found["programs"].append(_run(sys.executable, _SPAWN, {}))
        for name in names:
            found[name].append(measure(name))
    rates = {name: statistics.median(values) for name, values in found.items() if any(values)}
    show("farm_calls", [_make_row(name, rates) for name in rates])


def _measure_commands() -> float:
    with tempfile.TemporaryDirectory(prefix="windlass-bench-") as folder:
        return _COMMANDS / run_farm(Path(folder, "farm"), _COMMANDS)[0]


def measure(name: str) -> float:
    """Calls a second; 0 where it failed, with its words on stderr."""
    python = sys.executable if name in _OURS else str(PEERS)
    with tempfile.TemporaryDirectory(prefix="windlass-bench-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        env = {"HOME": folder}
        for variable in ("WINDLASS_CONFIG_DIR", "WINDLASS_STATE_DIR", "WINDLASS_POCKET_DIR"):
            env[variable] = str(Path(folder, variable.lower()))
        program = Path(folder, "program.py")
        program.write_text(_MEASURE + _PROGRAMS[name])
        return _run(python, program, env, str(_CALLS[name]), str(project))


def _run(python: str, program: Path | str, env: dict[str, str], *arguments: str) -> float:
    words = [str(program)] if isinstance(program, Path) else ["-c", program]
    done = subprocess.run(
        [python, *words, *arguments],
        env={**os.environ, **env, "PATH": f"{Path(python).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode != 0:
        print(done.stderr[-2000:], file=sys.stderr)
        return 0.0
    return float(done.stdout.split()[-1])


def _make_row(name: str, rates: dict[str, float]) -> Row:
    """The ratio is how much of ours the other one reaches: below 1 we are ahead."""
    if name == "windlass":
        return Row(what="windlass.Executor, two workers, submit to result", value=rates[name], unit="/s")
    if name == "pilot":
        return Row(what="a pilot alone, two warm workers, from its start", value=rates[name], unit="/s")
    budget: float | None
    if name == "commands":
        what, ours, budget = "/bin/true, tasks of a farm", "pilot", 1 / 20
    elif name == "programs":
        what, ours, budget = "/bin/true by posix_spawn, two at a time", "pilot", None
    else:
        what, ours, budget = ("ProcessPoolExecutor(2)" if name == "pool" else name), "windlass", 1.0
    ratio = rates[name] / rates[ours]
    return Row(
        what=what,
        value=rates[name],
        unit="/s",
        peer={"pilot": "the pilot's", "windlass": "the Executor's"}[ours],
        ratio=ratio,
        budget=budget,
    )


if __name__ == "__main__":
    main()
