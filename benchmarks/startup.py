"""How long does the command line take to start? CPU time, beside a Python that does nothing."""

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import windlass
from benchmarks.report import Row, count_cpu_ms, show
from windlass.core.record import RunRecord, RunState, Submission
from windlass.edges.store import Store

BUDGET = 6.0
_REPEATS = 15
_HEAVY = ("rich", "tomlkit", "textual", "optuna", "asyncio", "ssl", "http", "email", "logging", "multiprocessing")
_LIGHT_ONLY = ("msgspec", "subprocess", "windlass.core.site", "windlass.core.plan", "windlass.edges.cluster")


def main() -> None:
    # An installed package is compiled; a checkout with PYTHONDONTWRITEBYTECODE is not.
    compileall.compile_dir(str(Path(windlass.__file__).parent), quiet=1)
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "WINDLASS_STATE_DIR": home, "WINDLASS_CONFIG_DIR": home}
        fill_store(Path(home) / "windlass.db", 20)
        program = Path(sys.executable).with_name("windlass")
        commands: dict[str, list[str | Path]] = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "windlass --version": [program, "--version"],
            "windlass --json ps --cached, 20 runs": [program, "--json", "ps", "--cached"],
            "import click": [sys.executable, "-c", "import click"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(_REPEATS + 1):
            for name, argv in commands.items():
                spent = count_cpu_ms(argv, env=env)
                if turn:
                    times[name].append(spent)
        rows = [_make_row(name, statistics.median(found), times) for name, found in times.items()]
        rows += [_count_heavy(name, argv, env) for name, argv in commands.items() if "windlass" in name]
    show("start-up, CPU time", rows)


def fill_store(path: Path, count: int) -> None:
    store = Store(path)
    store.save_many([make_record(number) for number in range(count)])
    store.close()


def make_record(number: int, *, site: str = "here", state: RunState = RunState.DONE) -> RunRecord:
    run_id = f"bench-{number:05d}"
    submission = Submission(number=1, token=f"windlass:{run_id}:1", job_id=str(number + 1))
    return RunRecord(
        run_id=run_id,
        name="bench",
        site=site,
        folder=f"/nowhere/runs/{run_id}",
        command="python train.py --epochs 100",
        state=state,
        created=1_750_000_000.0 + number,
        updated=1_750_000_000.0 + number,
        project="/home/me/bench",
        submissions=(submission,),
    )


def _make_row(name: str, spent: float, times: dict[str, list[float]]) -> Row:
    bare = statistics.median(times["python -c pass"])
    budget = BUDGET if "windlass" in name else None
    return Row(what=name, value=spent, peer="bare Python", ratio=spent / bare, budget=budget)


def _count_heavy(name: str, argv: list[str | Path], env: dict[str, str]) -> Row:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *argv], env=env, capture_output=True, text=True, check=True
    )
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time:" in line}
    heavy = [module for module in (*_HEAVY, *_LIGHT_ONLY) if module in modules]
    return Row(what=f"modules of {name}", value=len(modules), unit="", note=f"heavy: {', '.join(heavy) or 'none'}")


if __name__ == "__main__":
    main()
