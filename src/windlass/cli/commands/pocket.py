"""`windlass pocket`: Slurm's commands on this machine, without Slurm."""

import os
import subprocess

import click

from windlass.cli.output import Output
from windlass.edges.folders import find_folders
from windlass.errors import UsageError


@click.command("pocket", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(output: Output, /, arguments: tuple[str, ...]) -> int:
    """Run one of Slurm's commands on this machine: sbatch srun salloc squeue sacct scancel scontrol sinfo.

    \b
    Examples:
      windlass pocket sbatch job.sh      run a script written for Slurm
      windlass pocket squeue
      eval "$(windlass pocket path)"     put the commands on PATH of this shell
    """
    from windlass.app.session import find_pocket_folder
    from windlass.pocket.programs import PROGRAMS, ensure_bin

    folder = ensure_bin(find_pocket_folder(find_folders(os.environ), os.environ))
    if not arguments or arguments[0] in ("-h", "--help"):
        click.echo(command.get_help(click.get_current_context()))
        return 0
    if arguments[0] == "path":
        output.show(f'export PATH="{folder}:$PATH"')
        return 0
    if arguments[0] not in PROGRAMS:
        raise UsageError(f"pocket has no {arguments[0]!r}; it has {' '.join(PROGRAMS)}", hint="windlass pocket --help")
    return subprocess.run([folder / arguments[0], *arguments[1:]], check=False).returncode
