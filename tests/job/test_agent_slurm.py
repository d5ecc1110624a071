"""The agent in real jobs: what Slurm and srun do with signals is theirs to say, not ours to imagine."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.waiting import wait_until
from windlass.core.gauges.lines import read_files, read_node
from windlass.edges.job_zip import make_job_zip

pytestmark = pytest.mark.slurm

TRAINING = """
import os, signal, sys, time
def save(number, frame):
    time.sleep(1)
    print("saved", os.environ["SLURM_PROCID"], flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open("ready." + os.environ["SLURM_PROCID"], "w").close()
time.sleep(100)
"""
RANKED = "srun -N2 -n2 --kill-on-bad-exit=1 python3 -I ../windlass_job.pyz rank-env -- "


@pytest.fixture
def home(slurm: SlurmCluster) -> Iterator[Path]:
    folder = slurm.home("alice") / "agent-test"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "code").mkdir(parents=True)
    (folder / "windlass_job.pyz").write_bytes(make_job_zip())
    (folder / "code" / "train.py").write_text(TRAINING)
    shutil.chown(folder, "alice", "alice")
    shutil.chown(folder / "code", "alice", "alice")
    yield folder
    slurm.reset()  # a node whose cable was out comes back only at a ping, and that may take longer than a wait
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize(
    "command",
    [
        RANKED + "bash -c 'true; python3 train.py; true'",
        "srun -N2 -n2 --kill-on-bad-exit=1 python3 train.py",
        f"bash -c '{RANKED} python3 train.py; echo the next line'",
    ],
    ids=["ours", "somebody's", "in a shell"],
)
@pytest.mark.parametrize("how", ["--batch --signal=USR1", ""], ids=["notice", "cancel"])
def test_every_task_saves_before_the_job_ends(slurm: SlurmCluster, home: Path, command: str, how: str) -> None:
    job = _submit(slurm, home, "-N2 -n2", command)
    wait_until(lambda: len(list(home.glob("code/ready.*"))) == 2, "both tasks are up")

    slurm.run_as("alice", f"scancel {how} {job}")

    wait_until(lambda: _is_over(slurm, job), "the job has ended")
    log = (home / "log.0").read_text()
    assert ("saved 0" in log, "saved 1" in log, "the next line" in log) == (True, True, False)
    assert _status(home)["state"] == ("cut" if how else "terminated")


def test_the_end_of_the_training_cancels_the_links_that_wait(slurm: SlurmCluster, home: Path) -> None:
    cut_once = "bash -c 'sleep 1; [ $WINDLASS_LINK = 1 ] && kill -USR1 $PPID; sleep 1'"
    job = _submit(slurm, home, "--array=1-4%1", cut_once)

    wait_until(lambda: _is_over(slurm, job), "all links have ended")

    assert (_status(home)["state"], _status(home)["link"]) == ("done", 2)
    assert sorted(path.name for path in home.glob("log.*")) == ["log.1", "log.2"]
    assert "windlass:" not in (home / "log.2").read_text()
    wait_until(lambda: f"{job}_2|COMPLETED" in _accounting(slurm, job), "the link that cancelled others is well")


def test_memory_and_cpu_time_are_those_of_the_job(slurm: SlurmCluster, home: Path) -> None:
    job = _submit(slurm, home, "-n1", "python3 -c 'x = bytearray(80_000_000); import time; time.sleep(3)'")

    wait_until(lambda: _is_over(slurm, job), "the job has ended")

    (samples,) = (home / "gauges").iterdir()
    node = read_node(samples.stem, samples.read_text())
    assert node is not None
    assert 80 <= (node.memory_mb.most or 0) < 300
    assert node.cpu_cores
    assert node.cores == 1


# What a node's own tool would say: which card it is, by the variable that Slurm sets in every step.
CARDS = """#!/bin/sh
for card in 0 1 2 3; do echo "GPU-$SLURMD_NODENAME-$card, Fake, $SLURM_NODEID$card, 1, 2, 3, Disabled"; done
"""
RANKS = "srun -N2 -n2 --kill-on-bad-exit=1 python3 -I ../windlass_job.pyz rank-env -- bash -c 'sleep 4 & wait; exit 0'"


def test_every_node_of_a_job_is_sampled_and_only_its_own_gpus(slurm: SlurmCluster, home: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "nvidia-smi").write_text(CARDS)
    (home / "bin" / "nvidia-smi").chmod(0o755)

    job = _submit(slurm, home, "-p gpu -N2 -n2 --gres=gpu:2", RANKS)
    wait_until(lambda: _is_over(slurm, job), "the job has ended")

    gauges = read_files({path.name: path.read_text() for path in (home / "gauges").iterdir()})
    assert [node.node for node in gauges.nodes] == ["node1", "node2"]
    assert [[gpu.uuid for gpu in node.gpus] for node in gauges.nodes] == [
        ["GPU-node1-0", "GPU-node1-1"],
        ["GPU-node2-0", "GPU-node2-1"],
    ]
    assert [[rank.rank for rank in node.ranks] for node in gauges.nodes] == [[0], [1]]


# Steps for ever in the first start; the second makes ten and leaves a result.
TWICE = """
import os, time
attempt = os.environ["WINDLASS_ATTEMPT"]
for step in range(10 if attempt == "2" else 10**6):
    with open("steps", "a") as file:
        file.write(attempt)
    time.sleep(0.2)
open("result", "w").write(attempt)
"""


def test_a_job_behind_a_cut_cable_stops_when_slurm_has_started_it_again(slurm: SlurmCluster, home: Path) -> None:
    (home / "code" / "twice.py").write_text(TWICE)
    job = _submit(slurm, home, "-n1 --requeue --open-mode=append", "python3 twice.py")
    wait_until((home / "code" / "steps").exists, "the first start trains")
    first_node = str(_status(home)["node"])
    node = int(first_node.removeprefix("node"))

    slurm.cut_network(node)
    try:
        wait_until(lambda: _is_queued_again(slurm, job), "Slurm gives the node up", timeout_s=70)
        slurm.run_as("alice", f"scontrol update jobid={job} StartTime=now")
        wait_until((home / "code" / "result").exists, "the second start trains to its end", timeout_s=60)
        wait_until((home / "claims" / "1.1.1.stopped").exists, "the first has stopped")
    finally:
        slurm.plug_network(node)

    steps = (home / "code" / "steps").read_text()
    assert steps.rstrip("2").strip("1") == "", "the first one trained on beside the second"
    assert (steps.count("2"), (home / "code" / "result").read_text()) == (10, "2")
    wait_until(lambda: _status(home)["state"] == "done", "the second has said its last word")
    assert _status(home)["attempt"] == 2
    assert _status(home)["node"] != first_node
    fenced = [event for event in _events(home) if event["kind"] == "fenced_off"]
    assert [(event["node"], event["by"]) for event in fenced] == [(first_node, "1.1.2")]


def test_the_kill_of_one_rank_ends_the_step(slurm: SlurmCluster, home: Path) -> None:
    training = "import os, time; open('pid.' + os.environ['RANK'], 'w').write(str(os.getpid())); time.sleep(100)"
    (home / "code" / "sleep.py").write_text(training)
    job = _submit(slurm, home, "-N2 -n2", RANKED + "python3 sleep.py")
    wait_until(lambda: all((home / "code" / f"pid.{rank}").exists() for rank in "01"), "both ranks are up")
    pid = int((home / "code" / "pid.1").read_text())

    os.kill(pid, signal.SIGKILL)

    wait_until(lambda: _is_over(slurm, job), "the job has ended", timeout_s=30)
    assert _status(home)["state"] == "failed"


def _is_queued_again(slurm: SlurmCluster, job: str) -> bool:
    return slurm.run_as("alice", f"squeue -hj {job} -o %T").stdout.strip() == "PENDING"


def _events(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "events.jsonl").read_text().splitlines()]


def _submit(slurm: SlurmCluster, home: Path, options: str, command: str) -> str:
    script = f"""#!/bin/bash
#SBATCH --chdir={home}/code --output={home}/log.%a --time=3 --signal=B:USR1@60
export PATH={home}/bin:$PATH WINDLASS_RUN_DIR={home} WINDLASS_LINK=${{SLURM_ARRAY_TASK_ID:-1}} WINDLASS_LINKS=4
exec python3 -I ../windlass_job.pyz agent --gauge-interval 0.5 -- {command}
"""
    script = script.replace("%a", "%a" if "--array" in options else "0")
    return slurm.run_as("alice", f"sbatch --parsable {options}", stdin=script).stdout.strip()


def _is_over(slurm: SlurmCluster, job: str) -> bool:
    return not slurm.run_as("alice", f"squeue -hj {job}", check=False).stdout.strip()


def _accounting(slurm: SlurmCluster, job: str) -> list[str]:
    return slurm.run_as("alice", f"sacct -nPXj {job} -o jobid,state").stdout.splitlines()


def _status(home: Path) -> dict[str, Any]:
    status = json.loads((home / "status.json").read_text())
    assert isinstance(status, dict)
    return status
