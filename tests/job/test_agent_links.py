"""Which job of a chain runs the command, and what becomes of the others."""

import json
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param)


# Leaves a claim and a status that says `running`, as a node that lost its power does.
DIE = "until [ -e run/status.json ]; do sleep 0.02; done; kill -9 $PPID"
COUNT = ("bash", "-c", "echo once >> count; exit 1")
CUT = ("bash", "-c", "kill -USR1 $PPID; sleep 60")


def as_link(number: int, array: int = 45) -> dict[str, str]:
    """The variables of one task of an array."""
    task = {"SLURM_ARRAY_JOB_ID": str(array), "SLURM_ARRAY_TASK_ID": str(number), "SLURM_JOB_ID": str(array + number)}
    return {"WINDLASS_LINK": str(number), **task}


def test_a_second_job_for_the_same_link_does_nothing(job: Job) -> None:
    first = job.run("bash", "-c", "echo once >> count; " + DIE)
    job.env["SLURM_JOB_ID"] = "46"

    code = job.run(*COUNT)

    assert first == -9
    assert code == 0
    assert (job.home / "count").read_text() == "once\n"
    assert job.events[-1]["outcome"] == "duplicate"
    assert (job.status["state"], job.status["job"]) == ("running", "45")


def test_the_same_job_started_again_goes_on(job: Job) -> None:
    job.run("bash", "-c", DIE)
    job.env["SLURM_RESTART_COUNT"] = "1"

    code = job.run("true")

    assert code == 0
    assert (job.status["state"], job.status["attempt"]) == ("done", 2)
    assert json.loads((job.folder / "claims" / "1.1.2").read_text())["restart"] == 1


def test_a_job_that_slurm_starts_again_after_a_failure_goes_on(job: Job) -> None:
    job.run("false")

    assert job.run("true") == 0
    assert (job.status["state"], job.status["attempt"]) == ("done", 2)


@pytest.mark.parametrize("end", ["true", "false"])
def test_after_the_end_a_later_link_leaves_at_once(job: Job, end: str) -> None:
    job.env = as_link(1)
    job.run(end)
    job.env = as_link(2)

    code = job.run(*COUNT)

    assert code == 0
    assert not (job.home / "count").exists()
    assert job.events[-1]["outcome"] == "skipped"
    assert (job.status["state"], job.status["link"]) == ("done" if end == "true" else "failed", 1)


def test_after_a_cut_the_next_link_goes_on(job: Job) -> None:
    job.env = as_link(1)
    job.run(*CUT)
    job.env = as_link(2)

    assert job.run("true") == 0
    assert (job.status["state"], job.status["link"]) == ("done", 2)


def test_a_later_submission_takes_over_what_an_earlier_one_left(job: Job) -> None:
    job.run("false")
    job.env = {"WINDLASS_SUBMISSION": "2", "SLURM_JOB_ID": "99"}

    assert job.run("true") == 0
    assert (job.status["state"], job.status["submission"]) == ("done", 2)


def test_a_run_that_was_told_to_stop_starts_no_link(job: Job) -> None:
    job.folder.mkdir()
    (job.folder / "stop").touch()

    assert job.run(*COUNT) == 0
    assert not (job.home / "count").exists()
    assert job.events[-1]["outcome"] == "skipped"
    assert (job.status["state"], job.status["reason"]) == ("skipped", "told to stop")
    assert (job.status["link"], job.status["job"], job.status["submission"]) == (1, "45", 1)


def test_a_link_told_to_stop_after_a_cut_says_so(job: Job) -> None:
    job.env = as_link(1)
    job.run(*CUT)
    (job.folder / "stop").write_text("1\n")
    job.env = as_link(2)

    assert job.run(*COUNT) == 0
    assert (job.status["state"], job.status["link"]) == ("skipped", 2)


@pytest.mark.parametrize("end", ["true", "false"])
@pytest.mark.parametrize("again", ["45", "46"])
def test_told_to_stop_too_late_the_verdict_stands(job: Job, end: str, again: str) -> None:
    job.run(end)
    verdict = job.status
    (job.folder / "stop").write_text("1\n")
    job.env = {"SLURM_JOB_ID": again}

    assert job.run(*COUNT) == 0
    assert job.status == verdict
    assert job.events[-1]["outcome"] == "skipped"


