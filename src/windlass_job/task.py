"""The first process of every task that srun starts: gives the command its rank, and hands on the signal to stop.

srun signals only a task's first process. Were that a shell, it would die and take the training with it, unsaved.
"""

import argparse
import signal
from typing import Mapping

from windlass_job import wire
from windlass_job.bounded import describe, say
from windlass_job.command import TASK_SIGNAL, Command, as_exit_code, follow
from windlass_job.ranks import make_ranks, make_rendezvous
from windlass_job.signals import Signals, read_signal


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stop-signal", default="TERM", help="what the command gets when the task is told to stop")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    stop = read_signal(options.stop_signal)
    signals = Signals(notice=TASK_SIGNAL, cancel={signal.SIGTERM, signal.SIGINT, signal.SIGHUP, stop})
    made = make_rendezvous(env)
    made.update(env)
    made.update(make_ranks(env))
    try:
        command = Command(options.command, made)
    except (OSError, ValueError) as error:
        say("cannot start {}: {}".format(options.command[0], describe(error)))
        return wire.EXIT_NOT_STARTED
    code = follow(command, signals, stop)
    # `srun --kill-on-bad-exit` would kill those that still save when one has ended as it was told to.
    return 0 if command.is_asked_to_stop and code == -stop else as_exit_code(code)
