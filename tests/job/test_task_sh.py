"""The first process of a plain task, in bash: it must do what the one in Python does."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import pytest

from tests.waiting import wait_until
from windlass.edges.job_zip import load_task_sh, make_job_zip
from windlass_job.starting.ranks import make_ranks

TASK = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NODEID": "0", "SLURM_LOCALID": "0"}
ALONE = {**TASK, "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_TASKS_PER_NODE": "1", "SLURM_STEP_NUM_NODES": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "task.sh").write_bytes(load_task_sh())
    (tmp_path / "windlass_job.pyz").write_bytes(make_job_zip())
    return tmp_path


def make_argv(folder: Path, *command: str, stop: str = "TERM") -> list[str]:
    words = [str(folder / "task.sh"), sys.executable, str(folder / "windlass_job.pyz"), "rank-env", stop, *command]
    return ["bash", *words]


def make_env(variables: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "MASTER_ADDR": "127.0.0.1", **variables}


@contextmanager
def started(folder: Path, program: str, *, stop: str = "TERM") -> Iterator["subprocess.Popen[str]"]:
    """A task whose program has said that it is ready."""
    ready = folder / "ready"
    code = f"import pathlib, signal, sys, time\n{program}"
    argv = make_argv(folder, sys.executable, "-c", code.replace("READY", repr(str(ready))), stop=stop)
    child = subprocess.Popen(argv, env=make_env(ALONE), stdout=subprocess.PIPE, text=True)
    try:
        wait_until(ready.exists, "the program has started")
        yield child
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("counts", "node", "procid", "local"),
    [
        ("1", 0, 0, 0),
        ("2(x2)", 1, 3, 1),
        ("4(x2),3", 0, 2, 2),
        ("4(x2),3", 2, 9, 1),
        ("1,2,3", 1, 1, 0),
        ("16", 0, 7, 7),
    ],
)
def test_the_rank_is_the_one_that_python_gives(folder: Path, counts: str, node: int, procid: int, local: int) -> None:
    env = {**TASK, "SLURM_PROCID": str(procid), "SLURM_NODEID": str(node), "SLURM_LOCALID": str(local)}
    env.update(SLURM_STEP_TASKS_PER_NODE=counts, SLURM_STEP_NUM_TASKS="11")

    done = subprocess.run(make_argv(folder, "env", "-0"), env=make_env(env), capture_output=True, text=True, check=True)

    seen = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    wanted = make_ranks(env)
    assert {name: seen[name] for name in wanted} == wanted


@pytest.mark.parametrize(("line", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -6 $$", 134)])
def test_it_ends_as_the_program_does(folder: Path, line: str, code: int) -> None:
    argv = make_argv(folder, "bash", "-c", line)

    assert subprocess.run(argv, env=make_env(ALONE), check=False).returncode == code


def test_the_program_reads_what_the_task_is_given(folder: Path) -> None:
    argv = make_argv(folder, "cat")

    done = subprocess.run(argv, env=make_env(ALONE), input="a\n", capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("a\n", "")


@pytest.mark.parametrize("came", [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGUSR2])
@pytest.mark.parametrize("stop", ["TERM", "INT", "USR2"])
def test_whatever_comes_the_program_gets_the_signal_to_stop_and_may_save(folder: Path, came: int, stop: str) -> None:
    if came == signal.SIGUSR2 and stop != "USR2":
        return  # nobody sends it
    program = f"""
def save(number, frame):
    print("saved", signal.Signals(number).name, flush=True)
    sys.exit(5)
signal.signal(signal.SIG{stop}, save)
pathlib.Path(READY).touch()
time.sleep(60)"""
    with started(folder, program, stop=stop) as task:
        task.send_signal(came)

        assert task.communicate(timeout=30)[0] == f"saved SIG{stop}\n"
        assert task.returncode == 5


@pytest.mark.parametrize(
    "end", ["time.sleep(60)", "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)); time.sleep(60)"]
)
def test_one_that_ends_of_being_stopped_is_no_failure(folder: Path, end: str) -> None:
    """srun --kill-on-bad-exit would kill those that still save."""
    order = end.split("; ")
    program = "\n".join([*order[:-1], "pathlib.Path(READY).touch()", order[-1]])
    with started(folder, program) as task:
        task.send_signal(signal.SIGUSR1)

        assert task.wait(30) == 0


def test_nothing_of_it_outlives_the_program(folder: Path) -> None:
    before = _list_processes(folder)

    subprocess.run(make_argv(folder, "true"), env=make_env(ALONE), check=True)

    wait_until(lambda: _list_processes(folder) == before, "its processes have gone")


def test_the_nodes_meet_before_any_program_starts(folder: Path) -> None:
    """The first node keeps the door in Python, the others knock in bash."""
    nodes = {"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_STEP_NODELIST": "n[1-3]", "SLURM_STEP_NUM_NODES": "3"}
    nodes.update(SLURM_STEP_NUM_TASKS="3", SLURM_STEP_TASKS_PER_NODE="1(x3)")
    nodes.update(WINDLASS_PORT_BLOCK=str(23456), WINDLASS_POCKET_JOB="1")
    argv = make_argv(folder, sys.executable, "-c", "import time; print(time.time())")
    tasks = []
    for node in (2, 1):
        env = make_env({**TASK, **nodes, "SLURM_PROCID": str(node), "SLURM_NODEID": str(node)})
        tasks.append(subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True))
    time.sleep(1.0)
    last = time.time()
    tasks.append(subprocess.Popen(argv, env=make_env({**TASK, **nodes}), stdout=subprocess.PIPE, text=True))

    begun = [float(task.communicate(timeout=60)[0]) for task in tasks]

    assert min(begun) > last, "a program started before all nodes were there"


def test_it_is_plain_bash() -> None:
    """Anything newer than bash 4.2, which RHEL 7 has, would fail there: at least its grammar is read."""
    path = resources.files("windlass_job").joinpath("starting", "task.sh")

    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0


def _list_processes(folder: Path) -> set[str]:
    listed = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True, check=False).stdout
    return set(listed.split())
