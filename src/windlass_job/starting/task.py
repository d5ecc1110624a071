"""The first process of every task that srun starts: gives the command its rank, and hands on the signal to stop.

srun signals only a task's first process. Were that a shell, it would die and take the training with it, unsaved.
"""

import argparse
import signal
from typing import Mapping, Optional

from windlass_job import wire
from windlass_job.bounded import describe, say
from windlass_job.command import TASK_SIGNAL, Command, as_exit_code, follow
from windlass_job.signals import Signals, read_signal
from windlass_job.starting.meeting import meet
from windlass_job.starting.ranks import make_ranks, make_rendezvous
from windlass_job.starting.worlds import BEFORE_THE_START, WORLDS


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stop-signal", default="TERM", help="what the command gets when the task is told to stop")
    parser.add_argument("--world", choices=sorted(WORLDS), help="a framework that reads variables of its own")
    parser.add_argument("--fence-interval", type=float, default=30.0, help="seconds between two looks at the claims")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    stop = read_signal(options.stop_signal)
    signals = Signals(notice=TASK_SIGNAL, cancel={signal.SIGTERM, signal.SIGINT, signal.SIGHUP, stop})
    made = make_rendezvous(env)
    made.update(env)
    made.update(make_ranks(env))
    if options.world:
        made.update(WORLDS[options.world](made))
    problem = _get_ready(options.world, made, signals)
    if problem:
        say(problem)
        return wire.EXIT_NOT_STARTED
    try:
        command = Command(options.command, made)
    except (OSError, ValueError) as error:
        say("cannot start {}: {}".format(options.command[0], describe(error)))
        return wire.EXIT_NOT_STARTED
    from windlass_job.fence import watch_as_task  # imported while the command starts, not before

    fence = watch_as_task(env, options.fence_interval, signals.wake)
    code = follow(command, signals, stop, lambda: fence is not None and fence.lost_to is not None)
    if fence is not None and fence.lost_to is not None:
        say("another job has taken over this run: its processes here were stopped")
        return wire.EXIT_FENCED_OFF
    # `srun --kill-on-bad-exit` would kill those that still save when one has ended as it was told to.
    # One that leaves with 128 + the signal says the same in its own words.
    return 0 if command.is_asked_to_stop and code in (-stop, 128 + stop) else as_exit_code(code)


def _get_ready(world: Optional[str], env: Mapping[str, str], signals: Signals) -> Optional[str]:
    """What keeps the ranks from finding each other, in words; None when nothing does."""
    prepare = BEFORE_THE_START.get(world or "")
    problem = prepare(env) if prepare is not None else None
    return problem or meet(env, lambda: signals.is_noticed or signals.is_cancelled)
