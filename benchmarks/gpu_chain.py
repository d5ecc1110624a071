"""Does Windlass cost a training on a GPU any speed? The same script alone and in a chain of three links on pocket.

Steps a second are medians over windows of 20 steps, as the script itself prints them; alone is measured before and
after the chain, so that a GPU that grows warm is unfair to both alike. Needs PyTorch with CUDA and one GPU.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import windlass
from benchmarks.report import Row, show, skip
from windlass_job import wire

BUDGET = 0.99  # of the speed alone
_TITLE = "a training on one GPU, alone and in a chain of three links"
_STEPS_ALONE = 300
_LINK_S = 40
_HERE = Path(__file__).parent


def main() -> None:
    if subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1).cuda()"], capture_output=True).returncode:
        skip(_TITLE, "no PyTorch with CUDA, or no GPU")
        return
    with tempfile.TemporaryDirectory(prefix="windlass-gpu-") as folder:
        show(_TITLE, measure(Path(folder)))


def measure(folder: Path) -> list[Row]:
    project = folder / "project"
    project.mkdir()
    (project / "train.py").write_bytes((_HERE / "gpu_training.py").read_bytes())
    env = make_env(folder)
    alone = run_alone(folder / "before", project, env)
    speed = statistics.median(alone)
    steps = int(speed * _LINK_S * 1.2)  # importing PyTorch and saving take half of a link
    record, chained = run_chain(project, env, steps)
    alone += run_alone(folder / "after", project, env)
    return make_rows(statistics.median(alone), chained, record, steps)


def make_env(folder: Path) -> dict[str, str]:
    """A Windlass of its own, and the job package for the script that runs alone."""
    places = {name: str(folder / name.lower()) for name in ("STATE", "CONFIG", "POCKET")}
    source = str(Path(windlass.__file__).parent.parent)
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": paths, **{f"WINDLASS_{name}_DIR": path for name, path in places.items()}}


def run_alone(folder: Path, project: Path, env: Mapping[str, str]) -> list[float]:
    folder.mkdir()
    argv = [sys.executable, str(project / "train.py"), str(_STEPS_ALONE)]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return read_rates(done.stdout)


def run_chain(project: Path, env: Mapping[str, str], steps: int) -> tuple[dict[str, object], list[float]]:
    (project / "windlass.toml").write_text(
        f'[run]\nname = "gpu"\ncommand = "{sys.executable} train.py {steps}"\n'
        f'[resources]\ngpus = 1\ncpus = 2\nmemory = "16G"\ntime = "{3 * _LINK_S - 30}s"\nlink_time = "{_LINK_S}s"\n'
        '[checkpoint]\nfolder = "checkpoints"\nnotice = "8s"\n'
    )
    record = json.loads(call_windlass(project, env, "--json", "run"))["run"]
    log = call_windlass(project, env, "logs", "last")
    return record, read_rates(log)


def call_windlass(project: Path, env: Mapping[str, str], *words: str) -> str:
    argv = [sys.executable, "-m", "windlass", *words]
    done = subprocess.run(argv, cwd=project, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"windlass {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def read_rates(text: str) -> list[float]:
    """Of every window but the first after each start, which warms the GPU up."""
    rates: list[float] = []
    is_first = False
    for line in text.splitlines():
        is_first = is_first or line.startswith("begins at")
        found = re.match(r"step \d+ rate ([\d.]+)", line)
        if found and not is_first:
            rates.append(float(found[1]))
        elif found:
            is_first = False
    return rates


def make_rows(alone: float, chained: list[float], record: Mapping[str, object], steps: int) -> list[Row]:
    folder = Path(str(record["folder"]))
    events = [json.loads(line) for line in (folder / wire.EVENTS).read_text().splitlines()]
    links = [one for one in events if one["kind"] == wire.LINK_ENDED]
    gauges = [json.loads(line) for path in (folder / wire.GAUGES).iterdir() for line in path.read_text().splitlines()]
    gpus = [gpu for one in gauges for gpu in one.get("gpus") or ()]
    speed = statistics.median(chained)
    outcomes = ", ".join(one["outcome"] for one in links)
    return [
        Row(what="alone", value=alone, unit="steps/s"),
        Row(what="in the chain", value=speed, unit="steps/s", note=f"{steps} steps, links: {outcomes}"),
        # Of the time for a step: the budget is the most it may be.
        Row(
            what="time of a step in the chain", value=1000 / speed, peer="alone", ratio=alone / speed, budget=1 / BUDGET
        ),
        Row(what="samples of the GPU", value=len(gpus), unit="", note=describe_gpu(gpus)),
    ]


def describe_gpu(gpus: list[dict[str, float]]) -> str:
    if not gpus:
        return "none recorded"
    last = gpus[-1]
    return ", ".join(f"{name} {last[name]}" for name in sorted(last))


if __name__ == "__main__":
    main()
