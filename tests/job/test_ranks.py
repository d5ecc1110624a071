"""From Slurm's variables to those of PyTorch, and the first process of a task."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip
from windlass_job.processes import read_stat
from windlass_job.starting.hostlist import read_first_host
from windlass_job.starting.ranks import make_ranks, make_rendezvous, read_counts


@pytest.mark.parametrize(
    ("hostlist", "first"),
    [
        ("node1", "node1"),
        ("node1,node2", "node1"),
        ("gpu[003-007,9],login1", "gpu003"),
        ("gpu[3,7-9]", "gpu3"),
        ("r[1-2]c[05,7-8]", "r1c05"),
        ("r1c[5]-ib", "r1c5-ib"),
        ("a-b-[10-11]", "a-b-10"),
    ],
)
def test_reads_the_first_host(hostlist: str, first: str) -> None:
    assert read_first_host(hostlist) == first


def test_reads_tasks_per_node() -> None:
    assert read_counts("4(x2),3") == [4, 4, 3]


def test_a_task_knows_its_place() -> None:
    env = {
        "SLURM_PROCID": "5",
        "SLURM_LOCALID": "1",
        "SLURM_NODEID": "1",
        "SLURM_STEP_NUM_TASKS": "7",
        "SLURM_STEP_TASKS_PER_NODE": "4,3",
    }

    assert make_ranks(env) == {
        "RANK": "5",
        "WORLD_SIZE": "7",
        "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "3",
        "NODE_RANK": "1",
        "GROUP_RANK": "1",
    }


def test_outside_of_slurm_nothing_is_made_up() -> None:
    assert make_ranks({}) == {}
    assert make_rendezvous({}) == {}


def test_reads_a_process_with_an_odd_name() -> None:
    process = read_stat("7 (a) (b c) S 3 7 5 " + " ".join(str(number) for number in range(7, 53)))

    assert (process.pid, process.name, process.state, process.parent, process.session) == (7, "a) (b c", "S", 3, 5)
    assert process.cpu_ticks == 14 + 15 + 16 + 17
    assert process.resident_pages == 24


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_task_hands_the_signal_on_past_its_shell(tmp_path: Path, python: str, number: int) -> None:
    archive = tmp_path / "job.pyz"
    archive.write_bytes(make_job_zip())
    training = "trap 'echo saved $RANK; exit 0' TERM; touch ready; while true; do sleep 0.05; done"
    (tmp_path / "train").write_text(training)

    task = subprocess.Popen(
        [python, "-I", archive, "rank-env", "--", "bash", "-c", "true; bash train; echo the next line"],
        cwd=tmp_path,
        env={**os.environ, "SLURM_PROCID": "3"},
        stdout=subprocess.PIPE,
    )
    wait_until((tmp_path / "ready").exists, "the training is up")
    task.send_signal(number)
    out, _ = task.communicate(timeout=20)

    assert (out, task.returncode) == (b"saved 3\n", 0)
