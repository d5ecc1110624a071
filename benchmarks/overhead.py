"""How much later does the user's first line run than in a script written by hand? One node, and up to 64.

Both are run in turns inside one allocation: by hand `python3 first.py` (or `srun python3 first.py`), and the script
that Windlass makes, with its agent, its claim and its first process on every node. The nodes are pocket's, all on this
machine: what each node does in parallel elsewhere, they do here one after another. Where the test cluster is up, its
nodes are measured too.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from benchmarks.cluster import find_cluster, hold_cluster
from benchmarks.report import Row, show, skip
from windlass.core.cost import Cost
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.shell import quote
from windlass.core.site import CostUnit
from windlass.edges.job_zip import load_task_sh, make_job_zip
from windlass.launchers import LAUNCHERS
from windlass.pocket.programs import ensure_bin
from windlass_job import wire

BUDGET_S = 1.0  # above a script written by hand, on one node
BUDGET_GROWTH = 1.0  # of what srun itself adds; all nodes share the cores of this one machine
_TURNS = 5
_MANY = (1, 2, 16, 64)
_FIRST = """import os, sys, time
with open(os.path.join(sys.argv[1], os.environ.get("SLURM_PROCID", "0")), "w") as file:
    file.write(repr(time.time()))
"""


@dataclass(frozen=True, kw_only=True)
class Engine:
    sbatch: str
    env: dict[str, str]
    nodes: tuple[int, ...]
    options: tuple[str, ...] = ()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="windlass-overhead-") as folder:
        engine = make_pocket(Path(folder) / "pocket")
        show("from the job's start to the user's first line, pocket", measure(engine, Path(folder)))
    cluster = find_cluster()
    if isinstance(cluster, str):
        skip("from the job's start to the user's first line, Slurm", cluster)
        return
    with hold_cluster(cluster), tempfile.TemporaryDirectory(dir=cluster.root / "home") as shared:
        engine = Engine(sbatch="sbatch", env=dict(os.environ), nodes=(1, 2, 4), options=("--partition=dev",))
        show("from the job's start to the user's first line, Slurm", measure(engine, Path(shared)))


def make_pocket(state: Path) -> Engine:
    state.mkdir()
    (state / "pocket.toml").write_text("cpus = 1024\nmemory_mb = 1000000\nidle_s = 5\n")
    programs = ensure_bin(state)
    env = {**os.environ, "WINDLASS_POCKET_DIR": str(state), "PATH": f"{programs}:{os.environ['PATH']}"}
    return Engine(sbatch=str(programs / "sbatch"), env=env, nodes=_MANY)


def measure(engine: Engine, folder: Path) -> list[Row]:
    found = {nodes: run_turns(engine, folder / f"nodes-{nodes}", nodes) for nodes in engine.nodes}
    return list(make_rows(found))


def make_rows(found: dict[int, dict[str, float]]) -> Iterator[Row]:
    for nodes, times in found.items():
        where = "one node" if nodes == 1 else f"{nodes} nodes"
        for name, seconds in times.items():
            yield Row(what=f"{where}: {name}", value=seconds, unit="s")
    one, fewest, most = found[1], sorted(found)[1], max(found)
    above = one["Windlass"] - one["by hand"]
    yield Row(what="one node: Windlass above by hand", value=above, unit="s", budget=BUDGET_S)
    # Both start by srun from here on.
    srun = found[most]["by hand"] - found[fewest]["by hand"]
    ours = found[most]["Windlass"] - found[fewest]["Windlass"]
    what = f"growth from {fewest} nodes to {most}"
    yield Row(what=what, value=ours, unit="s", peer="srun", ratio=ours / srun, budget=BUDGET_GROWTH)


def run_turns(engine: Engine, folder: Path, nodes: int) -> dict[str, float]:
    """Seconds until every process has run its first line, medians."""
    folder.mkdir()
    (folder / "first.py").write_text(_FIRST)
    (folder / wire.JOB_ZIP).write_bytes(make_job_zip())
    (folder / wire.TASK_SH).write_bytes(load_task_sh())
    for name in (wire.CODE, wire.LOGS):
        (folder / name).mkdir()
    (folder / "job.sh").write_text("".join(write_job(engine, folder, nodes)))
    asked = ["--wait", f"--nodes={nodes}", "--ntasks-per-node=1", "--mem=100M", "--time=10", f"--output={folder}/out"]
    done = subprocess.run([engine.sbatch, *asked, *engine.options, folder / "job.sh"], env=engine.env, check=False)
    if done.returncode:
        raise SystemExit((folder / "out").read_text())
    names = sorted({path.name.partition(".")[0] for path in folder.glob("*.begun")})
    return {name: statistics.median(read_turns(folder, name)) for name in reversed(names)}


def write_job(engine: Engine, folder: Path, nodes: int) -> Iterator[str]:
    yield f"#!/bin/bash\nset -eu\ncd {quote(str(folder))}\n"
    plan = make_plan(folder, nodes)
    for turn in range(_TURNS + 1):
        by_hand, windlass = f"by hand.{turn}", f"Windlass.{turn}"
        starter = "srun --kill-on-bad-exit=1 " if nodes > 1 else ""
        yield write_turn(folder, by_hand, f"{starter}{sys.executable} first.py {quote(by_hand)}")
        script = folder / f"windlass-{turn}.sh"
        command = f"{sys.executable} {folder}/first.py {quote(str(folder / windlass))}"
        script.write_text(make_script(with_argv(replace(plan, command=command, number=turn + 1))))
        yield write_turn(folder, windlass, f"bash {script.name}")


def write_turn(folder: Path, name: str, command: str) -> str:
    return f"mkdir {quote(name)}\ndate +%s.%N >{quote(name + '.begun')}\n{command}\n"


def make_plan(folder: Path, nodes: int) -> Plan:
    return Plan(
        run_id="overhead",
        site="here",
        folder=str(folder),
        command="",
        launcher="single" if nodes == 1 else "srun",
        nodes=nodes,
        link_time=timedelta(minutes=10),
        cost=Cost(unit=CostUnit.NONE, one_link=0, whole=0),
    )


def with_argv(plan: Plan) -> Plan:
    return replace(plan, argv=LAUNCHERS[plan.launcher].make_argv(plan))


def read_turns(folder: Path, name: str) -> list[float]:
    """The first turn fills caches and does not count."""
    found = []
    for turn in range(1, _TURNS + 1):
        begun = float((folder / f"{name}.{turn}.begun").read_text())
        found.append(max(float(path.read_text()) for path in (folder / f"{name}.{turn}").iterdir()) - begun)
    return found


if __name__ == "__main__":
    main()
