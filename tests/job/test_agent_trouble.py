"""Never the reason a job dies: full, read-only, hanging and vanishing run folders, and missing variables."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.waiting import wait_until


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param, options=("--patience=1", "--heartbeat=0.1"))


COMMAND = ("bash", "-c", "echo ran; sleep 0.4; exit 4")


def test_a_full_disk(job: Job) -> None:
    with _mounted(job.folder, "size=16k"):
        _fill(job.folder / "filler")
        code = job.run(*COMMAND)

    assert code == 4
    assert job.log.count("No space left on device") == 2, "once for the claim, once for the records"
    assert "ran\n" in job.log


def test_a_full_disk_behind_the_events_alone(job: Job) -> None:
    job.folder.mkdir()
    (job.folder / "events.jsonl").symlink_to("/dev/full")

    assert job.run(*COMMAND) == 4
    assert job.status["state"] == "failed"
    assert job.log.count("No space left on device") == 1


def test_a_read_only_run_folder(job: Job) -> None:
    with _mounted(job.folder, "ro"):
        code = job.run(*COMMAND)

    assert code == 4
    assert "the claim cannot be checked, the command runs all the same: Read-only file system" in job.log


def test_a_run_folder_that_goes_away(job: Job) -> None:
    # Away in one step: `rm -rf` alone fails where a heartbeat is written into the folder meanwhile.
    code = job.run("bash", "-c", "mv run gone; rm -rf gone; sleep 0.4; echo ran; exit 4")

    assert code == 4
    assert "ran\n" in job.log
    assert not job.folder.exists()


def test_a_file_system_that_hangs(job: Job) -> None:
    (job.folder / "claims").mkdir(parents=True)
    os.mkfifo(job.folder / "claims" / "1.holder")  # a pipe that nobody reads hangs whoever opens it
    os.mkfifo(job.folder / "events.jsonl")

    code = job.run(*COMMAND)

    assert code == 4
    assert "the claim cannot be checked, the command runs all the same: no answer within 1 s" in job.log
    assert "the run folder did not take the last records" in job.log


def test_a_log_on_a_full_disk(job: Job) -> None:
    job.folder.mkdir()
    (job.home / "job.log").symlink_to("/dev/full")

    assert job.run("bash", "-c", "exit 4") == 4


def test_no_variables_at_all(job: Job) -> None:
    names = ("WINDLASS_RUN_DIR", "WINDLASS_LINK", "WINDLASS_LINKS", "WINDLASS_SUBMISSION", "SLURM_JOB_ID")
    job.env = dict.fromkeys(names, "")

    assert job.run(*COMMAND) == 4
    assert job.log == "windlass: WINDLASS_RUN_DIR is not set: nothing is recorded\nran\n"


def test_a_mistake_of_our_own(job: Job) -> None:
    job.options = ("--stop-signal=NONSENSE",)

    assert job.run(*COMMAND) == 4
    assert "windlass: the agent failed and only the command goes on" in job.log


def test_a_damaged_status_and_claim(job: Job) -> None:
    (job.folder / "claims").mkdir(parents=True)
    (job.folder / "claims" / "1.1.1").write_text("")
    (job.folder / "status.json").write_text('{"state": ')

    assert job.run(*COMMAND) == 4
    assert (job.status["state"], job.status["attempt"]) == ("failed", 2)


def test_a_disk_that_is_full_at_the_end_still_takes_the_verdict(job: Job) -> None:
    job.options = ("--patience=9",)
    with _mounted(job.folder, "size=64k"):
        code = job.run(
            "bash", "-c", "until [ -e run/status.json ]; do sleep 0.02; done; cat /dev/zero > run/full; exit 4"
        )
        state, left = job.status["state"], sorted(path.name for path in job.folder.glob(".*"))

    assert (code, state, left) == (4, "failed", [])


def test_the_verdict_waits_for_a_file_system_that_comes_back(job: Job) -> None:
    job.options = ("--patience=60",)
    with _mounted(job.folder, "size=64k"):
        with job.start("bash", "-c", "until [ -e go ]; do sleep 0.02; done; exit 4") as process:
            wait_until(lambda: (job.folder / "status.json").exists(), "it runs")
            wait_until(lambda: "command_started" in (job.folder / "events.jsonl").read_text(), "all is written")
            _remount(job.folder, "ro")
            (job.home / "go").touch()
            wait_until(lambda: "the last word cannot be written yet: Read-only file system" in job.log, "a failure")
            _remount(job.folder, "rw")
            code = process.wait(30)
        state, ending = job.status["state"], job.kinds[-1]

    assert (code, state, ending) == (4, "failed", "link_ended")


def test_the_verdict_waits_no_longer_than_the_job_has_left(job: Job) -> None:
    job.options = ("--patience=600",)
    job.env["SLURM_JOB_END_TIME"] = str(int(time.time()) + 6)
    with _mounted(job.folder, "size=64k"), job.start("bash", "-c", "until [ -e go ]; do sleep 0.02; done") as process:
        wait_until(lambda: (job.folder / "status.json").exists(), "it runs")
        _remount(job.folder, "ro")
        (job.home / "go").touch()
        code = process.wait(30)

    assert code == 0


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("cannot mount here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _remount(folder: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", folder], check=True)


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 1024)
        except OSError:
            pass
