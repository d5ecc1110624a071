"""What ended a link before its time, on a real Slurm: told apart, and the next link goes on."""

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.test_story import TRAINING, start
from tests.cluster.cluster import SlurmCluster
from windlass.app.cancelling import cancel_runs
from windlass.app.explaining import explain_run
from windlass.app.following import wait
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState

SITE = "slurm-ssh"
pytestmark = [
    pytest.mark.parametrize("session", [SITE], indirect=True),
    pytest.mark.slurm,
    pytest.mark.slow,
]
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "deaf.py").write_text(DEAF)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "blows"\ncommand = "python3 train.py 9999"\n'
        '[resources]\ntime = "40m"\nlink_time = "15m"\ncpus = 1\nmemory = "200M"\n'
        '[checkpoint]\nfolder = "checkpoints"\nnotice = "5s"\n'
    )
    return folder


@pytest.mark.parametrize(
    ("user", "words"),
    [("alice", "cancelled by you, with scancel"), ("root", "cancelled by an operator of the site (user number 0)")],
)
def test_who_said_scancel(session: Session, slurm: SlurmCluster, project: Path, user: str, words: str) -> None:
    record = wait_for(session, start(session, project, SITE), is_running)

    if user == "root":
        subprocess.run(["scancel", record.job_id or ""], check=True)
    else:
        slurm.run_as(user, f"scancel {record.job_id}")
    record = wait(session, record)

    assert (record.state, record.reason) == (RunState.CANCELLED, words)
    assert explain_run(session, record)[1][0].message == f"it was {words}"


def test_a_preempted_link(session: Session, slurm: SlurmCluster, project: Path) -> None:
    settings = {"resources__partition": "preempt", "run__command": "python3 deaf.py"}
    record = wait_for(session, start(session, project, SITE, **settings), is_running)

    push_out(slurm, record)
    record = wait_for(session, record, lambda one: one.interrupted is not None)

    assert record.interrupted == "link 1: preempted"
    assert record.state in (RunState.WAITING, RunState.RUNNING)
    cancel_runs(session, [record])


def test_a_link_that_saves_and_leaves_when_it_is_warned_of_a_preemption(
    session: Session, slurm: SlurmCluster, project: Path
) -> None:
    record = wait_for(session, start(session, project, SITE, resources__partition="preempt"), is_running)

    push_out(slurm, record)
    record = wait_for(session, record, lambda one: one.link == 2)
    codes = {one.code: one.message for one in explain_run(session, record)[1]}
    cancel_runs(session, [record])

    assert re.fullmatch(r"link 1 was asked to stop 1[345] min.* before its time was up", codes["D308"])


def push_out(slurm: SlurmCluster, record: RunRecord) -> None:
    """A job of somebody else's that wants the same node, in a partition that goes first."""
    slurm.run_as("bob", f"sbatch -p dev --exclusive -w {record.nodes} -t 5 --wrap 'sleep 30'")


def test_a_link_whose_node_dies(session: Session, slurm: SlurmCluster, project: Path) -> None:
    record = wait_for(session, start(session, project, SITE), is_running)
    node = int((record.nodes or "").removeprefix("node"))

    slurm.kill_node(node)
    try:
        record = wait_for(session, record, lambda one: one.interrupted is not None and one.link == 2)
    finally:
        slurm.start_node(node)

    assert record.interrupted == "link 1: node failed"
    assert record.nodes != f"node{node}"
    cancel_runs(session, [record])


def test_a_link_that_does_not_listen(session: Session, slurm: SlurmCluster, project: Path) -> None:
    settings = {"run__command": "python3 deaf.py", "resources__time": "3m", "resources__link_time": "1m"}
    record = wait_for(session, start(session, project, SITE, **settings), is_running)

    record = wait_for(session, record, lambda one: one.interrupted is not None)

    assert record.interrupted == "link 1: timed out"
    cancel_runs(session, [record])


def is_running(record: RunRecord) -> bool:
    """Its agent too: only then is it known which link it is."""
    return record.state is RunState.RUNNING and record.link is not None and record.nodes is not None


def wait_for(session: Session, record: RunRecord, claim: Callable[[RunRecord], bool]) -> RunRecord:
    deadline = time.monotonic() + 180
    while not claim(record):
        assert time.monotonic() < deadline, record
        time.sleep(0.5)
        record = refresh_site(session, record.site, [record])[0]
        assert not record.state.is_final or claim(record), record
    return record
