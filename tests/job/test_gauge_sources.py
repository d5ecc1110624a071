"""What the sampler reads: cards, tools, control groups, cores, file systems, processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.job.test_gauges import NVIDIA
from tests.waiting import wait_until
from windlass_job.cgroups import find_folders, load_group
from windlass_job.gauging.cards import choose
from windlass_job.gauging.cores import count_full, read_given, read_ranges
from windlass_job.gauging.storage import Moved, read_lustre, read_nfs
from windlass_job.gauging.tools import NoTool, Tool, ToolReader, read_nvidia, read_rocm
from windlass_job.gauging.who import JobProcesses

# rocm-smi --showuse --showpower --showmeminfo vram --json, shortened.
ROCM = """{"card0": {"Average Graphics Package Power (W)": "19.0", "GPU use (%)": "3",
  "VRAM Total Memory (B)": "25753026560", "VRAM Total Used Memory (B)": "794341376"}, "system": {"x": "y"}}"""

# /proc/self/mountstats of a client, shortened; the second mount is the same file system as the first.
NFS_STATS = "\n".join(
    (
        " with fstype nfs4 statvers=1.1",
        "\topts:\trw,vers=4.2,rsize=1048576",
        "\tage:\t1100",
        "\tbytes:\t9 9 0 0 5000 700 2 1",
        "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)",
        "\tper-op statistics",
        "\t        NULL: 1 1 0 44 24 0 0 0 0",
        "\t        READ: 30 30 0 6000 5600 0 20 21 0",
        "\t     GETATTR: 400 400 0 6000 5600 0 20 21 0",
        "",
    )
)
MOUNTSTATS = f"""device rootfs mounted on / with fstype rootfs
device fs1:/home mounted on /home{NFS_STATS}device fs1:/home mounted on /home/shared{NFS_STATS}\
device fs2:/data mounted on /data{NFS_STATS.replace("5000", "1000").replace("400 ", "4 ", 1)}\
device proc mounted on /proc with fstype proc
"""

LUSTRE = """snapshot_time             1700000000.123 secs.nsecs
read_bytes                20 samples [bytes] 4096 1048576 9000000
write_bytes               3 samples [bytes] 1 4096 5000
open                      400 samples [usec] 1 5 900
close                     400 samples [usecs]
"""


@pytest.mark.parametrize(
    ("env", "count", "ours"),
    [
        ({"CUDA_VISIBLE_DEVICES": "2,3"}, 4, [2, 3]),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, 2, [0, 1]),
        ({"CUDA_VISIBLE_DEVICES": "3"}, 1, [0]),  # hidden by a control group, and numbered as on the whole node
        ({"CUDA_VISIBLE_DEVICES": "5,6"}, 3, [0, 1, 2]),  # nobody knows what that means
        ({"CUDA_VISIBLE_DEVICES": "GPU-c,GPU-a"}, 4, [2, 0]),
        ({"SLURM_JOB_GPUS": "1"}, 4, [1]),
        ({}, 4, [0, 1, 2, 3]),  # whole nodes
    ],
)
def test_only_the_gpus_of_this_job_count(env: dict[str, str], count: int, ours: list[int]) -> None:
    uuids = [f"GPU-{letter}12-34" for letter in "abcdefgh"[:count]]

    assert choose(uuids, env) == ours


def test_reads_nvidia_smi() -> None:
    (card, reading), (sliced, unknown), _ = read_nvidia(NVIDIA)

    assert card == {"uuid": NVIDIA.partition(",")[0], "name": "NVIDIA H200", "memory_mb": 143771}
    assert list(reading) == [87, 30211, 126.1]
    assert sliced["slice"] is True
    assert list(unknown) == [None, 512, 60.1]


def test_reads_rocm_smi() -> None:
    ((card, (use, memory, power)),) = read_rocm(ROCM)

    assert (card["uuid"], card["memory_mb"], use, power) == ("card0", 24560, 3, 19)
    assert memory == pytest.approx(757.5, abs=0.1)


@pytest.mark.parametrize("script", ["sleep 600", "exit 9", "echo no devices were found; exit 6"])
def test_a_tool_that_does_not_answer_is_none(tmp_path: Path, script: str) -> None:
    with pytest.raises(NoTool):
        ToolReader(make_tool(tmp_path, script), timeout_s=0.3)


def test_a_tool_that_fails_later_is_given_up_after_two_times(tmp_path: Path) -> None:
    reader = ToolReader(make_tool(tmp_path, f"cat {tmp_path}/answer"), timeout_s=5, share=0.01)
    (tmp_path / "answer").unlink()
    assert reader.read([0]) == [(87, 30211, 126.1)]

    def ask_until_given_up() -> bool:
        assert reader.read([0]) == [(None, None, None)]
        return (tmp_path / "calls").read_text().count("\n") >= 3

    wait_until(ask_until_given_up, "asked again when that has cost little enough", timeout_s=60)
    for _ in range(3):
        reader.read([0])
    assert (tmp_path / "calls").read_text().count("\n") == 3


def make_tool(folder: Path, script: str) -> Tool:
    program = folder / "smi"
    (folder / "answer").write_text(NVIDIA)
    program.write_text(f"#!/bin/sh\necho >> {folder}/calls\n{script}\n")
    program.chmod(0o755)
    return Tool((str(program),), read_nvidia)


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


def test_caches_of_files_give_way_and_shared_memory_does_not(tmp_path: Path) -> None:
    megabyte = 1024 * 1024
    kinds = {"anon": 300, "file": 650, "shmem": 50, "active_file": 100, "inactive_file": 500, "slab_reclaimable": 25}
    (tmp_path / "memory.current").write_text(f"{1000 * megabyte}\n")
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.stat").write_text("".join(f"{name} {size * megabyte}\n" for name, size in kinds.items()))

    usage = load_group({"": str(tmp_path)})

    assert (usage["memory_needed_mb"], usage["memory_anonymous_mb"]) == (375, 300)
    assert "memory_limit_mb" not in usage


@pytest.mark.parametrize(
    ("text", "place", "cores"), [("12", "0", 12), ("12(x2),4", "1", 12), ("12(x2),4", "2", 4), ("12", "3", None)]
)
def test_cores_that_slurm_gave_to_this_node(text: str, place: str, cores: int | None) -> None:
    assert read_given({"SLURM_JOB_CPUS_PER_NODE": text, "SLURM_NODEID": place}) == cores


def test_full_cores_are_those_of_ours_that_had_no_rest() -> None:
    before = {0: (0, 0), 1: (0, 0), 2: (0, 0)}
    after = {0: (95, 100), 1: (50, 100), 2: (100, 100)}

    assert count_full(before, after, frozenset({0, 1})) == 1
    assert read_ranges(b"0-2,8\n") == {0, 1, 2, 8}


def test_what_nfs_moved_is_counted_once_for_each_file_system() -> None:
    assert read_nfs(MOUNTSTATS) == Moved("nfs", 6000, 1400, 431 + 35)
    assert read_nfs("device proc mounted on /proc with fstype proc\n") is None


def test_what_lustre_moved() -> None:
    assert read_lustre(LUSTRE) == Moved("lustre", 9_000_000, 5000, 823)


@contextmanager
def start(job: str, rank: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has worked a little, and waits."""
    code = "import os; sum(range(3 * 10**6)); os.write(1, b'.'); os.read(0, 1)"
    env = {**os.environ, "SLURM_JOB_ID": job, "RANK": rank}
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read(1) == b"."
        yield child
        child.communicate()


def test_processes_of_another_job_are_not_ours() -> None:
    with start("4545454", "1"), start("4545455", "2"):
        work = JobProcesses({"SLURM_JOB_ID": "4545454"}).load(None)

    assert list(work.rank_cpu_s) == [1]
    assert work.cpu_s == work.rank_cpu_s[1] > 0
    assert work.memory_bytes > 1_000_000


def test_what_a_process_did_is_not_lost_when_it_ends() -> None:
    processes = JobProcesses({"SLURM_JOB_ID": "4545456"})
    with start("4545456", "0"):
        with start("4545456", "1"):
            both = processes.load(None)
        one = processes.load(None)

    assert sorted(both.rank_cpu_s) == [0, 1]
    assert list(one.rank_cpu_s) == [0]
    assert one.cpu_s >= both.cpu_s > one.rank_cpu_s[0]
