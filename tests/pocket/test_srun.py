"""srun and salloc, run for real."""

import os
import pty
import signal
import socket
import subprocess

import pytest

from windlass.pocket import namespaces
from windlass.pocket.model import State

from .conftest import Pocket, wait_for


def test_tasks_know_their_places(pocket: Pocket) -> None:
    line = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_NTASKS $SLURM_STEP_NUM_TASKS"
    job = pocket.submit(f"srun -l bash -c '{line}'\nscontrol show hostnames", "-N2", "--ntasks-per-node=2")

    pocket.wait(job)

    lines = pocket.output(job).splitlines()
    assert sorted(lines[:4]) == [
        "0: 0 0 0 pocket1 4 4",
        "1: 1 1 0 pocket1 4 4",
        "2: 2 0 1 pocket2 4 4",
        "3: 3 1 1 pocket2 4 4",
    ]
    assert lines[4:] == ["pocket1", "pocket2"]


def test_srun_is_known_by_its_name(pocket: Pocket) -> None:
    """Whoever asks a command to stop must tell it from a training: SIGTERM to srun kills its tasks soon."""
    shown = pocket.run("srun", "bash", "-c", "ps -o comm= -p $PPID").stdout.strip()

    assert shown == "srun"


@pytest.mark.skipif(not namespaces.is_possible(), reason="this system gives processes no names of their own")
def test_pretended_nodes_have_names_that_resolve(pocket: Pocket) -> None:
    ask = 'import socket; print(socket.gethostname(), socket.gethostbyname("pocket1"))'
    job = pocket.submit(f"srun -l python3 -c '{ask}'; getent hosts pocket2", "-N2", "--ntasks-per-node=1")

    pocket.wait(job)

    lines = pocket.output(job).splitlines()
    assert sorted(lines[:2]) == ["0: pocket1 127.0.0.1", "1: pocket2 127.0.0.1"]
    assert lines[2].split() == ["127.0.0.2", "pocket2"]


def test_names_can_be_switched_off(pocket: Pocket) -> None:
    pocket.configure("names_nodes = false\n")

    assert pocket.run("srun", "hostname").stdout.strip() == socket.gethostname()


def test_a_task_may_have_the_terminal(pocket: Pocket) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(pocket.folder)
        os.execve(
            pocket.bin / "srun",
            ["srun", "--pty", "bash", "-c", "read word; [ -t 0 ] && echo terminal $word; exit 4"],
            pocket.environment,
        )
    os.write(terminal, b"hello\n")
    heard = b""
    while b"terminal hello" not in heard:
        heard += os.read(terminal, 1024)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4


def test_the_highest_exit_code_counts(pocket: Pocket) -> None:
    done = pocket.run("srun", "-n3", "bash", "-c", "exit $((SLURM_PROCID * 2))", code=4)

    assert "srun: error: pocket1: task 1: Exited with exit code 2" in done.stderr
    assert "srun: error: pocket1: task 2: Exited with exit code 4" in done.stderr
    assert pocket.sacct(1, "JobID,State,ExitCode") == ["1|FAILED|4:0", "1.0|FAILED|4:0"]


def test_a_killed_task(pocket: Pocket) -> None:
    done = pocket.run("srun", "bash", "-c", "kill -9 $$", code=137)

    assert "srun: error: pocket1: task 0: Killed" in done.stderr


def test_kill_on_bad_exit(pocket: Pocket) -> None:
    done = pocket.run("srun", "-n2", "-K", "bash", "-c", "[ $SLURM_PROCID = 0 ] && exit 7; sleep 60", code=None)

    assert done.returncode == 143
    assert "srun: error: pocket1: task 0: Exited with exit code 7" in done.stderr
    assert "Terminating StepId=1.0" in done.stderr


def test_stdin_goes_to_the_first_task(pocket: Pocket) -> None:
    done = pocket.run("srun", "-n2", "-l", "cat", text="hello\n")

    assert done.stdout == "0: hello\n"


def test_an_output_file_for_each_task(pocket: Pocket) -> None:
    pocket.run("srun", "-n2", "-o", "out-%j.%s-%t-%N", "bash", "-c", "echo $SLURM_PROCID; echo err >&2")

    assert (pocket.folder / "out-1.0-0-pocket1").read_text() == "0\nerr\n"
    assert (pocket.folder / "out-1.0-1-pocket1").read_text() == "1\nerr\n"


