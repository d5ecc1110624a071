"""The environment a job was submitted with: given to the job, and gone from the disk when it is over."""

import contextlib
import os
from pathlib import Path

from windlass.pocket.model import State

from .conftest import Pocket, wait_for

SECRET = "hunter2-in-the-environment"
VARIABLES = {"TOK": SECRET}


def find_on_disk(pocket: Pocket) -> list[Path]:
    """Files below pocket's folder that hold the secret, the job's own output aside."""
    found = []
    for path in pocket.places.state.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # it went while we looked
            if path.is_file() and SECRET.encode() in path.read_bytes():
                found.append(path)
    return found


def test_a_job_gets_its_environment_and_nothing_of_it_stays(pocket: Pocket) -> None:
    job = pocket.submit('echo "${#TOK}"', "--hold", variables=VARIABLES)
    kept = [(path.name, path.stat().st_mode & 0o777) for path in find_on_disk(pocket)]

    pocket.run("scontrol", "release", str(job))
    pocket.wait(job, State.COMPLETED)

    assert kept == [(f"job{job:05}", 0o600)]
    assert pocket.output(job) == f"{len(SECRET)}\n"
    assert find_on_disk(pocket) == []


def test_the_tasks_of_an_array_share_it_until_the_last_is_over(pocket: Pocket) -> None:
    body = 'echo "${#TOK}"; [ $SLURM_ARRAY_TASK_ID = 2 ] && while [ ! -e go ]; do sleep 0.05; done; true'
    job = pocket.submit(body, "--array=1-2", "-o", "%a.out", variables=VARIABLES)

    pocket.see("1.out")
    wait_for(lambda: pocket.run("squeue", "-h", "-r", "-o", "%K").stdout == "2\n")
    assert find_on_disk(pocket) == [pocket.places.environment(job)]
    (pocket.folder / "go").touch()
    wait_for(lambda: not pocket.squeue("%i"))

    assert (pocket.folder / "2.out").read_text() == f"{len(SECRET)}\n"
    assert find_on_disk(pocket) == []


def test_a_cancelled_job_leaves_none(pocket: Pocket) -> None:
    waiting = pocket.submit("true", "--hold", variables=VARIABLES)
    running = pocket.submit("touch ready; sleep 60", variables=VARIABLES)
    never = pocket.submit("true", f"--dependency=afterok:{running}", "--kill-on-invalid-dep=yes", variables=VARIABLES)
    pocket.see("ready")

    pocket.run("scancel", str(waiting), str(running))

    for job in (waiting, running, never):
        pocket.wait(job, State.CANCELLED)
    wait_for(lambda: find_on_disk(pocket) == [])


def test_a_job_that_is_queued_again_has_it_again(pocket: Pocket) -> None:
    body = 'echo "${#TOK}"; if [ -z "$SLURM_RESTART_COUNT" ]; then scontrol requeue $SLURM_JOB_ID; sleep 60; fi'
    job = pocket.submit(body, "--open-mode=append", variables=VARIABLES)

    pocket.wait(job, State.COMPLETED)
    assert [line for line in pocket.output(job).splitlines() if line.isdigit()] == [str(len(SECRET))] * 2

    pocket.run("scontrol", "requeue", str(job), variables={"TOK": "short"})
    wait_for(lambda: pocket.output(job).splitlines()[-1:] == ["5"])
    pocket.wait(job, State.COMPLETED)
    assert find_on_disk(pocket) == []


def test_what_a_killed_sbatch_left_is_swept_up(pocket: Pocket) -> None:
    left = pocket.places.environment(77)
    left.parent.mkdir(parents=True, exist_ok=True)
    for path in (left, left.with_name(f".{left.name}")):
        path.write_text(SECRET)

    pocket.submit("true")

    wait_for(lambda: not os.path.lexists(left) and find_on_disk(pocket) == [])
