"""`windlass run`: plan, check, ship, submit, follow."""

from dataclasses import replace
from typing import Any

import click

from windlass.app.logs import open_log
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.cli.following import show_record_at_the_end, show_until_the_end
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, setting_options, take_flags
from windlass.cli.output import Output
from windlass.cli.progress import Progress
from windlass.cli.words import format_cost, format_findings, format_size, format_time
from windlass.core.units import format_bytes
from windlass.errors import ExitCode


@click.command("run")
@on_option
@setting_options
@click.option("-d", "--detach", is_flag=True, help="Do not follow; print the run's name and return.")
@click.option("--force", is_flag=True, help="Submit although a check found errors.")
@click.option("--no-build", is_flag=True, help="Refuse where the environment is not built at the site yet.")
@click.pass_obj
def command(output: Output, /, site_name: str | None, detach: bool, force: bool, no_build: bool, **values: Any) -> int:
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
    wanted = replace(read_wanted(site_name, take_flags(values)), may_build=not no_build)
    with open_session(output) as session:
        planned = plan_run(session, wanted)
        if planned.environment is not None:
            planned = _ensure_environment(output, session, wanted, planned, force=force)
        _tell_plan(output, planned)
        with Progress(output, "sending") as progress:
            record = start_run(session, planned, force=force, progress=progress.update)
        output.tell(f"{'submitted':<10} run {record.run_id}, job {record.job_id} at {record.site}")
        if detach:
            _show_detached(output, record.run_id, record)
            return int(ExitCode.OK)
        if output.as_json:
            return show_record_at_the_end(output, session, record)
        return show_until_the_end(output, session, record, open_log(session, record))


def _ensure_environment(output: Output, session: Session, wanted: Wanted, planned: Planned, *, force: bool) -> Planned:
    from windlass.app.environments.ensuring import ensure_environment
    from windlass.cli.env_words import BuildLines

    with BuildLines(output) as lines:
        return ensure_environment(session, wanted, planned, force=force, progress=lines.update)


def _tell_plan(output: Output, planned: Planned) -> None:
    plan, snapshot = planned.plan, planned.snapshot
    for notice in snapshot.notices:
        output.tell(f"{'note':<10} {notice}")
    for line in format_findings([one for one in planned.findings if one not in planned.errors]):
        output.tell(line)
    for reason in plan.reasons:
        if reason.is_cut:
            output.tell(f"{'note':<10} {reason.field} = {reason.value}: {reason.why}")
    output.tell(f"{'planned':<10} {format_size(plan)}, {format_time(plan)}; {format_cost(plan.cost)}")
    if not planned.errors:
        output.tell(f"{'sending':<10} {len(snapshot.manifest.files)} files, {format_bytes(snapshot.total_bytes)}")


def _show_detached(output: Output, run_id: str, record: object) -> None:
    if output.as_json:
        output.show_json({"run": record})
        return
    output.show(run_id)
    output.tell(f"{'follow':<10} windlass logs -f {run_id}     stop: windlass cancel {run_id}")
