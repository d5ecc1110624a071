"""What do the gauges cost? CPU time of one look at a node, as a share of a core, and the size of a day of 64 GPUs.

The job has a hundred processes, as eight ranks with a dozen workers each, and the looks are far apart as in a job. GPUs
are looked at where this machine has NVIDIA's; `gpu_gauges` compares what is read there with nvidia-smi's own figures.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import Row, count_cpu_ms, show
from windlass_job.gauging.cards import open_cards
from windlass_job.gauging.cores import Cores
from windlass_job.gauging.rows import Sheet, Window
from windlass_job.gauging.samples import Node, Sample
from windlass_job.gauging.sampling import SHARE, find_pace, find_pause
from windlass_job.reading.waiting import Waiting

INTERVAL_S = 15.0
BUDGET_MB = 20.0
MILLION = 1e6
DAY_S = 86_400
GPUS = 64
_LOOKS = 60
_PROCESSES = 100
_JOB = "987654321"
_NUMBER_OF_GPUS = {8: "8 nodes of 8 GPUs", 4: "16 nodes of 4", 1: "64 nodes of 1"}


def main() -> None:
    env = {**os.environ, "SLURM_JOB_ID": _JOB}
    show("what one look at a node costs", measure_cost(env))
    show("the size of a day of 64 GPUs, with what every rank's loader tells", measure_size())


def measure_cost(env: dict[str, str]) -> list[Row]:
    with start_processes(env):
        cards = open_cards(env, planned=len(list(Path("/dev").glob("nvidia[0-9]*"))))
        cost_ms = time_looks(Node(env, cards))
    cost_s, first_s = cost_ms / 1000, find_pause(find_pace(0.0, INTERVAL_S), cost_ms / 1000)
    note = f"{_PROCESSES} processes, {len(cards.about)} GPUs"
    rows = [
        Row(what="CPU time of one look", value=cost_ms, note=note),
        Row(what="of a core, every 15 s", value=MILLION * cost_s / INTERVAL_S, unit="ppm", budget=MILLION * SHARE),
        Row(
            what="of a core, in the first two minutes",
            value=MILLION * cost_s / first_s,
            unit="ppm",
            budget=MILLION * SHARE,
            note=f"a look every {first_s:.1f} s",
        ),
        Row(what="starting the sampler, once a job and node", value=time_start(env)),
    ]
    if cards.about:
        rows.append(Row(what="CPU time of nvidia-smi, once", value=time_nvidia_smi(env)))
    return rows


@contextmanager
def start_processes(env: dict[str, str]) -> Iterator[None]:
    started = [subprocess.Popen(["sleep", "60"], env={**env, "RANK": str(number % 8)}) for number in range(_PROCESSES)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def time_looks(node: Node) -> float:
    """The mean, because what comes rarely is paid for too; the first looks, which open much, do not count."""
    window, sheet = Window(node.cores), Sheet({}, is_coarse=True)
    costs = []
    for number in range(_LOOKS + 3):
        time.sleep(0.1)
        before = time.process_time()
        window.add(node.look())
        sheet.format(window.close())
        if number >= 3:
            costs.append(1000 * (time.process_time() - before))
    return statistics.mean(costs)


def time_start(env: dict[str, str]) -> float:
    from windlass.edges.job_zip import make_job_zip

    with tempfile.TemporaryDirectory(prefix="windlass-gauges-") as folder:
        archive = Path(folder) / "job.pyz"
        archive.write_bytes(make_job_zip())
        argv = ["sh", "-c", f"exec python3 -I {archive} gauges --interval=15 < /dev/null"]
        return statistics.median(count_cpu_ms(argv, env={**env, "WINDLASS_RUN_DIR": folder}) for _ in range(5))


def time_nvidia_smi(env: dict[str, str]) -> float:
    argv = ["nvidia-smi", "--query-gpu=uuid,utilization.gpu,memory.used,power.draw", "--format=csv"]
    return statistics.median(count_cpu_ms(argv, env=env) for _ in range(5))


def measure_size() -> list[Row]:
    waits = len(write_waits()) * GPUS / 1e6
    return [
        Row(
            what=words,
            value=len(write_a_day(gpus)) * (GPUS // gpus) / 1e6 + waits,
            unit="MB",
            budget=BUDGET_MB,
            note=f"{waits:.1f} MB of it from the loaders",
        )
        for gpus, words in _NUMBER_OF_GPUS.items()
    ]


def write_a_day(gpus: int) -> bytes:
    """Of one node, at the pace of the sampler, with figures as long as they become."""
    cards = [{"uuid": "GPU-" + "0" * 36, "name": "NVIDIA H100 80GB HBM3", "memory_mb": 81559}] * gpus
    about = {"job": "12345678_1", "link": 1, "cores": 96, "memory_limit_mb": 1031000, "shared": "lustre", "gpus": cards}
    window, sheet, lines, moment = Window(Cores(96, None)), Sheet(about, is_coarse=True), list[bytes](), 0.0
    while moment <= DAY_S:
        pace = find_pace(moment, INTERVAL_S)
        window.add(make_sample(moment, gpus))
        if len(window) >= pace.samples_a_row:
            lines += sheet.format(window.close())
        moment += pace.pause_s
    return b"".join(lines)


def make_sample(moment: float, gpus: int) -> Sample:
    gauges: dict[str, float | None] = {"memory_mb": 998_123, "memory_peak_mb": 1_030_999, "oom_kills": 0}
    counters = {"cpu_cores": 94.57 * moment, "shared_ops_s": 12_345.0 * moment}
    for name in ("read_mb_s", "write_mb_s", "shared_read_mb_s", "shared_write_mb_s"):
        counters[name] = 1234.57 * moment
    for place in range(gpus):
        gauges |= {f"gpu{place}.use": 97, f"gpu{place}.memory_mb": 71_234, f"gpu{place}.power_w": 612}
        counters[f"rank{place}.cpu_cores"] = 12.34 * moment
    return Sample(1.7e9 + moment, moment, gauges, counters, {})


def write_waits() -> bytes:
    """Of one rank, a batch a second."""
    with tempfile.TemporaryDirectory(prefix="windlass-gauges-") as folder:
        (Path(folder) / "gauges").mkdir()
        waiting = Waiting({"WINDLASS_RUN_DIR": folder}, 0.0)
        for second in range(DAY_S):
            waiting.count(float(second), 0.0123, 4096)
        waiting.close()
        return (Path(folder) / "gauges" / "data.1.0.jsonl").read_bytes()


if __name__ == "__main__":
    main()
