"""Does the sampler see what nvidia-smi sees? A load on one GPU in four phases, both looking at the same time.

The sampler is the one of a job, out of its zip, at its quickest pace. Compared are the means of each phase, without
its edges: use in points of a percent, memory and power in percent. Needs PyTorch with CUDA and one NVIDIA GPU, and
nothing else: `PYTHONPATH=src python3 -m benchmarks.gpu_gauges`.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from benchmarks.report import Row, show, skip
from windlass.core.gauges.lines import read_node
from windlass.core.gauges.series import GpuGauges, Series
from windlass.edges.job_zip import make_job_zip
from windlass_job.gauging.cards import Cards, open_cards
from windlass_job.gauging.sampling import SHARE

BUDGET = 2.0  # points, or percent
_TITLE = "what the sampler reads of one GPU, beside nvidia-smi"
_PHASE_S = 20.0
_EDGE_S = 4.0  # after a change: counters look back up to a second, and rows lie a second apart
_INTERVAL = 3.0  # its third is the pace of the sampler's first looks, and eight of it how long that lasts
_LOOKS = 100

# Argument: seconds of a phase. Says when each begins. Share of the time at work, GB held.
LOAD = """
import sys, time, torch
phase_s = float(sys.argv[1])
held, matrix = [], torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
for busy, gigabytes in ((0.0, 1), (1.0, 8), (0.5, 24), (0.0, 40)):
    while len(held) < gigabytes:
        held.append(torch.empty(1 << 30, device="cuda", dtype=torch.uint8))
    torch.cuda.synchronize()
    print(time.time(), flush=True)
    end = time.monotonic() + phase_s
    while time.monotonic() < end:
        stop = time.monotonic() + 0.05 * busy
        while time.monotonic() < stop:
            for _ in range(4):
                matrix @ matrix
            torch.cuda.synchronize()
        if busy < 1:
            time.sleep(0.05 * (1 - busy))
print(time.time(), flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    time: float
    use: float
    memory_mb: float
    power_w: float


def main() -> None:
    if shutil.which("nvidia-smi") is None:
        skip(_TITLE, "no nvidia-smi")
        return
    if subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1).cuda()"], capture_output=True).returncode:
        skip(_TITLE, "no PyTorch with CUDA, or no GPU")
        return
    with tempfile.TemporaryDirectory(prefix="windlass-gpu-gauges-") as folder:
        show(_TITLE, measure(Path(folder)))


def measure(folder: Path) -> list[Row]:
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_ID": "987654321", "SLURMD_NODENAME": "node"}
    edges, ours, theirs = watch(folder, {**env, "WINDLASS_RUN_DIR": str(folder)})
    look_ms = time_reading(open_cards(env, planned=1))
    return [
        *(row for phase in pairwise(edges) for row in compare(phase, ours, theirs)),
        Row(what="CPU time of reading the GPU once", value=look_ms),
        Row(what="of a core, every 15 s", value=1e6 * look_ms / 15_000, unit="ppm", budget=1e6 * SHARE),
        Row(what="CPU time of nvidia-smi, once", value=time_nvidia_smi(env)),
    ]


def watch(folder: Path, env: dict[str, str]) -> tuple[list[float], GpuGauges, list[Seen]]:
    """When phases began, what the sampler wrote, and what nvidia-smi said."""
    archive = folder / "job.pyz"
    archive.write_bytes(make_job_zip())
    tool = subprocess.Popen(make_smi_argv(), env=env, stdout=subprocess.PIPE, text=True)
    load = subprocess.Popen([sys.executable, "-c", LOAD, str(_PHASE_S)], env=env, stdout=subprocess.PIPE, text=True)
    edges = []
    samplers: list[subprocess.Popen[bytes]] = []
    assert load.stdout is not None
    for line in load.stdout:  # a sampler for each phase, so that each is seen at its quickest pace
        edges.append(float(line))
        stop(samplers)
        argv = [sys.executable, "-I", str(archive), "gauges", f"--interval={_INTERVAL:g}", "--gpus=1"]
        samplers = [subprocess.Popen(argv, env=env, stdin=subprocess.PIPE)]
    stop(samplers)
    tool.terminate()
    said, _ = tool.communicate()
    load.wait()
    node = read_node("node", (folder / "gauges" / "node.jsonl").read_text())
    assert node is not None
    return edges, node.gpus[0], read_smi(said)


def stop(samplers: "Sequence[subprocess.Popen[bytes]]") -> None:
    for sampler in samplers:
        sampler.communicate()


def make_smi_argv() -> list[str]:
    fields = "timestamp,utilization.gpu,memory.used,power.draw"
    return ["nvidia-smi", "--id=0", f"--query-gpu={fields}", "--format=csv,noheader,nounits", "--loop-ms=500"]


def read_smi(text: str) -> list[Seen]:
    """2026/11/18 12:34:56.789, 97, 30211, 412.34"""
    seen = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == 4:
            moment = datetime.strptime(words[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
            seen.append(Seen(time=moment, use=float(words[1]), memory_mb=float(words[2]), power_w=float(words[3])))
    return seen


def compare(phase: tuple[float, float], ours: GpuGauges, theirs: Sequence[Seen]) -> list[Row]:
    begin, end = phase[0] + _EDGE_S, phase[1] - 1.0
    inside = [one for one in theirs if begin <= one.time <= end]
    use, memory, power = (find_mean(series, begin, end) for series in (ours.use, ours.memory_mb, ours.power_w))
    their_use = statistics.mean(one.use for one in inside)
    their_memory = statistics.mean(one.memory_mb for one in inside)
    their_power = statistics.mean(one.power_w for one in inside)
    apart = abs(use - their_use)
    return [
        Row(what="use: apart by", value=apart, unit="points", budget=BUDGET, note=f"{use:.1f}, {their_use:.1f} %"),
        Row(
            what="memory: apart by",
            value=100 * abs(memory / their_memory - 1),
            unit="%",
            budget=BUDGET,
            note=f"{memory:.0f}, {their_memory:.0f} MB",
        ),
        Row(
            what="power: apart by",
            value=100 * abs(power / their_power - 1),
            unit="%",
            note=f"{power:.0f}, {their_power:.0f} W",
        ),
    ]


def find_mean(series: Series, begin: float, end: float) -> float:
    return statistics.mean(
        value
        for time, value in zip(series.times, series.values, strict=True)
        if value is not None and begin <= time <= end
    )


def time_reading(cards: Cards) -> float:
    cards.read()
    before = time.process_time()
    for _ in range(_LOOKS):
        cards.read()
    return 1000 * (time.process_time() - before) / _LOOKS


def time_nvidia_smi(env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(5):
        subprocess.run(make_smi_argv()[:-1], env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 5


if __name__ == "__main__":
    main()