def test_a_second_job_told_to_stop_leaves_the_first_ones_status(job: Job) -> None:
    job.run("bash", "-c", DIE)
    (job.folder / "stop").write_text("1\n")
    job.env = {"SLURM_JOB_ID": "46"}

    assert job.run(*COUNT) == 0
    assert (job.status["state"], job.status["job"]) == ("running", "45")


def test_an_old_link_told_to_stop_leaves_a_resumed_runs_status(job: Job) -> None:
    job.env = {"WINDLASS_SUBMISSION": "2", "WINDLASS_LINK": "2", "SLURM_JOB_ID": "99"}
    job.run("bash", "-c", DIE)
    (job.folder / "stop").write_text("1\n")
    job.env = {"SLURM_JOB_ID": "45"}

    assert job.run(*COUNT) == 0
    assert (job.status["state"], job.status["job"]) == ("running", "99")


def test_a_job_of_an_older_submission_does_nothing(job: Job) -> None:
    job.env = {"WINDLASS_SUBMISSION": "2", "SLURM_JOB_ID": "99"}
    job.run("bash", "-c", DIE)
    job.env = {"SLURM_JOB_ID": "45"}

    assert job.run(*COUNT) == 0
    assert not (job.home / "count").exists()
    assert job.events[-1]["outcome"] == "duplicate"
    assert (job.status["state"], job.status["job"]) == ("running", "99")


@pytest.mark.parametrize("end", ["true", "false"])
def test_the_end_cancels_the_links_that_still_wait(job: Job, end: str) -> None:
    job.add_program("scancel", 'echo "$@" >> cancelled; cat run/status.json >> cancelled')
    job.env.update(SLURM_ARRAY_JOB_ID="45", SLURM_ARRAY_TASK_ID="2", SLURM_ARRAY_TASK_MAX="5")

    job.run(end)

    said = (job.home / "cancelled").read_text()
    assert said.startswith("45_[3-5]\n")
    assert f'"state": "{job.status["state"]}"' in said, "the status comes first"


def test_the_last_link_and_a_cut_one_cancel_nothing(job: Job) -> None:
    job.add_program("scancel", 'echo "$@" >> cancelled')
    job.env.update(SLURM_ARRAY_JOB_ID="45", SLURM_ARRAY_TASK_ID="2", SLURM_ARRAY_TASK_MAX="5")
    job.run(*CUT)
    job.env.update(WINDLASS_LINK="5", SLURM_ARRAY_TASK_ID="5")
    job.run("true")

    assert job.status["state"] == "done"
    assert not (job.home / "cancelled").exists()


def test_a_cancellation_that_fails_only_leaves_a_note(job: Job) -> None:
    job.add_program("scancel", "echo 'scancel: error: no controller' >&2; exit 1")
    job.env.update(SLURM_ARRAY_JOB_ID="45", SLURM_ARRAY_TASK_ID="2", SLURM_ARRAY_TASK_MAX="5")

    assert job.run("true") == 0
    assert "later links are still in the queue, and will end at once: scancel: error: no controller" in job.log


def test_a_second_array_of_one_submission_trains_no_link(job: Job) -> None:
    job.env = as_link(1)
    job.run(*CUT)
    job.env = as_link(2, array=90)

    assert job.run(*COUNT) == 0
    assert not (job.home / "count").exists()
    assert job.events[-1]["outcome"] == "duplicate"


def test_a_link_started_again_after_a_later_one_goes_on_as_that(job: Job) -> None:
    """Slurm starts the next task of an array while one that lost its node waits for its second start."""
    job.env = as_link(1)
    job.run("bash", "-c", DIE)
    job.env = as_link(2)
    job.run(*CUT)
    job.env = {**as_link(1), "SLURM_RESTART_COUNT": "1"}

    assert job.run("bash", "-c", "echo $WINDLASS_LINK.$WINDLASS_ATTEMPT > place") == 0
    assert (job.home / "place").read_text() == "2.2\n"
    assert (job.status["state"], job.status["link"], job.status["attempt"]) == ("done", 2, 2)
    assert job.events[-1]["link"] == 2


