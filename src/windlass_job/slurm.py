"""What Slurm told this job about itself, and the two things we ask of it: signal our steps, cancel later links."""

import os
import socket
import subprocess
import time
from typing import Mapping, Optional

TIMEOUT_S = 20.0  # a client waits 9 s for a controller that is away


def read_job_id(env: Mapping[str, str]) -> Optional[str]:
    """As people write it: 45_1 for a task of an array. The plain number of one task is the array's own number."""
    if env.get("SLURM_ARRAY_JOB_ID") and env.get("SLURM_ARRAY_TASK_ID"):
        return "{}_{}".format(env["SLURM_ARRAY_JOB_ID"], env["SLURM_ARRAY_TASK_ID"])
    return env.get("SLURM_JOB_ID")


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
    return _run_scancel("--signal=" + signal_name, job)


def cancel_later_links(env: Mapping[str, str]) -> Optional[str]:
    """Those of our own array that still wait. What went wrong, or None."""
    array = env.get("SLURM_ARRAY_JOB_ID")
    number = read_number(env, "SLURM_ARRAY_TASK_ID", 0)
    last = read_number(env, "SLURM_ARRAY_TASK_MAX", 0)
    if not array or not 0 < number < last:
        return None
    return _run_scancel("{}_[{}-{}]".format(array, number + 1, last))


def _run_scancel(*arguments: str) -> Optional[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("SCANCEL_")}
    try:
        child = subprocess.Popen(
            ("scancel",) + arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=env,
        )
    except OSError as error:
        return "scancel: {}".format(error.strerror)
    try:
        _, words = child.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        return "scancel: no answer within {:g} s".format(TIMEOUT_S)
    if child.returncode == 0:
        return None
    said = words.decode("utf-8", "replace").strip()[:300]
    return said or "scancel ended with {}".format(child.returncode)
