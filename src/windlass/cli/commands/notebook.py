"""`windlass notebook`: notebooks as batch jobs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, service_options, take_service_flags
from windlass.cli.output import Output
from windlass.errors import ExitCode

if TYPE_CHECKING:
    from windlass.app.planning import Planned


@click.group("notebook")
def command() -> None:
    """Notebooks as batch jobs. `windlass jupyter` opens them in a browser."""


@click.command("run")
@click.argument("notebook", type=click.Path(path_type=Path))
@on_option
@service_options
@click.option("-d", "--detach", is_flag=True, help="Do not follow; print the run's name and return.")
@click.option("--force", is_flag=True, help="Submit although a check found errors.")
@click.pass_obj
def run(output: Output, /, notebook: Path, site_name: str | None, detach: bool, force: bool, **values: Any) -> int:
    """Execute NOTEBOOK from its first cell to its last as one job, and bring the result home.

    It has the environment and size that windlass.toml and the flags say. The executed notebook comes into
    windlass-results/RUN, your own stays as it is. Where a cell fails, its number and traceback are told, and what was
    executed until then comes home too.

    \b
    Examples:
      windlass notebook run explore.ipynb --on wilson --gpus 1 --time 1h
    """
    from windlass.app.logs import open_log
    from windlass.app.services.notebooks import INSTALL, MODULES, PACKAGE, bring_home, find_failure, want_execution
    from windlass.app.services.software import check_software
    from windlass.cli.following import show_until_the_end
    from windlass.cli.starting import submit

    with open_session(output) as session:
        wanted = want_execution(
            read_wanted(site_name, take_service_flags(values, hint="windlass run --command LINE")), notebook
        )

        def check(planned: "Planned") -> None:
            check_software(session, planned, PACKAGE, modules=MODULES, install=INSTALL)

        record = submit(output, session, wanted, force=force, check=check)
        if detach:
            output.show_json({"run": record}) if output.as_json else output.show(record.run_id)
            return int(ExitCode.OK)
        show_until_the_end(output, session, record, open_log(session, record), is_fetched=True)
        record = session.store.load(record.run_id)
        home = bring_home(session, record)
        failure = find_failure(session, record)
        if failure is not None:
            output.tell(f"as far as it came: {home}")
            raise failure
    if output.as_json:
        output.show_json({"run": record, "notebook": str(home)})
    else:
        output.show(str(home))
    return int(ExitCode.OK)


command.add_command(run)
