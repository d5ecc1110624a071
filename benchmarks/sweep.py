"""Does Optuna through Windlass find what Optuna finds alone? On public test functions, and on a training.

One after another every value of every trial must be equal, bit for bit. Eight at once may go another way, because each
trial knows less: told is the best of both, and whether every trial was tried once.
"""

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import optuna

from benchmarks.report import Row, show
from windlass.app.planning import Wanted
from windlass.app.session import Session
from windlass.app.sweeps.following import follow_sweep
from windlass.app.sweeps.starting import plan_sweep, send_sweep
from windlass.core.farm.values import FarmNeeds
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import TrialState
from windlass.core.sweep.wish import Method, Sampler, Sweep
from windlass.edges.folders import find_folders

TRIALS, SEED, AT_ONCE = 30, 3, 8
SOURCES = Path(__file__).parents[1] / "src"
EXAMPLE = Path(__file__).parents[1] / "examples" / "sweep"
FUNCTIONS = """
import math

def branin(x, y):
    b, c = 5.1 / (4 * math.pi**2), 5 / math.pi
    return (y - b * x**2 + c * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10

def rosenbrock(x, y):
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2

A = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
P = ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991),
     (2348, 1451, 3522, 2883, 3047, 6650), (4047, 8828, 8732, 5743, 1091, 381))

def hartmann6(*x):
    total = 0.0
    for weight, a, p in zip((1, 1.2, 3, 3.2), A, P):
        total -= weight * math.exp(-sum(a[i] * (x[i] - p[i] / 10000) ** 2 for i in range(6)))
    return total
"""
PROGRAM = """
import sys
import functions
from windlass_job import run
run.log(0, loss=getattr(functions, sys.argv[1])(*map(float, sys.argv[2:])))
"""
# name -> (bounds by name, the least there is)
SPACES: dict[str, tuple[dict[str, tuple[float, float]], float]] = {
    "branin": ({"x": (-5, 10), "y": (0, 15)}, 0.397887),
    "rosenbrock": ({"x": (-2, 2), "y": (-1, 3)}, 0.0),
    "hartmann6": ({f"x{number}": (0, 1) for number in range(6)}, -3.32237),
}


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names: dict[str, object] = {}
    exec(FUNCTIONS, names)
    rows: list[Row] = []
    with _open_house() as (session, project):
        for name, (bounds, least) in SPACES.items():
            rows += _measure_function(session, project, name, bounds, least, names[name])  # type: ignore[arg-type]
        rows += _measure_digits(session, project)
    show("sweep: Optuna through Windlass and alone", rows)


def _measure_function(
    session: Session,
    project: Path,
    name: str,
    bounds: Mapping[str, tuple[float, float]],
    least: float,
    function: Callable[..., float],
) -> list[Row]:
    def judge(trial: optuna.Trial) -> float:
        return function(*(trial.suggest_float(one, *bounds[one]) for one in bounds))

    holes = " ".join(f"{{{one}}}" for one in bounds)
    wish = Sweep(
        command=f"{sys.executable} program.py {name} {holes}",
        space={one: f"{float(low)!r}..{float(high)!r}" for one, (low, high) in bounds.items()},
        method=Method.OPTUNA,
        trials=TRIALS,
        seed=SEED,
        parallel=1,
    )
    return _compare(session, project, wish, name, judge, f"the least there is: {least}")


def _measure_digits(session: Session, project: Path) -> list[Row]:
    """For Optuna alone the same program is run, with as many threads."""
    told = project.parent / "told.jsonl"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    env = {**os.environ, **threads, "WINDLASS_METRICS_FILE": str(told), "PYTHONPATH": str(SOURCES)}

    def judge(trial: optuna.Trial) -> float:
        rate, hidden = trial.suggest_float("lr", 1e-3, 10, log=True), trial.suggest_int("hidden", 8, 128)
        argv = [sys.executable, "train.py", "--lr", repr(rate), "--hidden", str(hidden), "--epochs", "5"]
        told.unlink(missing_ok=True)
        subprocess.run(argv, cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)
        return float(json.loads(told.read_text().splitlines()[-1])["loss"])

    wish = Sweep(
        command=f"{sys.executable} train.py --lr {{lr}} --hidden {{hidden}} --epochs 5",
        space={"lr": "log:0.001..10", "hidden": "int:8..128"},
        method=Method.OPTUNA,
        trials=TRIALS,
        seed=SEED,
        parallel=1,
    )
    return _compare(session, project, wish, "digits", judge, "loss on digits that were not learned from")


