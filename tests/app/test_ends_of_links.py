"""From windlass.toml to the agent and back: what means done, a command that breaks down, a chain that gets nowhere."""

from pathlib import Path

import pytest

from tests.app.test_chains import wait_until_the_queue_is_empty
from tests.app.test_story import start
from windlass.app.explaining import explain_run
from windlass.app.following import wait
from windlass.app.logs import read_log
from windlass.app.session import Session
from windlass.core.record import RunState

pytestmark = [pytest.mark.parametrize("session", ["here"], indirect=True), pytest.mark.slow]

# Three saves to the end; each start of it makes one, and then does what it is told.
TRAINING = """
import os, pathlib, sys, time
folder = pathlib.Path(os.environ["WINDLASS_CHECKPOINT_DIR"])
step = len(list(folder.iterdir())) + 1
(folder / str(step)).write_text("saved")
print("step", step, "in link", os.environ["WINDLASS_LINK"], "try", os.environ["WINDLASS_TRY"], flush=True)
if step < 3:
    exec(sys.argv[1])
print("Training is done.", flush=True)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "ends"\ncommand = "true"\n[resources]\ntime = "60s"\nlink_time = "20s"\ncpus = 1\n'
        'memory = "200M"\n[checkpoint]\nfolder = "checkpoints"\nnotice = "3s"\n'
    )
    return folder


def test_a_training_that_is_killed_after_each_save_ends_in_its_first_link(
    session: Session, project: Path, site_name: str
) -> None:
    command = "python3 train.py 'os.kill(os.getpid(), 9)'"

    record = wait(session, start(session, project, site_name, run__command=command, checkpoint__restart="true"))

    words = b"".join(read_log(session, record)).decode()
    assert (record.state, record.exit_code) == (RunState.DONE, 0), words
    assert [line for line in words.splitlines() if line.startswith("step")] == [
        f"step {number} in link 1 try {number}" for number in (1, 2, 3)
    ]


def test_a_training_that_leaves_early_goes_on_until_it_says_that_it_is_done(
    session: Session, project: Path, site_name: str
) -> None:
    settings = {"run__command": "python3 train.py 'sys.exit(0)'", "checkpoint__done_pattern": "^Training is done"}

    record = wait(session, start(session, project, site_name, **settings))

    words = b"".join(read_log(session, record)).decode()
    assert (record.state, record.link) == (RunState.DONE, 3), words
    wait_until_the_queue_is_empty(session, site_name)


def test_a_chain_that_saves_nothing_is_ended_and_says_why(session: Session, project: Path, site_name: str) -> None:
    settings = {"run__command": "exec sleep 100", "resources__link_time": "8s"}

    record = wait(session, start(session, project, site_name, **settings))

    assert (record.state, record.link) == (RunState.FAILED, 2)
    assert "two links in a row saved nothing" in (record.reason or "")
    assert explain_run(session, record)[1][0].code == "D309"
    wait_until_the_queue_is_empty(session, site_name)
