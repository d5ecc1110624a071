"""When a link is the last one: by exit code, by a file or a line that means done, by what the training told."""

import json
import os
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.waiting import wait_until


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param)


CUT_AT_ONCE = "kill -USR1 $PPID; sleep 60"


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("true", "cut"),
        ("touch finished", "done"),
        ("touch finished; exit 3", "failed"),
        ("touch finished; kill -ABRT $$", "done"),
        ("kill -ABRT $$", "failed"),
        ("touch finished; exit 134", "done"),
        ("touch finished; echo 'terminate called without an active exception' >&2; exit 1", "done"),
        ("echo 'terminate called without an active exception' >&2; exit 1", "failed"),
        ("touch finished; " + CUT_AT_ONCE, "done"),
        (CUT_AT_ONCE, "cut"),
    ],
)
def test_a_file_that_means_done(job: Job, command: str, outcome: str) -> None:
    job.options = ("--done-file=finished",)

    code = job.run("bash", "-c", command)

    assert job.status["state"] == outcome
    assert (code == 0) == (outcome != "failed")
    assert (job.status["exit_code"] == 0) == (outcome == "done" or command == "true")


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("echo epoch 3 of 3; echo Training is done.", "done"),
        ("echo epoch 2 of 3", "cut"),
        ("echo 'not: Training is done.'", "cut"),
        ("head -c 3000000 /dev/zero; echo; echo Training is done.; head -c 3000000 /dev/zero", "done"),
        ("printf '\\xff\\xfe\\n'; echo Training is done.; " + CUT_AT_ONCE, "done"),
    ],
)
def test_a_line_that_means_done(job: Job, command: str, outcome: str) -> None:
    job.options = ("--done-pattern=^Training is done",)
    (job.home / "job.log").write_text("Training is done.\n", "utf-8")  # of an earlier link in the same file

    assert job.run("bash", "-c", command) == 0
    assert job.status["state"] == outcome


def test_a_line_across_two_pieces_of_the_log_is_seen(job: Job) -> None:
    job.options = ("--done-pattern=^Training is done",)

    job.run("bash", "-c", f"head -c {(1 << 20) - 6} /dev/zero | tr '\\0' '\\n'; echo Training is done.")

    assert job.status["state"] == "done"


def test_both_that_were_named_must_agree(job: Job) -> None:
    job.options = ("--done-pattern=^Done", "--done-file=finished")

    assert job.run("touch", "finished") == 0
    assert job.status["state"] == "cut"


def test_a_file_from_before_the_run_says_nothing(job: Job) -> None:
    job.options = ("--done-file=finished",)
    (job.home / "finished").touch()

    states = []
    for number, command in enumerate(["true", CUT_AT_ONCE, "touch finished"], start=1):
        job.env.update(WINDLASS_LINK=str(number), SLURM_ARRAY_JOB_ID="45", SLURM_ARRAY_TASK_ID=str(number))
        job.run("bash", "-c", command)
        states.append(job.status["state"])

    assert states == ["cut", "cut", "done"]


def test_a_file_from_before_the_run_that_bears_a_later_date_says_nothing(job: Job) -> None:
    job.options = ("--done-file=finished",)
    (job.home / "finished").touch()
    os.utime(job.home / "finished", (4e9, 4e9))

    assert job.run("true") == 0
    assert job.status["state"] == "cut"


def test_a_file_that_an_earlier_link_made_counts(job: Job) -> None:
    job.options = ("--done-file=finished",)
    assert job.run("bash", "-c", "touch finished; exit 3") == 3
    job.env.update(WINDLASS_SUBMISSION="2", WINDLASS_LINK="2", SLURM_JOB_ID="99")

    assert job.run("true") == 0
    assert job.status["state"] == "done"


def test_a_pattern_this_python_cannot_read_is_told_and_is_never_found(job: Job) -> None:
    job.options = ("--done-pattern=a(b",)

    assert job.run("true") == 0
    assert "the pattern that means done cannot be read here" in job.log
    assert job.status["state"] == "cut"


def test_where_the_output_cannot_be_read_again_nothing_is_found_in_it(job: Job) -> None:
    job.options = ("--done-pattern=never",)
    (job.home / "job.log").symlink_to("/dev/null")

    assert job.run("true") == 0
    assert job.status["state"] == "cut"
    assert any("the output is no file" in event.get("text", "") for event in job.events)


def test_a_search_that_takes_too_long_is_ended_and_has_found_nothing(job: Job) -> None:
    job.options = ("--done-pattern=(a+)+$", "--patience=6")

    assert job.run("bash", "-c", f"echo {'a' * 60}b") == 0
    assert "what the command printed could not be searched within 2 s" in job.log
    assert job.status["state"] == "cut"