def _compare(
    session: Session, project: Path, wish: Sweep, name: str, judge: Callable[[optuna.Trial], float], note: str
) -> list[Row]:
    alone = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    alone.optimize(judge, n_trials=TRIALS)
    one, one_s = _search(session, project, wish)
    eight, eight_s = _search(session, project, replace(wish, parallel=AT_ONCE))
    drawn, _ = _search(session, project, replace(wish, parallel=AT_ONCE, sampler=Sampler.RANDOM))
    random = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=SEED))
    random.optimize(judge, n_trials=TRIALS)
    in_flight = _search_alone(judge)
    unlike = sum(
        dict(mine.values) != theirs.params or mine.metric != theirs.value
        for mine, theirs in zip(one.trials, alone.trials, strict=True)
    )
    odd = sum(
        dict(mine.values) != theirs.params or mine.metric != theirs.value
        for mine, theirs in zip(drawn.trials, random.trials, strict=True)
    )
    lost = TRIALS - sum(trial.state is TrialState.DONE for trial in eight.trials)
    bests = [seen.best.metric if seen.best and seen.best.metric is not None else math.nan for seen in (one, eight)]
    return [
        Row(
            what=f"{name}: Optuna alone, best of {TRIALS}",
            value=alone.best_value,
            unit="",
            note=f"{alone.best_value!r}; {note}",
        ),
        Row(what=f"{name}: one after another, best", value=bests[0], unit="", note=f"{bests[0]!r}; {one_s:.0f} s"),
        Row(what=f"{name}: trials unlike Optuna's own", value=unlike, unit="", budget=0),
        Row(what=f"{name}: {AT_ONCE} at once, best", value=bests[1], unit="", note=f"{bests[1]!r}; {eight_s:.0f} s"),
        Row(what=f"{name}: Optuna alone, {AT_ONCE} in flight, best", value=in_flight, unit="", note=f"{in_flight!r}"),
        Row(what=f"{name}: {AT_ONCE} at once, trials lost", value=lost, unit="", budget=0),
        Row(what=f"{name}: {AT_ONCE} at once by random, unlike Optuna's", value=odd, unit="", budget=0),
    ]


def _search_alone(judge: Callable[[optuna.Trial], float]) -> float:
    """With as many asked for and not told yet: each trial knows as little as at a site."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED, constant_liar=True))
    waiting: list[optuna.Trial] = []
    for _ in range(TRIALS):
        if len(waiting) == AT_ONCE:
            first = waiting.pop(0)
            study.tell(first, judge(first))
        waiting.append(study.ask())
        judge(waiting[-1])  # its values are chosen now
    for trial in waiting:
        study.tell(trial, judge(trial))
    return study.best_value


def _search(session: Session, project: Path, wish: Sweep) -> tuple[SweepSeen, float]:
    begin = time.monotonic()
    planned = plan_sweep(session, Wanted(project=project, site="here"), wish, needs=FarmNeeds(), pilots=1)
    record = send_sweep(session, planned)
    seen = follow_sweep(session, record, show=lambda _: None, sleep=lambda _: time.sleep(0.1))
    return seen, time.monotonic() - begin


@contextlib.contextmanager
def _open_house() -> Iterator[tuple[Session, Path]]:
    """A home and a pocket of its own."""
    folder = Path(tempfile.mkdtemp(prefix="windlass-bench-"))
    names = {"HOME": "home", "WINDLASS_CONFIG_DIR": "config", "WINDLASS_STATE_DIR": "state"}
    for variable, name in {**names, "WINDLASS_POCKET_DIR": "pocket"}.items():
        (folder / name).mkdir()
        os.environ[variable] = str(folder / name)
    project = folder / "project"
    project.mkdir()
    (project / "windlass.toml").write_text('[run]\nname = "search"\ncommand = "true"\n')
    (project / "functions.py").write_text(FUNCTIONS)
    (project / "program.py").write_text(PROGRAM)
    shutil.copy(EXAMPLE / "train.py", project)
    try:
        with Session(folders=find_folders(os.environ), environ=os.environ) as session:
            yield session, project
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
