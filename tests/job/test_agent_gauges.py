"""Samples of the node, and GPU tools that are missing, fail or hang."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job, wait_until
from windlass.edges.job_zip import make_job_zip
from windlass_job.agent.gpus import GpuReader, Tool, read_nvidia, read_rocm
from windlass_job.cgroups import find_folders

# The first line is an H200's; `[N/A]` is what a GPU in MIG mode says of its utilisation.
NVIDIA = """\
GPU-a312809c-85ee-abec-aeaa-b8ea1ba91857, 87, 30211, 143771, 126.06
GPU-3c4d, [N/A], 512, 40960, 60.12
"""

# rocm-smi --showuse --showpower --showmeminfo vram --json, shortened.
ROCM = """{"card0": {"Average Graphics Package Power (W)": "19.0", "GPU use (%)": "3",
  "VRAM Total Memory (B)": "25753026560", "VRAM Total Used Memory (B)": "794341376"}, "system": {"x": "y"}}"""


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param, options=("--gauge-interval=0.1",), env={"SLURMD_NODENAME": "node1"})


def test_memory_load_and_gpus_are_sampled(job: Job) -> None:
    job.add_program("nvidia-smi", f"cat <<'END'\n{NVIDIA}END")
    samples = job.folder / "gauges" / "node1.jsonl"

    with job.start("sleep", "60"):
        wait_until(lambda: samples.exists() and samples.read_text().count("\n") >= 2, "two samples")

    sample = json.loads(samples.read_text().splitlines()[0])
    assert sample["memory_mb"] > 1
    assert sample["cpu_s"] >= 0
    assert [gpu["utilisation"] for gpu in sample["gpus"]] == [87, None]


def test_another_node_samples_itself_until_told_to_stop(tmp_path: Path) -> None:
    archive = tmp_path / "job.pyz"
    archive.write_bytes(make_job_zip())
    samples = tmp_path / "gauges" / "node2.jsonl"
    env = {**os.environ, "WINDLASS_RUN_DIR": str(tmp_path), "SLURMD_NODENAME": "node2"}

    sampler = subprocess.Popen([sys.executable, "-I", archive, "gauges", "--interval=0.1"], env=env)
    wait_until(lambda: samples.exists() and samples.stat().st_size > 0, "a sample")
    sampler.terminate()

    assert sampler.wait(20) == 0


def test_a_hanging_gpu_tool_does_not_hold_up_the_job(job: Job) -> None:
    job.add_program("nvidia-smi", "touch asked; exec sleep 600")

    with job.start("bash", "-c", "until [ -e asked ]; do sleep 0.02; done; exit 4") as process:
        began = time.monotonic()
        code = process.wait(30)

    assert code == 4
    assert time.monotonic() - began < 8, "less than the time-out of the tool"


@pytest.mark.parametrize("script", ["sleep 600", "exit 9", "echo no devices were found; exit 6"])
def test_a_tool_that_fails_is_given_up_after_two_times(tmp_path: Path, script: str) -> None:
    program = tmp_path / "smi"
    program.write_text(f"#!/bin/sh\necho >> {tmp_path}/calls\nexec {script}\n".replace("exec echo", "echo"))
    program.chmod(0o755)
    reader = GpuReader([Tool((str(program),), read_nvidia)], timeout_s=0.3)

    answers = [reader.load() for _ in range(4)]

    assert answers == [None] * 4
    assert (tmp_path / "calls").read_text().count("\n") == 2


def test_reads_nvidia_smi() -> None:
    busy, sliced = read_nvidia(NVIDIA)

    assert busy == {
        "uuid": "GPU-a312809c-85ee-abec-aeaa-b8ea1ba91857",
        "utilisation": 87,
        "memory_mb": 30211,
        "memory_total_mb": 143771,
        "power_w": 126.1,
    }
    assert sliced["utilisation"] is None


def test_reads_rocm_smi() -> None:
    (gpu,) = read_rocm(ROCM)

    assert (gpu["uuid"], gpu["utilisation"], gpu["power_w"]) == ("card0", 3, 19)
    assert gpu["memory_mb"] == pytest.approx(757.5, abs=0.1)


def test_finds_the_control_group_of_the_whole_job() -> None:
    version_1 = "9:memory:/slurm_node1/uid_5001/job_45/step_batch\n4:cpu,cpuacct:/slurm/uid_5001/job_45/step_0/task_1\n"
    version_2 = "0::/system.slice/slurmstepd.scope/job_45/step_batch/user/task_0\n"

    assert find_folders(version_1, "/c") == {
        "memory": "/c/memory/slurm_node1/uid_5001/job_45",
        "cpu": "/c/cpu,cpuacct/slurm/uid_5001/job_45",
        "cpuacct": "/c/cpu,cpuacct/slurm/uid_5001/job_45",
    }
    assert find_folders(version_2, "/c") == {"": "/c/system.slice/slurmstepd.scope/job_45"}
    assert find_folders("0::/user.slice/session-2.scope\n", "/c") == {}
