"""A command that broke down: started again where it has saved something, and a chain that gets nowhere is ended."""

import os
import time
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.waiting import wait_until
from windlass_job.agent.tries import Mark, Tries, count_stalled, has_saved, is_too_late, load_mark


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    made = Job(tmp_path, python=request.param, options=("--restart",))
    made.env["WINDLASS_CHECKPOINT_DIR"] = str(tmp_path / "saves")
    return made


# Saves once in each start and breaks down, until the third.
THREE_STARTS = "echo start >> starts; echo x > saves/$WINDLASS_TRY; [ $WINDLASS_TRY = 3 ] || exit 7"
CUT_AT_ONCE = "kill -USR1 $PPID; sleep 60"


def test_a_command_that_saved_and_broke_down_is_started_again(job: Job) -> None:
    assert job.run("bash", "-c", THREE_STARTS) == 0
    assert (job.status["state"], job.status["tries"]) == ("done", 3)
    restarts = [event["number"] for event in job.events if event["kind"] == "command_restarted"]
    assert restarts == [2, 3]


def test_the_log_says_that_it_died_and_was_started_again(job: Job) -> None:
    ends = "case $WINDLASS_TRY in 1) kill -9 $$;; 2) exit 7;; esac"

    assert job.run("bash", "-c", f"echo x > saves/$WINDLASS_TRY; {ends}") == 0
    said = [line for line in job.log.splitlines() if "started again" in line]
    assert said == [
        "windlass: the command was killed by signal 9 after it had saved: started again (try 2)",
        "windlass: the command ended with exit code 7 after it had saved: started again (try 3)",
    ]
    ended = [(event["exit_code"], event["signal"]) for event in job.events if event["kind"] == "command_restarted"]
    assert ended == [(None, 9), (7, None)]


def test_without_the_option_it_has_failed(job: Job) -> None:
    job.options = ()

    assert job.run("bash", "-c", THREE_STARTS) == 7
    assert (job.status["state"], job.status["tries"]) == ("failed", 1)


def test_an_exit_code_without_anything_saved_is_the_trainings_word(job: Job) -> None:
    assert job.run("bash", "-c", "echo start >> starts; exit 7") == 7
    assert (job.home / "starts").read_text() == "start\n"
    assert job.status["state"] == "failed"


def test_a_crash_without_anything_saved_may_have_been_bad_luck_once(job: Job) -> None:
    assert job.run("bash", "-c", "echo start >> starts; kill -SEGV $$") == 128 + 11
    assert (job.home / "starts").read_text() == "start\nstart\n"
    assert (job.status["state"], job.status["signal"]) == ("failed", 11)


def test_what_was_only_written_aside_is_not_saved(job: Job) -> None:
    aside = "mkdir -p saves/.windlass-1.1.1; date +%N > saves/.windlass-1.1.1/part"

    assert job.run("bash", "-c", f"echo start >> starts; {aside}; exit 7") == 7
    assert (job.home / "starts").read_text() == "start\n"


def test_progress_counts_as_saved(job: Job) -> None:
    tell = 'echo "{\\"done\\": $WINDLASS_TRY, \\"of\\": 9}" > run/progress.json'

    assert job.run("bash", "-c", f"{tell}; [ $WINDLASS_TRY = 2 ] || exit 7") == 0
    assert job.status["tries"] == 2


def test_near_the_end_of_its_time_it_is_left_to_the_next_link(job: Job) -> None:
    """A tenth of the job's time is little; this job's is over in a moment."""
    job.env["SLURM_JOB_END_TIME"] = str(int(time.time()) + 20)
    wait = "while [ $(($SLURM_JOB_END_TIME - $(date +%s))) -gt 1 ]; do sleep 0.1; done"

    assert job.run("bash", "-c", f"echo x > saves/$WINDLASS_TRY; {wait}; exit 7") == 0
    assert (job.status["state"], job.status["tries"]) == ("cut", 1)


def test_a_job_that_is_cancelled_between_two_starts_ends(job: Job) -> None:
    job.env["SLURM_JOB_END_TIME"] = str(int(time.time()) + 3600)
    with job.start("bash", "-c", "date +%N > saves/x; touch ready; exit 7") as process:
        wait_until((job.home / "ready").exists, "it has broken down")
        process.terminate()
        code = process.wait(20)

    assert code != 0
    assert job.status["state"] == "terminated"


def test_a_run_that_was_told_to_stop_is_not_started_again(job: Job) -> None:
    assert job.run("bash", "-c", "echo start >> starts; date +%N > saves/x; echo 1 > run/stop; exit 7") == 7
    assert (job.home / "starts").read_text() == "start\n"
    assert job.status["state"] == "terminated"


def as_link(number: int) -> dict[str, str]:
    return {"WINDLASS_LINK": str(number), "SLURM_ARRAY_JOB_ID": "45", "SLURM_ARRAY_TASK_ID": str(number)}


def test_two_links_in_a_row_that_saved_nothing_end_the_chain(job: Job) -> None:
    job.add_program("scancel", 'echo "$@" >> cancelled')
    job.env.update(as_link(1), SLURM_ARRAY_TASK_MAX="5")
    job.run("bash", "-c", CUT_AT_ONCE)
    assert (job.status["state"], job.status["stalled"]) == ("cut", 1)
    job.env.update(as_link(2))

    code = job.run("bash", "-c", CUT_AT_ONCE)

    assert code == 121
    assert (job.status["state"], job.status["reason"]) == ("failed", "two links in a row saved nothing")
    assert (job.home / "cancelled").read_text() == "45_[3-5]\n"