@pytest.mark.parametrize(
    ("pattern", "command", "outcome"),
    [
        (".*finished.*", "yes 'step 1 of 9' | head -c 6000000 | tr '\\n' '\\r'", "cut"),
        ("^finished$", "printf 'step 1\\rfinished\\rbye'", "done"),
        ("done$", f"head -c {(1 << 20) - 4} /dev/zero | tr '\\0' x; echo done-not-yet", "cut"),
        ("done$", f"head -c {(1 << 20) - 2} /dev/zero | tr '\\0' x; echo done", "done"),
        ("^begin .* end$", "printf 'begin '; head -c 5000000 /dev/zero | tr '\\0' x; echo ' end'", "done"),
        ("^x", "printf y; head -c 5000000 /dev/zero | tr '\\0' x", "cut"),
        ("^\u00fcbrig: 0", "echo '\u00fcbrig: 0'", "done"),
    ],
)
def test_lines_end_where_they_end(job: Job, pattern: str, command: str, outcome: str) -> None:
    job.options = ("--done-pattern=" + pattern,)
    job.env["LC_ALL"] = "C"

    assert job.run("bash", "-c", command) == 0
    assert job.status["state"] == outcome
    assert "could not be searched" not in (job.home / "job.log").read_bytes().decode("utf-8", "replace")


def test_progress_nobody_can_read_is_none(job: Job) -> None:
    job.options = ("--heartbeat=0.05",)
    nested = "print('{\"a\":' * 100000)"

    assert job.run("bash", "-c", f'{job.python} -c "$0" > run/progress.json; sleep 0.5', nested) == 0
    assert "the agent failed" not in job.log
    assert (job.status["state"], job.status["progress"]) == ("done", None)


def test_of_progress_only_plain_values_are_copied(job: Job) -> None:
    """What can just be read may be too deep to be written again."""
    deep = "[" * 900 + "]" * 900

    assert job.run("bash", "-c", f'echo \'{{"done": 1, "x": {deep}}}\' > run/progress.json') == 0
    assert "the agent failed" not in job.log
    assert (job.status["state"], job.status["progress"]) == ("done", {"done": 1})


def test_the_log_says_why_the_command_was_stopped(job: Job) -> None:
    job.run("bash", "-c", CUT_AT_ONCE)
    job.env.update(WINDLASS_LINK="3")
    job.run("bash", "-c", CUT_AT_ONCE)

    said = "windlass: the time of this job is nearly up: asked the command to stop (TERM)"
    assert [line for line in job.log.splitlines() if "nearly up" in line] == [said + "; the next link goes on", said]


@pytest.mark.parametrize(
    ("told", "command", "outcome"),
    [
        ({"done": 10, "of": 10}, "kill -ABRT $$", "done"),
        ({"done": 10, "of": 10}, CUT_AT_ONCE, "done"),
        ({"done": 9, "of": 10}, "kill -ABRT $$", "failed"),
        ({"done": 9, "of": 10}, CUT_AT_ONCE, "cut"),
        ({"done": 7, "of": 10}, "true", "done"),  # it stopped early, by its own will
        ({"done": 7, "of": 10, "stopping": True}, "true", "cut"),
        ({"done": 7, "of": 10, "stopping": True, "finished": True}, "true", "done"),
        ({"done": None, "of": None, "finished": True}, "kill -ABRT $$", "done"),
        ({"done": 10, "of": 10, "attempt": 7}, "kill -ABRT $$", "failed"),  # an earlier attempt's word
    ],
)
def test_what_the_training_told(job: Job, told: dict[str, object], command: str, outcome: str) -> None:
    words = json.dumps({"submission": 1, "link": 1, "attempt": 1, "try": 1, **told})

    job.run("bash", "-c", f"echo '{words}' > run/progress.json; {command}")

    assert job.status["state"] == outcome
    assert job.status["progress"] == json.loads(words)


def test_what_was_named_counts_more_than_progress(job: Job) -> None:
    job.options = ("--done-file=finished",)
    words = '{"submission": 1, "link": 1, "attempt": 1, "try": 1, "done": 3, "of": 3}'

    job.run("bash", "-c", f"echo '{words}' > run/progress.json")

    assert job.status["state"] == "cut"


def test_progress_is_copied_while_it_runs(job: Job) -> None:
    job.options = ("--heartbeat=0.05",)
    with job.start("bash", "-c", 'echo \'{"done": 4, "of": 9}\' > run/progress.json; sleep 60'):
        wait_until(lambda: (job.folder / "status.json").exists(), "there is a status")
        wait_until(lambda: job.status["progress"] == {"done": 4, "of": 9}, "the progress is in it")
