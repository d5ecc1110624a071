"""`windlass plan`: the script, where it goes, what it costs, what is wrong; nothing is sent."""

from typing import Any

import click

from windlass.app.planning import Planned, plan_run
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, setting_options, take_flags
from windlass.cli.output import Output
from windlass.cli.words import format_cost, format_findings, format_size, format_time
from windlass.core.units import format_bytes
from windlass.errors import ExitCode


@click.command("plan")
@on_option
@setting_options
@click.option("--script", "only_script", is_flag=True, help="Only the job script, on stdout.")
@click.pass_obj
def command(output: Output, /, site_name: str | None, only_script: bool, **values: Any) -> int:
    """Show what `windlass run` would submit. Nothing is sent.

    \b
    Examples:
      windlass plan
      windlass plan --on daint --nodes 2 --time 3d
      windlass plan --on daint --script > job.sh
    """
    wanted = read_wanted(site_name, take_flags(values))
    with open_session(output) as session:
        planned = plan_run(session, wanted, offline_ok=True)
    if output.as_json:
        output.show_json({"plan": planned.plan, "script": planned.script, "findings": planned.findings})
    elif only_script:
        output.show(planned.script)
    else:
        _show(output, planned)
    return int(ExitCode.CHECK_FAILED if planned.errors else ExitCode.OK)


def _show(output: Output, planned: Planned) -> None:
    plan = planned.plan
    if planned.note:
        output.tell(f"note: {planned.note}")
    for notice in planned.snapshot.notices:
        output.tell(f"note: {notice}")
    files = len(planned.snapshot.manifest.files)
    output.show(planned.script)
    facts = (
        ("where", f"{plan.site}, partition {plan.partition or 'the default'}, account {plan.account or 'the default'}"),
        ("size", format_size(plan)),
        ("time", format_time(plan)),
        ("cost", format_cost(plan.cost)),
        ("files", f"{files} files, {format_bytes(planned.snapshot.total_bytes)} to {plan.folder}"),
    )
    for name, value in facts:
        output.tell(f"{name:<10} {value}")
    for reason in plan.reasons:
        output.tell(f"{'chosen':<10} {reason.field} = {reason.value}: {reason.why}")
    for line in format_findings(planned.findings):
        output.tell(line)
    output.tell("nothing was sent")
