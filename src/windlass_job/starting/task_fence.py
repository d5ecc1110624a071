"""Beside the program of a task that `task.sh` started: ends it when another job has taken over the run.

The node of a task may be cut off alone, so that nobody can tell it that its job was given up.
"""

import argparse
import os
import signal
import threading
from typing import Mapping

from windlass_job import wire
from windlass_job.bounded import say
from windlass_job.fence import watch_as_task

LOOK_S = 5.0  # whether the program still runs


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--interval", type=float, default=30.0, help="seconds between two looks at the claims")
    parser.add_argument("pid", type=int, help="the program, which leads a process group of its own")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    is_lost = threading.Event()
    fence = watch_as_task(env, options.interval, is_lost.set)
    while fence is not None and not is_lost.wait(LOOK_S):
        if not _is_alive(options.pid):
            return 0
    if fence is None or not _is_alive(options.pid):
        return 0
    say("another job has taken over this run: its processes here are stopped")
    os.killpg(options.pid, signal.SIGKILL)
    return wire.EXIT_FENCED_OFF


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
