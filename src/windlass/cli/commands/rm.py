"""`windlass rm`: remove runs."""

import sys
from collections.abc import Sequence

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.record import RunRecord
from windlass.errors import UsageError


@click.command("rm")
@click.argument("runs", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--keep-folder", is_flag=True, help="Only forget it here; leave the folder at the site.")
@click.pass_obj
def command(output: Output, /, runs: tuple[str, ...], yes: bool, keep_folder: bool) -> None:
    """Remove RUNS: the folder at the site with all results, and the entry here."""
    from windlass.app.removing import forget_run, remove_run

    with open_session(output) as session:
        if keep_folder:
            removed = [forget_run(session, name) for name in runs]
        else:
            records = [session.store.load(name) for name in runs]
            if not yes:
                _ask(records)
            for record in records:
                remove_run(session, record)
                output.tell(f"{record.folder} at {record.site} is gone")
            removed = [record.run_id for record in records]
    for run_id in removed:
        output.tell(f"removed {run_id}")
    if output.as_json:
        output.show_json({"removed": removed})


def _ask(records: Sequence[RunRecord]) -> None:
    if not sys.stdin.isatty():
        raise UsageError("this removes results for good, and nobody is there to ask", hint="add --yes")
    names = ", ".join(record.run_id for record in records)
    click.confirm(f"Remove {names} with everything in its folder?", abort=True, err=True)
