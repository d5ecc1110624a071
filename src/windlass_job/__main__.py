"""The command line of the zip in the job."""

import argparse
import importlib
import os
import sys
from typing import Dict, Optional, Sequence, Tuple

from windlass_job import wire

# Only the module that is asked for is imported: a zip is compiled anew at every start, on every node.
COMMANDS: Dict[str, Tuple[str, str]] = {
    "agent": ("agent.agent", "run COMMAND as this job"),
    wire.RANK_ENV: ("starting.task", "run COMMAND as a task of srun, with its rank"),
    wire.TASK_FENCE: ("starting.task_fence", "end the program of a task when another job has taken over its run"),
    wire.MPI: ("starting.mpi", "run COMMAND, an srun, with the --mpi= that works here"),
    wire.MPS: ("starting.mps", "run copies of COMMAND that share a GPU"),
    wire.SECRET: ("starting.secret", "run COMMAND with a word that only this job knows"),
    wire.SPARK: ("starting.spark", "be this node's part of a Spark cluster, and run COMMAND on the first"),
    wire.NETWORK_TASK: ("network.testing", "talk to the other nodes of this job, and tell how that went"),
    wire.STAGE_NODE: ("staging.keeping", "hold the data of this job on this node, until the input ends"),
    wire.GAUGES_VERB: ("gauging.sampling", "sample this node until the input ends"),
    wire.SHELL: ("serving.shell", "run COMMAND at a terminal, and end it when nobody uses it"),
    wire.TIED: ("serving.tied", "run COMMAND, and end it when its connection is gone"),
    wire.NOTEBOOK: ("serving.notebook", "execute a notebook"),
    wire.JUPYTER: ("serving.jupyter", "run JupyterLab, and end it when nobody uses it"),
    wire.WORK_VERB: ("working.behind", "do what takes long, on a login node or in a job"),
    wire.FARM_VERB: ("farming.piloting", "run tasks of a farm on this node"),
    wire.CALLS_VERB: ("farming.callee", "run calls of a farm, one after another"),
    "probe": ("probe", "tell what this node is like"),
}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="windlass_job")
    parser.add_argument("--version", action="version", version="windlass_job protocol {}".format(wire.PROTOCOL))
    subparsers = parser.add_subparsers(dest="name", metavar="COMMAND")
    asked = words[0] if words else ""
    for name, (module, text) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=text)
        if name == asked:
            importlib.import_module("windlass_job." + module).add_options(subparser)
    options = parser.parse_args(words)
    if options.name is None:
        parser.error("which command?")
    _drop_separator(options, parser)
    code: int = importlib.import_module("windlass_job." + COMMANDS[options.name][0]).run(options, os.environ)
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