def test_exact_steps_run_side_by_side_and_others_wait(pocket: Pocket) -> None:
    meet = "touch $0; while [ ! -e $1 ]; do sleep 0.02; done"
    body = f"srun --exact -n1 bash -c '{meet}' a b &\nsrun --exact -n1 bash -c '{meet}' b a &\nwait\necho met\n"
    body += "srun bash -c 'touch c; sleep 0.5' &\nwhile [ ! -e c ]; do sleep 0.02; done\nsrun true\nwait"
    job = pocket.submit(body, "-n2", "-t", "1")

    assert pocket.wait(job).state is State.COMPLETED
    assert "met\n" in pocket.output(job)
    assert "step creation temporarily disabled, retrying (Requested nodes are busy)" in pocket.output(job)


def test_more_tasks_than_the_job_has(pocket: Pocket) -> None:
    job = pocket.submit("srun -n3 true")

    pocket.wait(job)

    assert "srun: error: Unable to create step for job 1: More processors requested than permitted" in pocket.output(
        job
    )


def test_the_signal_before_the_end_reaches_steps(pocket: Pocket) -> None:
    step = 'trap "echo step got it; exit 0" USR1; touch ready; while true; do sleep 0.05; done'
    job = pocket.submit(f"srun bash -c '{step}'\necho after", "-t", "0:04", "--signal=USR1@2")

    assert pocket.wait(job).state is State.COMPLETED
    # As on a real Slurm every process of the step gets it: bash also tells of its sleep.
    assert pocket.output(job).endswith("step got it\nafter\n")


def test_srun_passes_signals_on(pocket: Pocket) -> None:
    step = 'trap "echo got TERM; exit 5" TERM; touch ready; while true; do sleep 0.05; done'
    process = subprocess.Popen(
        [pocket.bin / "srun", "bash", "-c", step],
        cwd=pocket.folder,
        env=pocket.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    pocket.see("ready")

    process.send_signal(signal.SIGTERM)

    assert process.communicate(timeout=20)[0] == b"got TERM\n"
    assert process.returncode == 5


def test_srun_outside_of_a_job_waits_for_its_turn(pocket: Pocket) -> None:
    blocker = pocket.submit("touch ready; sleep 60", "-c", "4")
    pocket.see("ready")
    process = subprocess.Popen(
        [pocket.bin / "srun", "echo", "my turn"],
        cwd=pocket.folder,
        env=pocket.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: pocket.squeue("%j %r", "-t", "PD") == ["echo Resources"])
    pocket.run("scancel", str(blocker))

    output, errors = process.communicate(timeout=20)

    assert output == "my turn\n"
    assert process.returncode == 0
    assert "srun: job 2 has been allocated resources" in errors or "queued" not in errors


def test_a_killed_salloc_gives_its_resources_back(pocket: Pocket) -> None:
    process = subprocess.Popen(
        [pocket.bin / "salloc", "-c4", "bash", "-c", "touch ready; sleep 60"],
        cwd=pocket.folder,
        env=pocket.environment,
        stderr=subprocess.DEVNULL,
    )
    pocket.see("ready")

    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=10)

    assert pocket.wait(1).state is State.CANCELLED


def test_salloc_runs_a_command(pocket: Pocket) -> None:
    done = pocket.run("salloc", "-n2", "bash", "-c", "echo job $SLURM_JOB_ID; srun -l hostname | wc -l; exit 3", code=3)

    assert done.stdout.split() == ["job", "1", "2"]
    assert done.stderr.splitlines() == ["salloc: Granted job allocation 1", "salloc: Relinquishing job allocation 1"]


def test_no_job_no_step(pocket: Pocket) -> None:
    done = pocket.run("srun", "--jobid=99", "true", code=1)

    assert done.stderr.splitlines()[0] == (
        "srun: error: Unable to confirm allocation for job 99: Invalid job id specified"
    )


def test_a_login_shell_finds_srun(pocket: Pocket) -> None:
    # /etc/profile of Debian sets PATH anew; a real Slurm on this machine must not answer instead.
    job_id = pocket.submit("PATH=/usr/bin:/bin; srun -n 2 bash -c 'echo task $SLURM_PROCID'", "-n", "2")

    pocket.wait(job_id, State.COMPLETED)

    assert sorted(pocket.output(job_id).splitlines()) == ["task 0", "task 1"]
