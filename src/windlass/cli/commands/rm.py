"""`windlass rm`: remove runs."""

import sys
from collections.abc import Sequence

import click

from windlass.app.session import Session
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
    from windlass.app.removing import forget_run

    with open_session(output) as session:
        if keep_folder:
            removed = [forget_run(session, name) for name in runs]
        else:
            records = _leave_out_pilots([session.store.load(name) for name in runs])
            if not yes:
                _ask(records)
            removed = []
            for record in records:
                for one in _remove(session, record):
                    output.tell(f"{one.folder} at {one.site} is gone")
                    removed.append(one.run_id)
    for run_id in removed:
        output.tell(f"removed {run_id}")
    if output.as_json:
        output.show_json({"removed": removed})


def _leave_out_pilots(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Of farms that are named too."""
    ids = {one.run_id for one in records}
    return [one for one in records if one.farm in (None, one.run_id) or one.farm not in ids]


def _remove(session: Session, record: RunRecord) -> list[RunRecord]:
    """A farm goes with all its pilots, and none of them without it: it names them."""
    from windlass.app.removing import remove_run

    if record.farm is None or not _is_known(session, record.farm):
        remove_run(session, record)
        return [record]
    if record.farm != record.run_id:
        raise UsageError(f"run {record.run_id} is a pilot of a farm", hint=f"windlass rm {record.farm}")
    from windlass.app.farms.ending import remove_farm

    return remove_farm(session, record)


def _is_known(session: Session, run_id: str) -> bool:
    return any(one.run_id == run_id for one in session.store.list(limit=None, query=run_id))


def _ask(records: Sequence[RunRecord]) -> None:
    if not sys.stdin.isatty():
        raise UsageError("this removes results for good, and nobody is there to ask", hint="add --yes")
    names = ", ".join(record.run_id for record in records)
    click.confirm(f"Remove {names} with everything in its folder?", abort=True, err=True)
