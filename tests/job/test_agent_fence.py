"""A job that Slurm gave up while it was alive: it stops, and only the one that took over leaves a word."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip

EXIT_FENCED_OFF = 120
# Ignores every polite request, starts a process in a session of its own (as torchrun does), and counts.
STUBBORN = """
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
count = "import time\\nwhile True:\\n    open('count', 'a').write('.'); time.sleep(0.02)"
child = subprocess.Popen([sys.executable, "-c", count], start_new_session=True)
open("pids", "w").write("%d %d" % (os.getpid(), child.pid))
child.wait()
"""


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param)


def test_the_command_of_a_job_that_was_given_up_is_killed_whole(job: Job) -> None:
    with job.start(sys.executable, "-c", STUBBORN) as process:
        wait_until((job.home / "count").exists, "the training and its child are up")
        pids = [int(word) for word in (job.home / "pids").read_text().split()]
        _claim(job, "1.1.2", job_id="45")
        code = process.wait(20)

    assert code == EXIT_FENCED_OFF
    assert not any(_is_running(pid) for pid in pids)
    assert (job.status["state"], job.status["attempt"]) == ("running", 1), "its status is left as it was"
    assert [event["kind"] for event in job.events][-2:] == ["fenced_off", "link_ended"]
    assert job.events[-2]["by"] == "1.1.2"
    assert (job.folder / "claims" / "1.1.1.stopped").exists()
    assert "another job has taken over this run (claim 1.1.2): the command was stopped" in job.log


def test_a_successor_starts_only_when_the_older_one_has_stopped(job: Job) -> None:
    job.options = ("--fence-interval=1",)
    with job.start(sys.executable, "-c", STUBBORN) as process:
        wait_until((job.home / "count").exists, "the training is up")
        wait_until(lambda: (job.folder / "status.json").exists(), "it has a status")

        successor = job.run("bash", "-c", "stat -c %s count > first; sleep 0.5; stat -c %s count > second")
        code = process.wait(20)

    assert (code, successor) == (EXIT_FENCED_OFF, 0)
    assert (job.home / "first").read_text() == (job.home / "second").read_text(), "nobody counted meanwhile"
    assert (job.status["state"], job.status["attempt"]) == ("done", 2)


@pytest.mark.parametrize("claim", ["1.2.1", "2.1.1"], ids=["a later submission", "a later link"])
def test_steps_on_other_nodes_are_killed_where_the_name_is_ours_alone(job: Job, claim: str) -> None:
    job.add_program("scancel", 'echo "$@" >> cancelled')
    with job.start("sleep", "60") as process:
        wait_until(lambda: (job.folder / "status.json").exists(), "it is up")
        _claim(job, claim, job_id="46")
        code = process.wait(20)

    assert code == EXIT_FENCED_OFF
    assert (job.home / "cancelled").read_text() == "--signal=KILL 45\n"


def test_the_steps_of_the_same_job_elsewhere_are_left_alone(job: Job) -> None:
    job.add_program("scancel", 'echo "$@" >> cancelled')
    with job.start("sleep", "60") as process:
        wait_until(lambda: (job.folder / "status.json").exists(), "it is up")
        _claim(job, "1.1.2", job_id="45")
        process.wait(20)

    assert not (job.home / "cancelled").exists()


@pytest.mark.parametrize("end", [0, 3])
def test_a_command_that_ends_just_before_the_look_gives_no_verdict(job: Job, end: int) -> None:
    job.options = ("--fence-interval=60",)
    job.add_program("scancel", 'echo "$@" >> cancelled')
    job.env.update(SLURM_ARRAY_JOB_ID="45", SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_MAX="5")

    code = job.run(
        "bash",
        "-c",
        f'until [ -e run/status.json ]; do sleep 0.02; done; echo \'{{"job": "45_1"}}\' > run/claims/1.1.2; exit {end}',
    )

    assert code == EXIT_FENCED_OFF
    assert job.status["state"] == "running"
    assert not (job.home / "cancelled").exists(), "the links that wait are the other's"


def test_its_own_claim_that_came_late_does_not_fence_it_off(job: Job) -> None:
    """Its file system hung, and it went on without; then the claim was made all the same."""
    claim = 'echo "{\\"start\\": \\"$WINDLASS_START\\"}" > run/claims/aside; mv run/claims/aside run/claims/1.1.2'

    assert job.run("bash", "-c", f"{claim}; sleep 0.5") == 0
    assert job.status["state"] == "done"


def test_an_older_claim_does_not_fence_it_off(job: Job) -> None:
    _claim(job, "9.0.9", job_id="44")

    assert job.run("sleep", "0.5") == 0
    assert job.status["state"] == "done"


def test_one_that_is_long_dead_is_not_waited_for(job: Job) -> None:
    job.options = ("--fence-interval=60",)
    job.run("bash", "-c", "until [ -e run/status.json ]; do sleep 0.02; done; kill -9 $PPID")
    os.utime(job.folder / "status.json", (1_000_000, 1_000_000))

    assert job.run("true") == 0
    assert "was alive just now" not in job.log


def test_one_that_ended_with_a_word_is_not_waited_for(job: Job) -> None:
    job.options = ("--fence-interval=60",)
    job.run("false")

    assert job.run("true") == 0
    assert "was alive just now" not in job.log


def test_a_file_system_that_hangs_does_not_keep_signals_from_the_command(job: Job) -> None:
    """The look at the claims hangs in a pipe that nobody writes to: a claim's owner is read when it is greater."""
    with job.start(
        "bash", "-c", "trap 'echo saved; exit 0' TERM; touch ready; while :; do sleep 0.05; done"
    ) as process:
        wait_until((job.home / "ready").exists, "the command is up")
        os.mkfifo(job.folder / "claims" / "1.1.2")
        process.send_signal(signal.SIGUSR1)
        wait_until(lambda: "saved" in job.log, "the signal came through")
        process.kill()


def test_a_task_on_a_node_that_was_cut_off_alone_stops_too(job: Job) -> None:
    """Nobody can tell it: its agent is on another node, and dead."""
    (job.folder / "claims").mkdir(parents=True)
    archive = job.home / "job.pyz"
    archive.write_bytes(make_job_zip())
    place = {"WINDLASS_SUBMISSION": "1", "WINDLASS_LINK": "1", "WINDLASS_ATTEMPT": "1", "WINDLASS_START": "ours"}
    task = subprocess.Popen(
        [job.python, "-I", archive, "rank-env", "--fence-interval=0.1", "--", sys.executable, "-c", STUBBORN],
        cwd=job.home,
        env={**os.environ, **place, "SLURM_PROCID": "1", "WINDLASS_RUN_DIR": str(job.folder)},
        stderr=subprocess.PIPE,
    )
    wait_until((job.home / "count").exists, "the training is up")
    pids = [int(word) for word in (job.home / "pids").read_text().split()]
    _claim(job, "1.1.2", job_id="45")
    _, said = task.communicate(timeout=20)

    assert task.returncode == EXIT_FENCED_OFF
    assert b"another job has taken over this run" in said
    assert not any(_is_running(pid) for pid in pids)


def _claim(job: Job, name: str, *, job_id: str) -> None:
    (job.folder / "claims").mkdir(parents=True, exist_ok=True)
    aside = job.home / "claim"
    aside.write_text(json.dumps({"job": job_id, "start": "another"}))
    aside.rename(job.folder / "claims" / name)


def _is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.strip().startswith("Z")
