"""Copies of a command on one node, with NVIDIA's service and without."""

import os
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip
from windlass_job.starting.mps import make_environments

# In the place of NVIDIA's, which is nowhere without a GPU: it keeps what it was told and where.
CONTROL = """#!/bin/bash
echo "$* $(cat) $CUDA_MPS_PIPE_DIRECTORY" >> {told}
stat -c %a "$CUDA_MPS_PIPE_DIRECTORY" >> {told}
"""


def start(home: Path, replicas: int, command: str, *, gpus: int = 1, **env: str) -> "subprocess.Popen[str]":
    (home / "job.pyz").write_bytes(make_job_zip())
    own = {"TMPDIR": str(home), "PATH": f"{home}:{os.environ['PATH']}", "SLURM_NODEID": "0", **env}
    words = ["mps", f"--replicas={replicas}", f"--gpus={gpus}", "--", "bash", "-c", command]
    return subprocess.Popen(
        [sys.executable, "-I", home / "job.pyz", *words], cwd=home, env=own, stderr=subprocess.PIPE, text=True
    )


def test_each_copy_knows_which_one_it_is(tmp_path: Path) -> None:
    done = start(tmp_path, 3, 'echo "of $WINDLASS_REPLICAS" > out.$WINDLASS_REPLICA')
    _, said = done.communicate(timeout=30)

    assert done.returncode == 0
    assert {path.name: path.read_text() for path in tmp_path.glob("out.*")} == {
        f"out.{number}": "of 3\n" for number in range(3)
    }
    assert "the copies share the GPU by turns: nvidia-cuda-mps-control" in said


def test_the_service_is_the_jobs_own_and_is_stopped_at_the_end(tmp_path: Path) -> None:
    told = tmp_path / "told"
    (tmp_path / "nvidia-cuda-mps-control").write_text(CONTROL.format(told=told))
    (tmp_path / "nvidia-cuda-mps-control").chmod(0o755)

    done = start(
        tmp_path, 2, 'echo "$CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" > out.$WINDLASS_REPLICA'
    )
    _, said = done.communicate(timeout=30)

    folder, part = (tmp_path / "out.0").read_text().split()
    assert (tmp_path / "out.1").read_text() == f"{folder} 50\n"
    assert part == "50"
    assert told.read_text().split() == ["-d", folder, "700", "quit", folder, "700"]
    assert not Path(folder).exists()
    assert said == ""


def test_without_gpus_there_is_no_service(tmp_path: Path) -> None:
    done = start(tmp_path, 1, "true", gpus=0)
    _, said = done.communicate(timeout=30)

    assert (done.returncode, said) == (0, "")


def test_one_that_fails_leaves_the_others_alone(tmp_path: Path) -> None:
    done = start(tmp_path, 3, "[ $WINDLASS_REPLICA = 1 ] && exit 9; sleep 0.5; touch ended.$WINDLASS_REPLICA", gpus=0)
    _, said = done.communicate(timeout=30)

    assert done.returncode == 9
    assert sorted(path.name for path in tmp_path.glob("ended.*")) == ["ended.0", "ended.2"]
    assert "copy 1 ended with 9; the others go on" in said


def test_every_copy_is_told_to_stop(tmp_path: Path) -> None:
    saving = (
        "trap 'touch saved.$WINDLASS_REPLICA; exit 0' TERM; touch up.$WINDLASS_REPLICA; while true; do sleep 0.05; done"
    )
    done = start(tmp_path, 2, saving, gpus=0)
    wait_until(lambda: len(list(tmp_path.glob("up.*"))) == 2, "both copies are up")

    done.send_signal(signal.SIGTERM)

    assert done.wait(30) == 0
    assert len(list(tmp_path.glob("saved.*"))) == 2


def test_copies_are_counted_over_all_nodes_and_spread_over_the_gpus_of_each() -> None:
    env = {"SLURM_NODEID": "1", "SLURM_JOB_NUM_NODES": "2", "CUDA_VISIBLE_DEVICES": "4,5"}
    options = Namespace(replicas=3, gpus=2)

    alone = make_environments(options, env, {})
    shared = make_environments(options, env, {"CUDA_MPS_PIPE_DIRECTORY": "/x"})

    assert [one["WINDLASS_REPLICA"] for one in alone] == ["3", "4", "5"]
    assert {one["WINDLASS_REPLICAS"] for one in alone} == {"6"}
    assert [one["CUDA_VISIBLE_DEVICES"] for one in alone] == ["4", "5", "4"]
    # The service counts its own from 0.
    assert [one["CUDA_VISIBLE_DEVICES"] for one in shared] == ["0", "1", "0"]
    assert {one["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] for one in shared} == {"50"}
