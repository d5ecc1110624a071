"""`from windlass_job import run` in a command that the agent started."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip

TRAIN = """
import sys, time
from windlass_job import run
saves = run.checkpoint("checkpoints")
newest = saves.latest()
step = int((newest / "step").read_text()) if newest else 0
print("from", step, "in link", run.link, flush=True)
total = int(sys.argv[1])
while step < total:
    step += 1
    time.sleep(0.02)
    run.log(step, loss=1 / step)
    run.progress(step, total, unit="step")
    if run.should_stop():
        break
with saves.save(step) as folder:
    (folder / "step").write_text(str(step))
if step == total:
    run.done()
"""


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Job:
    made = Job(tmp_path, python=request.param)
    made.folder.mkdir()
    (made.folder / "windlass_job.pyz").write_bytes(make_job_zip())
    return made


def load_progress(job: Job) -> dict[str, Any]:
    found = json.loads((job.folder / "progress.json").read_text())
    assert isinstance(found, dict)
    return found


def test_it_is_there_without_an_installation_and_the_trainings_own_path_stays(job: Job, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my_module.py").write_text("word = 'mine'")
    job.env["PYTHONPATH"] = str(tmp_path / "mine")

    code = job.run(
        job.python, "-c", "import my_module; from windlass_job import run; print(my_module.word, run.__file__)"
    )

    assert code == 0
    assert f"mine {job.folder}/windlass_job.pyz/windlass_job/run.py" in job.log


def test_a_training_that_has_finished_is_done(job: Job) -> None:
    code = job.run(job.python, "-c", TRAIN, "5")

    told = load_progress(job)
    assert (code, job.status["state"]) == (0, "done"), job.log
    assert (told["done"], told["of"], told["finished"], told["attempt"]) == (5, 5, True, 1)
    assert len((job.folder / "metrics" / "1.0.jsonl").read_text().splitlines()) == 5


def test_the_notice_lets_it_save_and_the_next_link_goes_on_from_there(job: Job) -> None:
    with job.start(job.python, "-c", TRAIN, "100000") as agent:
        wait_until(lambda: (job.folder / "progress.json").exists(), "progress")
        agent.send_signal(signal.SIGUSR1)
        code = agent.wait(30)
    saved = load_progress(job)["done"]
    state = job.status["state"]
    job.env["WINDLASS_LINK"] = "2"

    job.run(job.python, "-c", TRAIN, str(saved + 3))

    assert (code, state) == (0, "cut"), job.log
    assert f"from {saved} in link 2" in job.log
    assert job.status["state"] == "done"


def test_one_that_leaves_by_itself_when_time_is_short_has_not_finished(job: Job) -> None:
    """It ends with 0 before anybody has asked it to stop."""
    job.env["SLURM_JOB_END_TIME"] = str(int(time.time()) + 8)

    code = job.run(job.python, "-c", TRAIN, "100000")

    assert (code, job.status["state"], load_progress(job)["stopping"]) == (0, "cut", True), job.log
    assert "stop_requested" not in job.kinds


def test_where_slurm_does_not_say_when_the_job_ends_the_plans_time_counts(job: Job) -> None:
    job.env["WINDLASS_LINK_S"] = "6"

    code = job.run(job.python, "-c", TRAIN, "100000")

    assert (code, job.status["state"]) == (0, "cut"), job.log
