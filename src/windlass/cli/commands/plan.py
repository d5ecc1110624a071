"""`windlass plan`: the script, where it goes, what it costs, what is wrong; nothing is sent."""

from typing import Any

import click

from windlass.app.planning import Planned, plan_run
from windlass.cli.estimates import estimate_start, show_estimates
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, setting_options, take_flags
from windlass.cli.output import Output
from windlass.cli.words import (
    format_cost,
    format_findings,
    format_launcher,
    format_network_test,
    format_place,
    format_runner_up,
    format_size,
    format_time,
)
from windlass.core.units import format_bytes
from windlass.errors import ExitCode


@click.command("plan")
@on_option
@setting_options
@click.option("--script", "only_script", is_flag=True, help="Only the job script, on stdout.")
@click.option("--estimate/--no-estimate", default=True, help="Ask Slurm when it would start, and cheaper variants.")
@click.pass_obj
def command(output: Output, /, site_name: str | None, only_script: bool, estimate: bool, **values: Any) -> int:
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
        estimates = estimate_start(output, session, planned) if estimate and not only_script else None
    if output.as_json:
        told = {"plan": planned.plan, "script": planned.script, "findings": planned.findings, "estimates": estimates}
        output.show_json(told)
    elif only_script:
        output.show(planned.script)
        _tell_notes(output, planned)
    else:
        _show(output, planned)
        show_estimates(output, estimates)
        output.tell("nothing was sent")
    return int(ExitCode.CHECK_FAILED if planned.errors else ExitCode.OK)


def _show(output: Output, planned: Planned) -> None:
    plan = planned.plan
    files = len(planned.snapshot.manifest.files)
    output.show(planned.script)
    _tell_notes(output, planned)
    for notice in planned.snapshot.notices:
        output.tell(f"note: {notice}")
    facts = (
        ("where", format_place(plan)),
        *((("second", format_runner_up(plan.runner_up)),) if plan.runner_up else ()),
        ("size", format_size(plan)),
        ("launcher", format_launcher(plan)),
        ("network", format_network_test(plan)),
        ("time", format_time(plan)),
        ("cost", format_cost(plan.cost, planned.facts.balance(plan.account))),
        ("files", f"{files} files, {format_bytes(planned.snapshot.total_bytes)} to {plan.folder}"),
    )
    for name, value in facts:
        if value:
            output.tell(f"{name:<10} {value}")
    for reason in plan.reasons:
        output.tell(f"{'chosen':<10} {reason.field} = {reason.value}: {reason.why}")
    for line in format_findings(planned.findings):
        output.tell(line)


def _tell_notes(output: Output, planned: Planned) -> None:
    if planned.note:
        output.tell(f"note: {planned.note}")
    if planned.variables:
        names = ", ".join(planned.variables)
        output.tell(f"note: the script is a preview: {names} will be filled in when {planned.site.name} is reached")
