"""The sampler beside a command: what it sees of the job, and that it leaves with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.waiting import wait_until
from windlass.core.gauges.lines import read_node
from windlass.core.gauges.series import NodeSeries
from windlass.edges.job_zip import make_job_zip

# The first line is an H200's; `[N/A]` is what a GPU in MIG mode says of its utilisation.
NVIDIA = """\
GPU-a312809c-85ee-abec-aeaa-b8ea1ba91857, NVIDIA H200, 87, 30211, 143771, 126.06, Disabled
GPU-3c4d, NVIDIA A100-SXM4-40GB, [N/A], 512, 40960, 60.12, Enabled
GPU-5e6f, NVIDIA H200, 1, 2, 3, 4, Disabled
"""
# It ends with the agent, which the harness kills, and by itself.
BUSY = """
import os, time
hold, parent, end = bytearray(50_000_000), os.getppid(), time.monotonic() + 30
while os.getppid() == parent and time.monotonic() < end:
    pass
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    job = Job(tmp_path, options=("--gauge-interval=0.3",), env={"SLURMD_NODENAME": "node1"})
    job.folder.mkdir()
    (job.folder / "windlass_job.pyz").write_bytes(make_job_zip())
    return job


def load(job: Job) -> NodeSeries | None:
    path = job.folder / "gauges" / "node1.jsonl"
    return read_node("node1", path.read_text()) if path.exists() else None


def wait_for(job: Job, claim: Callable[[NodeSeries], bool], what: str) -> NodeSeries:
    def is_so() -> bool:
        node = load(job)
        return node is not None and claim(node)

    wait_until(is_so, what)
    node = load(job)
    assert node is not None
    return node


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_memory_and_cpu_time_are_sampled_by_rank(job: Job, python: str) -> None:
    job.python = python
    with job.start("env", "RANK=3", sys.executable, "-c", BUSY):
        node = wait_for(job, lambda seen: bool(seen.ranks and seen.ranks[0].cpu_cores), "the work of a rank")

    assert (node.memory_mb.most or 0) > 50
    assert (node.cpu_cores.most or 0) > 0.05
    assert [rank.rank for rank in node.ranks] == [3]
    assert (node.cores or 0) >= 1


def test_a_tool_tells_of_gpus_where_no_library_does(job: Job) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has the real library")
    job.add_program("nvidia-smi", f"cat <<'END'\n{NVIDIA}END")
    job.env["CUDA_VISIBLE_DEVICES"] = "0,1"

    with job.start("sleep", "60"):
        node = wait_for(job, lambda seen: bool(seen.gpus and seen.gpus[0].use), "GPUs")

    busy, sliced = node.gpus
    assert (busy.uuid, busy.name, busy.memory_total_mb) == (NVIDIA.partition(",")[0], "NVIDIA H200", 143771)
    assert (busy.use.most, busy.memory_mb.most, busy.power_w.most) == (87, 30211, 126)
    assert (sliced.is_slice, bool(sliced.use), sliced.memory_mb.most) == (True, False, 512)


def test_others_gpus_are_not_sampled_in_a_job_without(job: Job) -> None:
    job.add_program("nvidia-smi", f"touch {job.home}/asked; cat <<'END'\n{NVIDIA}END")

    with job.start("sleep", "60"):
        node = wait_for(job, lambda seen: len(seen.times) > 1, "two rows")

    assert node.gpus == ()
    assert not (job.home / "asked").exists()


def test_a_hanging_gpu_tool_does_not_hold_up_the_job(job: Job) -> None:
    job.add_program("nvidia-smi", "touch asked; exec sleep 600")
    job.env["CUDA_VISIBLE_DEVICES"] = "0"

    with job.start("bash", "-c", "until [ -e asked ]; do sleep 0.02; done; exit 4") as process:
        wait_until((job.home / "asked").exists, "the tool is asked")
        began = time.monotonic()
        code = process.wait(30)

    assert code == 4
    assert time.monotonic() - began < 8, "less than the time-out of the tool"


@pytest.fixture
def sampler(tmp_path: Path) -> "subprocess.Popen[bytes]":
    archive = tmp_path / "job.pyz"
    archive.write_bytes(make_job_zip())
    env = {**os.environ, "WINDLASS_RUN_DIR": str(tmp_path), "SLURMD_NODENAME": "node2"}
    argv = [sys.executable, "-I", str(archive), "gauges", "--interval=30"]
    return subprocess.Popen(argv, env=env, stdin=subprocess.PIPE)


def count_rows(path: Path) -> int:
    return path.read_text().count("\n[") if path.exists() else 0


def test_on_another_node_it_stays_until_the_input_ends_and_leaves_a_last_row(
    tmp_path: Path, sampler: "subprocess.Popen[bytes]"
) -> None:
    samples = tmp_path / "gauges" / "node2.jsonl"
    wait_until(lambda: count_rows(samples) == 1, "a row")

    sampler.send_signal(signal.SIGTERM)  # the notice that the time is nearly up: the command still saves
    with pytest.raises(subprocess.TimeoutExpired):
        sampler.wait(0.3)
    assert sampler.stdin is not None
    sampler.stdin.close()

    assert sampler.wait(20) == 0
    assert count_rows(samples) == 2


def test_it_goes_when_the_agent_is_killed(job: Job) -> None:
    with job.start("sleep", "60") as process:
        wait_for(job, lambda seen: bool(seen.times), "a row")
        mark = f"WINDLASS_RUN_DIR={job.folder}".encode()
        assert find_samplers(mark)
        process.kill()

    wait_until(lambda: not find_samplers(mark), "no sampler is left")


def find_samplers(mark: bytes) -> list[str]:
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else []
            if b"gauges" in words and mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(process.name)
        except OSError:
            continue
    return found
