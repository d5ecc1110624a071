"""A run that stops by itself when its own hours are used up: asked to save, and no later link starts."""

import json
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.job.test_agent_links import as_link

SAVES = ("bash", "-c", "trap 'echo saved > saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done")
STUBBORN = ("bash", "-c", "trap '' TERM; echo begun; while :; do sleep 0.1; done")


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param, options=("--allowed=8", "--budget=5 GPU-h"))


def with_notice(job: Job, link: int = 1) -> Job:
    job.env.update(as_link(link), WINDLASS_NOTICE_S="2")
    return job


def left_behind(job: Job, **status: object) -> None:
    """What a link before left."""
    job.folder.mkdir(exist_ok=True)
    (job.folder / "status.json").write_text(json.dumps({"state": "cut", "submission": 1, "link": 1, **status}))


def test_a_link_is_asked_to_stop_before_its_hours_are_used_up(tmp_path: Path) -> None:
    job = with_notice(Job(tmp_path, options=("--allowed=10", "--budget=5 GPU-h")))

    code = job.run(*SAVES)

    assert code == 0
    assert (job.home / "saved").read_text() == "saved\n"
    assert (job.status["state"], job.status["reason"]) == ("spent", "its budget of 5 GPU-h is used up")
    assert 7 <= job.status["spent_s"] <= 10
    assert "the budget of 5 GPU-h of this run is nearly used up: asked the command to stop (TERM)" in job.log


def test_what_does_not_stop_is_killed_at_the_limit(tmp_path: Path) -> None:
    job = with_notice(Job(tmp_path, options=("--allowed=9", "--budget=5 GPU-h")))

    code = job.run(*STUBBORN)

    assert (code, job.status["state"]) == (0, "spent")


def test_hours_of_links_before_count_and_too_few_do_not_start_another(job: Job) -> None:
    with_notice(job, 2)
    left_behind(job, spent_s=2.0)

    code = job.run("bash", "-c", "echo once >> count")

    assert code == 0
    assert not (job.home / "count").exists()
    assert (job.status["state"], job.status["tries"]) == ("spent", 0)
    assert job.status["spent_s"] >= 2
    assert "its budget of 5 GPU-h is used up: this link does not start" in job.log


def test_a_link_that_comes_after_the_end_leaves_at_once_and_changes_nothing(job: Job) -> None:
    with_notice(job, 3)
    left_behind(job, state="spent", spent_s=500.0, link=2)

    job.run("bash", "-c", "echo once >> count")

    assert not (job.home / "count").exists()
    assert (job.status["state"], job.status["spent_s"], job.status["link"]) == ("spent", 500.0, 2)


def test_a_resume_with_more_hours_goes_on(job: Job) -> None:
    with_notice(job, 3)
    left_behind(job, state="spent", spent_s=500.0, link=2)
    job.env.update(WINDLASS_SUBMISSION="2", WINDLASS_CHAIN_FIRST="2", WINDLASS_TOKEN="windlass:digits-k3f9w:2")
    job.options = ("--allowed=900", "--budget=9 GPU-h")

    assert job.run("true") == 0
    assert (job.status["state"], job.status["submission"]) == ("done", 2)
    assert job.status["spent_s"] >= 500


def test_without_a_limit_time_is_counted_all_the_same(job: Job) -> None:
    job.options = ()
    left_behind(job, spent_s=100.0)

    assert job.run("true") == 0
    assert job.status["spent_s"] >= 100


def test_a_link_that_was_told_to_stop_does_not_forget_what_was_spent(job: Job) -> None:
    with_notice(job, 2)
    left_behind(job, spent_s=7.0)
    (job.folder / "stop").write_text("1")

    job.run("true")

    assert job.status["state"] == "skipped"
    assert job.status["spent_s"] >= 7


def test_a_damaged_word_about_hours_is_not_believed(job: Job) -> None:
    left_behind(job, spent_s="a lot")

    assert job.run("true") == 0
    assert 0 <= job.status["spent_s"] < 60


def test_the_laptop_is_told_when_something_was_saved_last(job: Job) -> None:
    checkpoints = job.home / "checkpoints"
    checkpoints.mkdir()
    job.env["WINDLASS_CHECKPOINT_DIR"] = str(checkpoints)
    job.options = ("--save-interval=0.1", "--heartbeat=0.1")

    # The command itself waits until the status tells of its checkpoint.
    wait = "for i in $(seq 200); do grep -q '\"saved\": *[1-9]' run/status.json && exit 0; sleep 0.05; done; exit 1"
    code = job.run("bash", "-c", f"echo 1 > checkpoints/a; {wait}")

    assert code == 0
    assert job.status["saved"] == pytest.approx((checkpoints / "a").stat().st_ctime, abs=1)
