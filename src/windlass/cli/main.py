"""The entry point: finds the command, loads only its module, and turns errors into words and exit codes."""

import contextlib
import errno
import importlib
import os
import sys
from typing import NoReturn

import click

from windlass import __version__
from windlass.cli.output import Output
from windlass.errors import ExitCode, Interrupted, OutputLost, UsageError, WindlassError

_SHOWN = 80  # characters of a path that is too long

# name -> (module in cli/commands, one line for `windlass --help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Look at this project and write a windlass.toml."),
    "plan": ("plan", "Show the script, where it goes, what it costs, what is wrong. Sends nothing."),
    "rehearse": ("rehearse", "Run the script made for a site here, under its rules, and list what would fail."),
    "run": ("run", "Plan, check, ship, submit and follow."),
    "farm": ("farm", "Run many tasks in a few jobs: thousands of commands without a thousand jobs."),
    "sweep": ("sweep", "Try many values of a command in a few jobs, and find the best."),
    "ps": ("ps", "List runs and where they stand."),
    "logs": ("logs", "Show what a run printed."),
    "top": ("top", "Watch runs, queue, gauges and logs in this terminal."),
    "dash": ("dash", "Open the dashboard: runs, logs, chains and charts as pages on this machine."),
    "explain": ("explain", "Say why a run or a job waits or ended, or what a code means."),
    "ticket": ("ticket", "Bundle a run for the centre's support desk, without secrets."),
    "report": ("report", "Say what a run asked for and used, and what to change."),
    "wait": ("wait", "Wait until runs end; exit code 7 when one failed, 1 when only tasks of a farm did."),
    "watch": ("watch", "Stay, and tell when runs start, end, fail or stall."),
    "note": ("note", "A word about a run, kept with it."),
    "cancel": ("cancel", "Take runs out of the queue."),
    "resume": ("resume", "Go on with a run from its checkpoints."),
    "fetch": ("fetch", "Bring a run's results home."),
    "sync": ("sync", "Bring what experiment trackers wrote here, and send it on."),
    "shell": ("shell", "Open a shell on a compute node, or beside a training."),
    "tensorboard": ("tensorboard", "Show the event files of runs in TensorBoard, live."),
    "jupyter": ("jupyter", "Run JupyterLab on a compute node, in the browser of this machine."),
    "notebook": ("notebook", "Execute a notebook as a batch job, and bring the result home."),
    "tunnel": ("tunnel", "Reach a port on the node of a run from this machine."),
    "rm": ("rm", "Remove runs, at the site and here."),
    "data": ("data", "Pack data sets, bring them to a site, look after them there."),
    "env": ("env", "Build the environment of a run at a site, list and remove what was built."),
    "container": ("container", "Open a shell in a container; list, verify and clean a site's images."),
    "modules": ("modules", "Find a site's modules, with all that must be loaded before."),
    "wheels": ("wheels", "Look into a site's wheelhouse: what is there of what you ask for."),
    "prefetch": ("prefetch", "Fetch weights and data sets for nodes without internet, and try them offline."),
    "login": ("login", "Open one shared ssh connection to a site."),
    "logout": ("logout", "Close the connection to a site."),
    "sites": ("sites", "List the sites."),
    "budget": ("budget", "Show hours used and left, by run and person, and when they end."),
    "quota": ("quota", "Show storage areas, what is large in them, and what will be purged."),
    "queues": ("queues", "List a site's partitions and what is free now."),
    "site": ("site", "Add, discover, show or check a site."),
    "doctor": ("doctor", "Look whether this laptop, or a site, is ready."),
    "lint": ("lint", "Look through sbatch scripts as sbatch reads them."),
    "adopt": ("adopt", "Turn an sbatch script into a windlass.toml."),
    "config": ("config", "Show every setting of the run, and where it came from."),
    "pocket": ("pocket", "Slurm for one machine: sbatch, srun, squeue and their kin."),
    "completion": ("completion", "Print a completion script for your shell."),
}


class LazyGroup(click.Group):
    """Imports a command's module only when it is called, so that start-up stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"windlass.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            raise UsageError(
                f"there is no command {name!r}",
                hint=f"did you mean `windlass {close[0]}`?" if close else "windlass --help",
            )
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", message="windlass %(version)s")
@click.option("--json", "as_json", is_flag=True, help="Data as one JSON document on stdout.")
@click.option("--plain", is_flag=True, help="No colour, one fact a line.")
@click.option("-q", "--quiet", is_flag=True, help="Only data and errors.")
@click.pass_context
def windlass(ctx: click.Context, as_json: bool, plain: bool, quiet: bool) -> None:
    """Take a training from this machine to any Slurm supercomputer, and its results home.

    \b
    First steps:
      windlass init               look at this project and write windlass.toml
      windlass run                run it here, on this machine
      windlass run --on SITE      run it on a supercomputer
    """
    output: Output = ctx.obj
    output.configure(as_json=as_json or output.as_json, plain=plain, quiet=quiet)


def main(argv: list[str] | None = None) -> None:
    """Never a traceback for what a user can cause; a bug keeps its traceback."""
    arguments = sys.argv[1:] if argv is None else argv
    # `windlass ps --json` is what people type: the global flag is taken wherever it stands.
    before_dashes = arguments[: arguments.index("--")] if "--" in arguments else arguments
    is_foreign = bool(arguments) and arguments[0] == "pocket"
    output = Output(as_json="--json" in before_dashes and not is_foreign)
    if output.as_json:
        position = arguments.index("--json")
        arguments = arguments[:position] + arguments[position + 1 :]
    code = _run(arguments, output)
    if argv is None:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> NoReturn:
    """At once: Python would first take all modules apart, an eighth of the time of `windlass ps --cached`."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, AttributeError):  # nobody reads it any more, or it was closed from the start
            stream.flush()
    os._exit(code)


def _run(arguments: list[str], output: Output) -> int:
    try:
        code = windlass.main(args=arguments, prog_name="windlass", standalone_mode=False, obj=output)
    except WindlassError as error:
        _show_error(output, error)
        return int(error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        output.show(error.format_message())
        return int(ExitCode.USAGE)
    except click.UsageError as error:
        context = error.ctx.command_path if error.ctx else "windlass"
        output.show_error(UsageError(error.format_message(), hint=f"{context} --help"))
        return int(ExitCode.USAGE)
    except click.exceptions.Exit as exit_:
        return int(exit_.exit_code)
    except (click.Abort, KeyboardInterrupt):
        output.show_error(Interrupted("interrupted"))
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader (`| head`) went away: not our problem, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # Path.exists() and is_dir() raise it, wherever an argument is looked at
            _show_error(output, _make_too_long(error))
            return int(ExitCode.USAGE)
        if error.errno not in (errno.ENOSPC, errno.EBADF, errno.EIO):
            raise
        _show_error(output, OutputLost(f"the answer could not be written: {error.strerror}"))  # click's own help
        return int(ExitCode.FAILED)
    return code if isinstance(code, int) else int(ExitCode.OK)


def _make_too_long(error: OSError) -> UsageError:
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes, os.PathLike)) else ""
    shown = f"{name[:_SHOWN]}…" if len(name) > _SHOWN else name
    return UsageError(f"a path of {len(name):,} characters is too long here: {shown}")


def _show_error(output: Output, error: WindlassError) -> None:
    """With --json errors go to stdout, which may be what is broken."""
    try:
        output.show_error(error)
    except OutputLost:
        output.as_json = False
        output.show_error(error)
