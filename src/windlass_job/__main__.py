"""The command line of the zip in the job."""

import argparse
import os
import sys
from typing import Optional, Sequence

from windlass_job import agent, gauges, probe, task, wire

COMMANDS = {
    "agent": (agent, "run COMMAND as this job"),
    wire.RANK_ENV: (task, "run COMMAND as a task of srun, with its rank"),
    "gauges": (gauges, "sample this node until stopped"),
    "probe": (probe, "tell what this node is like"),
}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="windlass_job")
    parser.add_argument("--version", action="version", version="windlass_job protocol {}".format(wire.PROTOCOL))
    subparsers = parser.add_subparsers(dest="name", metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        module.add_options(subparsers.add_parser(name, help=text))
    options = parser.parse_args(arguments)
    if options.name is None:
        parser.error("which command?")
    _drop_separator(options, parser)
    code: int = COMMANDS[options.name][0].run(options, os.environ)
    return code


def _drop_separator(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    words = getattr(options, "command", None)
    if words is None:
        return
    options.command = words[1:] if words[:1] == ["--"] else words
    if not options.command:
        parser.error("the command is missing: {} -- COMMAND".format(options.name))


def leave(code: int) -> None:
    """Without waiting for threads that hang in a dead file system."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)


if __name__ == "__main__":
    leave(main())
