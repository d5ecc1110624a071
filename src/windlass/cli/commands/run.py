"""`windlass run`: plan, check, ship, submit, follow."""

from dataclasses import replace
from typing import Any

import click

from windlass.app.logs import open_log
from windlass.cli.following import show_record_at_the_end, show_until_the_end
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, raw_option, setting_options, take_flags
from windlass.cli.output import Output
from windlass.cli.starting import submit
from windlass.errors import ExitCode


@click.command("run")
@on_option
@setting_options
@click.option("-d", "--detach", is_flag=True, help="Do not follow; print the run's name and return.")
@click.option("--force", is_flag=True, help="Submit although a check found errors.")
@click.option("--no-build", is_flag=True, help="Refuse where the environment is not built at the site yet.")
@raw_option
@click.pass_obj
def command(
    output: Output,
    /,
    site_name: str | None,
    detach: bool,
    force: bool,
    no_build: bool,
    raw: bool,
    **values: Any,
) -> int:
    """Plan, check, ship, submit and follow. Ctrl-C leaves the job alone and says so.

    An environment that is not built at the site yet is built first.
    With --json the final record is printed when the run has ended (with -d: the record of now).

    \b
    Examples:
      windlass run                      on this machine
      windlass run --on daint           on a supercomputer
      windlass run --on daint --time 3d --gpus 8
      windlass run --command "python3 train.py" -d
    """
    output.raw = raw
    wanted = replace(read_wanted(site_name, take_flags(values)), may_build=not no_build)
    with open_session(output) as session:
        record = submit(output, session, wanted, force=force)
        if detach:
            _show_detached(output, record.run_id, record)
            return int(ExitCode.OK)
        if output.as_json:
            return show_record_at_the_end(output, session, record)
        return show_until_the_end(output, session, record, open_log(session, record))


def _show_detached(output: Output, run_id: str, record: object) -> None:
    if output.as_json:
        output.show_json({"run": record})
        return
    output.show(run_id)
    output.tell(f"{'follow':<10} windlass logs -f {run_id}     stop: windlass cancel {run_id}")
