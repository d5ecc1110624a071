"""The agent as a process: what it runs, how it exits, what it leaves behind."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, PYTHONS, Job
from tests.waiting import wait_until


@pytest.fixture(params=list(PYTHONS.values()), ids=list(PYTHONS))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param)


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def some_job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    return Job(tmp_path, python=request.param)


# A training that saves when it is told to stop, and needs a moment for it.
TRAINING = """
import signal, sys, time
def save(number, frame):
    time.sleep(0.3)
    print("saved", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open("ready", "w").close()
time.sleep(60)
"""


def test_modules_that_are_loaded_are_written_down(some_job: Job) -> None:
    some_job.env["LOADEDMODULES"] = "Stages/2024:gcc/12.3:pytorch/2.3"

    assert some_job.run("true") == 0

    assert some_job.status["modules"] == ["Stages/2024", "gcc/12.3", "pytorch/2.3"]
    assert some_job.events[0]["modules"] == some_job.status["modules"]


def test_a_command_that_ends_well_is_done(job: Job) -> None:
    code = job.run("bash", "-c", "echo out; echo err >&2")

    assert code == 0
    assert job.log == "out\nerr\n"
    assert (job.status["state"], job.status["exit_code"], job.status["attempt"]) == ("done", 0, 1)
    assert job.kinds == ["link_started", "command_started", "command_ended", "link_ended"]
    assert job.events[-1]["outcome"] == "done"


def test_the_exit_code_of_the_command_is_the_jobs(job: Job) -> None:
    code = job.run("bash", "-c", "exit 3")

    assert code == 3
    assert (job.status["state"], job.status["exit_code"]) == ("failed", 3)


def test_a_command_killed_by_a_signal_is_told_apart(some_job: Job) -> None:
    code = some_job.run("bash", "-c", "kill -SEGV $$")

    assert code == 128 + signal.SIGSEGV
    assert (some_job.status["state"], some_job.status["signal"]) == ("failed", signal.SIGSEGV)


def test_a_command_that_does_not_exist_fails_with_127(some_job: Job) -> None:
    code = some_job.run("no-such-program")

    assert code == 127
    assert some_job.status["state"] == "failed"
    assert "windlass: cannot start no-such-program: No such file or directory" in some_job.log


def test_near_the_end_of_time_the_training_saves_and_the_link_is_cut(job: Job) -> None:
    with job.start(job.python, "-c", TRAINING) as process:
        wait_until((job.home / "ready").exists, "the training is up")
        process.send_signal(signal.SIGUSR1)
        code = process.wait(20)

    assert code == 0
    assert job.printed == "saved\n"
    assert job.status["state"] == "cut"
    assert job.kinds[2:] == ["stop_requested", "command_ended", "link_ended"]


def test_a_cancelled_job_is_terminated(job: Job) -> None:
    with job.start(job.python, "-c", "open('ready', 'w'); import time; time.sleep(60)") as process:
        wait_until((job.home / "ready").exists, "the command is up")
        process.send_signal(signal.SIGTERM)
        code = process.wait(20)

    assert code == 128 + signal.SIGTERM
    assert (job.status["state"], job.status["signal"]) == ("terminated", signal.SIGTERM)


def test_a_shell_around_the_training_neither_ends_the_job_early_nor_goes_on(some_job: Job) -> None:
    (some_job.home / "train.py").write_text(TRAINING)

    with some_job.start("bash", "-c", f"{some_job.python} train.py | tee copy; echo the next line") as process:
        wait_until((some_job.home / "ready").exists, "the training is up")
        process.send_signal(signal.SIGUSR1)
        code = process.wait(20)

    assert code == 0
    assert some_job.printed == "saved\n"
    assert (some_job.home / "copy").read_text() == "saved\n"
    assert some_job.status["state"] == "cut"


def test_workers_of_the_training_are_left_alone(some_job: Job) -> None:
    worker = "import time; open('ready', 'w'); time.sleep(60)"
    training = f"""
import signal, subprocess, sys
worker = subprocess.Popen([sys.executable, "-c", {worker!r}])
def save(number, frame):
    print("worker:", worker.poll(), flush=True)
    worker.kill()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
worker.wait()
"""

    with some_job.start(some_job.python, "-c", training) as process:
        wait_until((some_job.home / "ready").exists, "the worker is up")
        process.send_signal(signal.SIGUSR1)
        process.wait(20)

    assert some_job.printed == "worker: None\n"


def test_the_stop_signal_can_be_chosen(some_job: Job) -> None:
    some_job.options = ("--notice-signal", "USR2", "--stop-signal", "INT")

    with some_job.start("bash", "-c", "trap 'echo interrupted; exit 1' INT; touch ready; sleep 60 & wait") as process:
        wait_until((some_job.home / "ready").exists, "the command is up")
        process.send_signal(signal.SIGUSR2)
        code = process.wait(20)

    assert (code, some_job.printed, some_job.status["state"]) == (0, "interrupted\n", "cut")


def test_the_heart_beats(some_job: Job) -> None:
    some_job.options = ("--heartbeat", "0.05")

    with some_job.start("sleep", "60"):
        wait_until(lambda: (some_job.folder / "status.json").exists(), "there is a status")
        first = some_job.status["heartbeat"]
        wait_until(lambda: some_job.status["heartbeat"] > first, "another heartbeat")

    assert some_job.status["state"] == "running"


def test_the_first_heartbeat_comes_soon_and_brings_the_progress(some_job: Job) -> None:
    """Whoever has just submitted waits for it: not as long as between those of a training that runs for days."""
    told = {"done": 3, "of": 9, "t": time.time(), "link": 1}
    some_job.folder.mkdir(exist_ok=True)

    with some_job.start("sleep", "60"):
        wait_until(lambda: (some_job.folder / "status.json").exists(), "there is a status")
        (some_job.folder / "progress.json").write_text(json.dumps(told))
        wait_until(lambda: (some_job.status["progress"] or {}).get("done") == 3, "it is told", timeout_s=15)


def test_the_command_gets_what_helps(some_job: Job) -> None:
    some_job.env = {
        "SLURM_JOB_NODELIST": "gpu[003-004]",
        "WINDLASS_HOST_SUFFIX": "-ib0",
        "PYTHONFAULTHANDLER": "0",
        "WINDLASS_CHECKPOINT_DIR": str(some_job.home / "deep" / "checkpoints"),
    }

    some_job.run("bash", "-c", "echo $MASTER_ADDR $PYTHONUNBUFFERED $PYTHONFAULTHANDLER")

    assert some_job.log == "gpu003-ib0 1 0\n"
    assert (some_job.home / "deep" / "checkpoints").is_dir()


def test_the_command_knows_which_start_it_is_and_how_it_is_stopped(some_job: Job) -> None:
    some_job.options = ("--stop-signal=INT",)
    some_job.run("false")

    some_job.run(
        "bash", "-c", "echo $WINDLASS_SUBMISSION.$WINDLASS_LINK.$WINDLASS_ATTEMPT.$WINDLASS_TRY $WINDLASS_STOP_SIGNAL"
    )

    assert some_job.log == "1.1.2.1 INT\n"


@pytest.mark.parametrize(
    ("shown", "says"),
    [("0,1", "CUDA_VISIBLE_DEVICES=0,1 names 2 GPUs, 4 were planned"), ("NoDevFiles", "names 0 GPUs"), ("0,1,2,3", "")],
)
def test_missing_gpus_are_told_and_the_command_runs(some_job: Job, shown: str, says: str) -> None:
    some_job.options = ("--gpus=4",)
    some_job.env = {"CUDA_VISIBLE_DEVICES": shown}

    assert some_job.run("echo", "ran") == 0
    assert says in some_job.log
    assert some_job.log.count("\n") == (2 if says else 1)


def test_secrets_reach_the_command_and_nothing_else(some_job: Job) -> None:
    some_job.folder.mkdir()
    (some_job.folder / "secrets.env").write_text('KEY="s3cret\\n\\u00e9"\nBROKEN=s3cret-broken\n')
    some_job.env = {"LC_ALL": "C"}

    some_job.run("bash", "-c", 'printf %s "$KEY" > got')

    assert (some_job.home / "got").read_text() == "s3cret\né"
    records = (some_job.folder / "events.jsonl").read_text() + (some_job.folder / "status.json").read_text()
    assert "s3cret" not in records + some_job.log
    assert "1 lines of secrets.env cannot be read" in some_job.log


def test_descriptors_that_slurm_opened_reach_the_command(some_job: Job) -> None:
    """PMI-2 hands a socket to each task."""
    with (some_job.home / "passed").open("w") as file:
        some_job.pass_fds = (file.fileno(),)
        some_job.run("bash", "-c", f"echo here >&{file.fileno()}")

    assert (some_job.home / "passed").read_text() == "here\n"
