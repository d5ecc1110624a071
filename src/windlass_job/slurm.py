"""What Slurm told this job about itself, and what we ask of it: signal our steps; cancel, shorten or start links."""

import math
import os
import signal
import socket
import subprocess
import time
from typing import List, Mapping, Optional, Sequence

from windlass_job import disk, wire
from windlass_job.sbatch_words import read_receipt_job

ALIVE = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "CONFIGURING", "RESIZING")
TIMEOUT_S = 20.0  # a client waits 9 s for a controller that is away


def read_job_id(env: Mapping[str, str]) -> Optional[str]:
    """As people write it: 45_1 for a task of an array. The plain number of one task is the array's own number."""
    if env.get("SLURM_ARRAY_JOB_ID") and env.get("SLURM_ARRAY_TASK_ID"):
        return "{}_{}".format(env["SLURM_ARRAY_JOB_ID"], env["SLURM_ARRAY_TASK_ID"])
    return env.get("SLURM_JOB_ID")


def get_job(env: Mapping[str, str]) -> str:
    """How this job is known: outside of Slurm by our process."""
    return read_job_id(env) or "pid-{}".format(os.getpid())


def load_node(env: Mapping[str, str]) -> str:
    return env.get("SLURMD_NODENAME") or socket.gethostname()


def read_number(env: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(env.get(name, default))
    except ValueError:
        return default


def read_time_left(env: Mapping[str, str]) -> Optional[float]:
    """Seconds; None where Slurm does not say, or gave the job more time than it said at the start."""
    left = read_number(env, "SLURM_JOB_END_TIME", 0) - time.time()
    return left if left > 0 else None


def signal_steps(job: str, signal_name: str) -> Optional[str]:
    """The first process of every task of the job, not the batch shell. What went wrong, or None."""
    return _run("scancel", "--signal=" + signal_name, job)


def cancel(job: str) -> Optional[str]:
    """What went wrong, or None."""
    return _run("scancel", job)


def cancel_later_links(env: Mapping[str, str]) -> Optional[str]:
    """Those of our own chain that still wait. What went wrong, or None."""
    later = list_later_jobs(env)
    return _run("scancel", *later) if later else None


def list_later_jobs(env: Mapping[str, str]) -> List[str]:
    """The links after this one as Slurm names them: tasks of our array, or jobs that wait for ours."""
    array = env.get("SLURM_ARRAY_JOB_ID")
    number = read_number(env, "SLURM_ARRAY_TASK_ID", 0)
    last = read_number(env, "SLURM_ARRAY_TASK_MAX", 0)
    if array:
        return ["{}_[{}-{}]".format(array, number + 1, last)] if 0 < number < last else []
    if env.get(wire.ENV_CHAIN) != "dependency":
        return []
    first = read_number(env, wire.ENV_NUMBER, 1) + 1
    count = read_number(env, wire.ENV_LINKS, 1) - read_number(env, wire.ENV_LINK, 1)
    jobs = (_load_job_id(env, submission) for submission in range(first, first + count))
    return [job for job in jobs if job]


def limit_jobs(jobs: Sequence[str], limit_s: float, *, is_end_well: bool = False) -> Optional[str]:
    """A new time limit for jobs that wait: their owner may lower it. What went wrong, or None."""
    changes = ["JobId=" + ",".join(jobs), "TimeLimit=" + format_limit(limit_s)]
    return _run("scontrol", "update", *changes, is_end_well=is_end_well)


def requeue(env: Mapping[str, str], limit_s: Optional[float] = None) -> Optional[str]:
    """Put our own job back into the queue: the next link is its next start. Slurm then ends this one.

    limit_s: of the next start. Only now: on a job that runs it would count from the start of this one.
    """
    job = env.get("SLURM_JOB_ID")
    if not job:
        return "this is no job of Slurm's"
    problem = _run("scontrol", "requeue", job, is_end_well=True)
    if problem is None and limit_s is not None:
        return limit_jobs([job], limit_s, is_end_well=True)
    return problem


def format_limit(seconds: float) -> str:
    """D-HH:MM:SS, never less than asked for."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return "{}-{:02}:{:02}:{:02}".format(hours // 24, hours % 24, minutes, rest)


def _load_job_id(env: Mapping[str, str], submission: int) -> Optional[str]:
    """Of another submission of our run; None when there is no receipt, or it is of somebody else."""
    place = os.path.join(env.get(wire.ENV_RUN_DIR, ""), wire.SUBMISSIONS, str(submission), wire.RECEIPT)
    try:
        receipt = disk.read_json(os.fsencode(place)) or {}
    except OSError:
        return None
    token = wire.TOKEN.format(run_id=env.get(wire.ENV_RUN_ID), number=submission)
    return read_receipt_job(receipt) if receipt.get("token") == token else None


def find_given_up(env: Mapping[str, str]) -> Optional[str]:
    """Slurm's word for a job that it no longer takes for running: "NODE_FAIL", "PENDING" (queued again). None: it runs.

    OSError: Slurm does not answer.
    """
    job = env.get("SLURM_JOB_ID", "")
    if not job.isdigit():
        return None
    argv = ("squeue", "--noheader", "--jobs=" + job, "--states=all", "--format=%T")
    try:
        asked = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise OSError("squeue: no answer within {:g} s".format(TIMEOUT_S))
    said = asked.stderr.decode("utf-8", "replace")
    if asked.returncode != 0 and "Invalid job id" not in said:
        raise OSError(said.strip()[:300] or "squeue ended with {}".format(asked.returncode))
    # A controller that was killed may have forgotten a job that runs: not to know it is not to have given it up.
    states = asked.stdout.decode("ascii", "replace").split()
    return states[0] if states and not any(state in ALIVE for state in states) else None


def _run(program: str, *arguments: str, is_end_well: bool = False) -> Optional[str]:
    """What went wrong, or None. is_end_well: what was asked for ends this job, and the program with it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SCANCEL_")}
    try:
        child = subprocess.Popen(
            (program,) + arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=env,
        )
    except OSError as error:
        return "{}: {}".format(program, error.strerror)
    try:
        _, words = child.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        return "{}: no answer within {:g} s".format(program, TIMEOUT_S)
    if child.returncode == 0 or (is_end_well and child.returncode == -signal.SIGTERM):
        return None
    said = words.decode("utf-8", "replace").strip()[:300]
    return said or "{} ended with {}".format(program, child.returncode)