def test_a_link_that_saved_starts_the_count_anew(job: Job) -> None:
    states = []
    for number, save in enumerate(["", "date +%N > saves/x;", "", "date +%N > saves/x;"], start=1):
        job.env.update(as_link(number))
        job.run("bash", "-c", save + CUT_AT_ONCE)
        states.append((job.status["state"], job.status["stalled"]))

    assert states == [("cut", 1), ("cut", 0), ("cut", 1), ("cut", 0)]


def test_a_file_of_the_future_hides_no_other(job: Job) -> None:
    (job.home / "saves").mkdir()
    os.utime(job.home / "saves", (4e9, 4e9))
    (job.home / "saves" / "vocabulary").touch()
    os.utime(job.home / "saves" / "vocabulary", (4e9, 4e9))
    for number in (1, 2, 3):
        job.env.update(as_link(number))
        job.run("bash", "-c", "date +%N > saves/x;" + CUT_AT_ONCE)

    assert (job.status["state"], job.status["stalled"]) == ("cut", 0)


def test_without_a_folder_what_the_api_saved_within_an_epoch_counts(job: Job) -> None:
    del job.env["WINDLASS_CHECKPOINT_DIR"]
    states = []
    for number, step in enumerate([100, 200, 300, 300, 300], start=1):
        job.env.update(as_link(number))
        tell = f'echo \'{{"done": 0, "of": 9, "saved_step": {step}}}\' > run/progress.json;'
        job.run("bash", "-c", tell + CUT_AT_ONCE)
        states.append((job.status["state"], job.status["stalled"]))

    assert states == [("cut", 0), ("cut", 0), ("cut", 0), ("cut", 1), ("failed", 2)]


def test_links_killed_at_the_end_of_their_time_count_too(job: Job) -> None:
    """The agent died with the command and could not say so; the third link sees what the two have left."""
    asked = "grep -q '\"stop_requested\": [0-9]' run/status.json"
    killed = f"trap '' TERM; kill -USR1 $PPID; until {asked}; do sleep 0.02; done; kill -9 $PPID"
    for number in (1, 2):
        job.env.update(as_link(number))
        assert job.run("bash", "-c", killed) == -9
    job.env.update(as_link(3))

    assert job.run("touch", "started") == 121
    assert not (job.home / "started").exists()
    assert (job.status["state"], job.status["reason"]) == ("failed", "two links in a row saved nothing")


def test_without_a_folder_and_without_progress_nothing_is_judged(job: Job) -> None:
    del job.env["WINDLASS_CHECKPOINT_DIR"]
    for number in (1, 2, 3):
        job.env.update(as_link(number))
        job.run("bash", "-c", CUT_AT_ONCE)

    assert (job.status["state"], job.status["stalled"]) == ("cut", 0)


def test_a_resumed_run_starts_the_count_anew(job: Job) -> None:
    job.run("bash", "-c", CUT_AT_ONCE)
    job.env.update(WINDLASS_SUBMISSION="2", WINDLASS_LINK="2", SLURM_JOB_ID="99")

    assert job.run("bash", "-c", CUT_AT_ONCE) == 0
    assert (job.status["state"], job.status["stalled"]) == ("cut", 1)


@pytest.mark.parametrize(
    ("before", "after", "saved"),
    [
        (Mark(0, None, None), Mark(5, None, None), True),
        (Mark(5, None, None), Mark(5, None, None), False),
        (Mark(0, None, None), Mark(0, None, None), False),
        (Mark(None, None, None), Mark(None, None, None), None),
        (Mark(None, 3, None), Mark(None, 4, None), True),
        (Mark(None, 3, None), Mark(None, 3, None), False),
        (Mark(None, None, None), Mark(None, 1, None), True),
        (Mark(5, 3, None), Mark(5, 4, None), True),
        (Mark(5, 3, None), Mark(6, 3, None), True),
        (Mark(5, None, None), Mark(None, None, None), None),
        (Mark(None, 3, 100), Mark(None, 3, 200), True),
        (Mark(None, 3, 200), Mark(None, 3, 100), True),  # it went back to an older checkpoint
        (Mark(None, 3, 200), Mark(None, 3, 200), False),
        (Mark(None, None, None), Mark(None, None, 5), True),
        (Mark(None, 3, 200), Mark(None, 3, None), False),
    ],
)
def test_what_counts_as_saved(before: Mark, after: Mark, saved: bool | None) -> None:
    assert has_saved(before, after) is saved


def test_a_folder_too_large_to_look_through_says_nothing(tmp_path: Path) -> None:
    for number in range(10_001):
        (tmp_path / str(number)).touch()

    assert load_mark(str(tmp_path), {}).newest is None


def test_deep_inside_and_gone_folders(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch()

    assert load_mark(str(tmp_path), {"done": 3}) == (deep.joinpath("file").stat().st_ctime_ns, 3, None)
    assert load_mark(str(tmp_path / "gone"), {"done": "three"}) == (0, None, None)


def test_tries_end_some_time() -> None:
    tries = Tries()
    while tries.is_worth_another(1, saved=True):
        tries.begin(Mark(None, None, None))

    assert tries.count == 100


@pytest.mark.parametrize(
    ("left_s", "whole_s", "late"),
    [(None, None, False), (59, 86400, True), (61, 86400, False), (3, 20, False), (1, 20, True), (30, None, True)],
)
def test_when_it_is_too_late_for_another_try(left_s: float | None, whole_s: float | None, late: bool) -> None:
    assert is_too_late(left_s, whole_s) is late


def test_a_status_nobody_can_read_starts_the_count_anew() -> None:
    for previous in ({}, {"submission": 1}, {"submission": "x", "stalled": 1}, {"submission": 1, "stalled": None}):
        assert count_stalled(previous, 1, Mark(0, None, None)) == 0