def test_where_each_link_is_a_submission_the_end_of_one_ends_the_others(job: Job) -> None:
    job.env = {"WINDLASS_CHAIN": "dependency", "WINDLASS_CHAIN_FIRST": "3", "WINDLASS_SUBMISSION": "3"}
    job.run("true")
    job.env.update(WINDLASS_SUBMISSION="4", WINDLASS_LINK="2", SLURM_JOB_ID="46")

    assert job.run(*COUNT) == 0
    assert job.events[-1]["outcome"] == "skipped"
    assert (job.status["state"], job.status["submission"]) == ("done", 3)


def test_a_resumed_chain_by_dependency_runs(job: Job) -> None:
    job.env = {"WINDLASS_CHAIN": "dependency", "WINDLASS_CHAIN_FIRST": "3", "WINDLASS_SUBMISSION": "3"}
    job.run("false")
    job.env.update(WINDLASS_CHAIN_FIRST="5", WINDLASS_SUBMISSION="5", WINDLASS_LINK="2", SLURM_JOB_ID="50")

    assert job.run("true") == 0
    assert (job.status["state"], job.status["submission"]) == ("done", 5)


def test_a_job_queued_again_more_often_than_planned_does_not_train(job: Job) -> None:
    job.env = {"WINDLASS_CHAIN": "requeue", "WINDLASS_LINK": "4", "SLURM_RESTART_COUNT": "3"}

    assert job.run(*COUNT) == 0
    assert (job.status["state"], job.status["reason"]) == ("skipped", "all links are used")


def test_by_requeue_each_start_is_the_next_link(job: Job) -> None:
    job.add_program("scontrol", 'echo "$@" >> asked; cat run/status.json >> asked')
    job.env.update(WINDLASS_CHAIN="requeue")
    job.run(*CUT)
    job.env.update(WINDLASS_LINK="2", SLURM_RESTART_COUNT="1")
    job.run("true")

    said = (job.home / "asked").read_text()
    assert said.startswith("requeue 45\n")
    assert said.count("requeue 45") == 1
    assert '"state": "cut"' in said, "the status comes first"
    assert (job.status["state"], job.status["link"], job.status["attempt"]) == ("done", 2, 1)


@pytest.mark.parametrize("end", ["kill -TERM $$; sleep 9", "kill -TERM $PPID; sleep 0.3; exit 1"])
def test_a_requeue_that_ends_its_own_scontrol_is_no_trouble(job: Job, end: str) -> None:
    job.add_program("scontrol", f"echo asked >> asked; {end}")
    job.env.update(WINDLASS_CHAIN="requeue")

    job.run(*CUT)

    assert (job.home / "asked").exists()
    assert "not in the queue" not in job.log


def test_a_requeue_that_is_refused_is_told(job: Job) -> None:
    job.add_program("scontrol", "echo 'Requested operation is presently disabled' >&2; exit 1")
    job.env.update(WINDLASS_CHAIN="requeue")

    job.run(*CUT)

    assert "the next link is not in the queue as planned: Requested operation is presently disabled" in job.log


def test_a_command_that_fails_in_a_job_that_slurm_gave_up_ends_no_chain(job: Job) -> None:
    """Behind a cut cable srun finds no job any more: that says nothing about the training."""
    job.add_program("squeue", "echo NODE_FAIL")
    job.add_program("scancel", "touch cancelled")
    job.env.update({"SLURM_ARRAY_JOB_ID": "45", "SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_MAX": "3"})

    assert job.run("bash", "-c", "exit 1") == 1

    assert job.status["state"] == "terminated"
    assert "given up this job (NODE_FAIL)" in job.log
    assert not (job.home / "cancelled").exists()


def test_slurm_is_asked_until_it_answers(job: Job) -> None:
    job.add_program(
        "squeue", 'if [ -e asked ]; then echo RUNNING; else touch asked; echo "connect failure" >&2; exit 1; fi'
    )

    assert job.run("bash", "-c", "exit 3") == 3

    assert (job.status["state"], job.status["exit_code"]) == ("failed", 3)
    assert (job.home / "asked").exists()
