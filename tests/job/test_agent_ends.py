"""When a link is the last one: by exit code, by a file or a line that means done, by what the training told."""

import json
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job, wait_until


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


def test_a_pattern_this_python_cannot_read_is_told_and_passed_over(job: Job) -> None:
    job.options = ("--done-pattern=a(b",)

    assert job.run("true") == 0
    assert "the pattern that means done cannot be read here" in job.log
    assert job.status["state"] == "done"


def test_where_the_output_cannot_be_read_again_the_exit_code_counts(job: Job) -> None:
    job.options = ("--done-pattern=never",)
    (job.home / "job.log").symlink_to("/dev/null")

    assert job.run("true") == 0
    assert job.status["state"] == "done"


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
