"""A word that only the processes of this job know: in the environment, which nobody else can read."""

import argparse
import os
from typing import Mapping

from windlass_job import wire
from windlass_job.bounded import describe, say


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("variable", help="the variable that COMMAND finds it in")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    made = dict(env)
    made[options.variable] = os.urandom(24).hex()
    try:
        os.execvpe(options.command[0], options.command, made)
    except OSError as error:
        say("cannot start {}: {}".format(options.command[0], describe(error)))
        return wire.EXIT_NOT_STARTED
