"""The end of a chain that does not end well. How it finishes: test_chain_styles."""

import time
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_story import TRAINING, start
from windlass.app.following import wait
from windlass.app.session import Session
from windlass.core.record import RunState

pytestmark = [pytest.mark.parametrize("session", [ENGINES[0], ENGINES[2]], indirect=True), pytest.mark.slow]

# Slurm counts limits in whole minutes and sends the notice up to a minute early; pocket counts seconds.
PACE = {"here": ("20s", "8s", "3s", 100), "slurm-ssh": ("8m", "1m", "5s", 900)}


@pytest.fixture
def project(tmp_path: Path, site_name: str) -> Path:
    total, link, notice, steps = PACE[site_name]
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "windlass.toml").write_text(
        f'[run]\nname = "chain"\ncommand = "python3 train.py {steps}"\n'
        f'[resources]\ntime = "{total}"\nlink_time = "{link}"\ncpus = 1\nmemory = "200M"\n'
        f'[checkpoint]\nfolder = "checkpoints"\nnotice = "{notice}"\n'
    )
    return folder


def test_a_chain_that_is_too_short_says_so(session: Session, project: Path, site_name: str) -> None:
    if site_name != "here":
        pytest.skip("takes minutes on real Slurm and goes the same way")
    record = wait(
        session, start(session, project, site_name, resources__time="9s", run__command="python3 train.py 999")
    )

    assert record.state is RunState.OUT_OF_TIME
    assert "not finished" in (record.reason or "")


def test_a_failure_ends_the_chain(session: Session, project: Path, site_name: str) -> None:
    record = wait(session, start(session, project, site_name, run__command="exit 4"))

    assert (record.state, record.exit_code, record.link) == (RunState.FAILED, 4, 1)
    wait_until_the_queue_is_empty(session, site_name)


def wait_until_the_queue_is_empty(session: Session, site_name: str) -> None:
    """No allocation is burned after the end: the links that were left have gone."""
    cluster = session.cluster(session.site(site_name))
    deadline = time.monotonic() + 30
    while any(job.state.is_live for job in cluster.look().jobs):
        assert time.monotonic() < deadline, "links are still in the queue"
        time.sleep(0.5)
