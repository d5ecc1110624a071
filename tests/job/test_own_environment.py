"""What every node made for this job alone is gone when the job ends, and nothing else."""

import signal
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.waiting import wait_until


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param)


@pytest.fixture
def made(job: Job, tmp_path: Path) -> Path:
    """As the batch script leaves it, beside that of another job."""
    for name in ("windlass-45", "windlass-46"):
        (tmp_path / "disk" / name / "bin").mkdir(parents=True)
        (tmp_path / "disk" / name / "bin" / "python").touch()
    job.env["WINDLASS_OWN_ENV"] = str(tmp_path / "disk" / "windlass-45")
    return tmp_path / "disk" / "windlass-45"


@pytest.mark.parametrize(("command", "code"), [("test -e $WINDLASS_OWN_ENV/bin/python", 0), ("exit 3", 3)])
def test_it_is_gone_when_the_command_has_ended(job: Job, made: Path, command: str, code: int) -> None:
    assert job.run("bash", "-c", command) == code

    assert [one.name for one in made.parent.iterdir()] == ["windlass-46"]


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_it_is_gone_too_when_the_job_is_told_to_end(job: Job, made: Path, number: signal.Signals) -> None:
    with job.start("bash", "-c", "trap 'exit 0' TERM; touch begun; while true; do sleep 0.05; done") as process:
        wait_until((job.home / "begun").exists, "the command to begin")
        process.send_signal(number)
        process.wait(30)

    assert not made.exists()


def test_on_several_nodes_each_removes_its_own(job: Job, made: Path) -> None:
    job.add_program("srun", 'echo "$*" > srun.txt; while [ "$1" != rm ]; do shift; done; exec "$@"')
    job.env.update(SLURM_JOB_NODELIST="node[1-2]", SLURM_JOB_NUM_NODES="2")

    assert job.run("true") == 0

    assert not made.exists()
    assert "--nodes=2 --ntasks=2 --ntasks-per-node=1" in (job.home / "srun.txt").read_text()


def test_a_folder_that_is_not_named_after_the_job_stays(job: Job, made: Path) -> None:
    job.env["WINDLASS_OWN_ENV"] = str(made.parent / "windlass-46")

    assert job.run("true") == 0

    assert (made.parent / "windlass-46").exists()


def test_what_cannot_be_removed_is_told_and_costs_nothing(job: Job, made: Path) -> None:
    job.add_program("rm", "echo 'rm: cannot remove: Input/output error' >&2; exit 1")

    assert job.run("true") == 0

    assert "the environment stays on the disks of the nodes: rm: cannot remove: Input/output error" in job.log
