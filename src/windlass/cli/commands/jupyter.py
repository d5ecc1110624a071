"""`windlass jupyter`: JupyterLab on a compute node, in the browser of this machine."""

from typing import TYPE_CHECKING, Any

import click

from windlass.cli.foreground import States, ended_by_signals
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import on_option, service_options, take_service_flags
from windlass.cli.output import Output
from windlass.cli.services import idle_option, read_idle
from windlass.errors import ExitCode, Interrupted, UsageError

if TYPE_CHECKING:
    from windlass.app.planning import Planned, Wanted
    from windlass.app.services.jupyter import Access, Lab
    from windlass.app.session import Session
    from windlass.core.record import RunRecord


@click.command("jupyter")
@click.argument("run", required=False)
@on_option
@service_options
@idle_option("End it when no cell ran for so long;")
@click.option(
    "--port", type=click.IntRange(1, 65_535), metavar="PORT", help="Of this machine; default: 8888, or what is free."
)
@click.option("--browser", is_flag=True, help="Open the page in the browser.")
@click.option("--folder", metavar="PATH", help="At the site, what JupyterLab shows; default: the run's own folder.")
@click.option(
    "--listen",
    type=click.Choice(["loopback", "node"]),
    default="loopback",
    show_default=True,
    help="node: where no step can be added to a job.",
)
@click.option("-d", "--detach", is_flag=True, help="Only submit; `windlass jupyter RUN` opens it later.")
@click.option("--force", is_flag=True, help="Submit although a check found errors.")
@click.pass_obj
def command(
    output: Output,
    /,
    run: str | None,
    site_name: str | None,
    idle: str,
    port: int | None,
    browser: bool,
    folder: str | None,
    listen: str,
    detach: bool,
    force: bool,
    **values: Any,
) -> int:
    """Start JupyterLab as a job in the environment of this project, and open a tunnel to it. With RUN: come back to it.

    One node and at most one GPU unless you say more, and 2 hours unless --time says otherwise. Its token is in a file
    that only you can read. Ctrl-C closes the tunnel; the job goes on, and what it costs is told. It is warned and then
    ended when no cell has run for --idle.

    \b
    Examples:
      windlass jupyter --on wilson --gpus 1 --time 2h
      windlass jupyter --on wilson --browser --idle 1h
      windlass jupyter jupyter-k3f9w                   come back to it, from anywhere
    """
    from windlass.app.services.jupyter import Lab

    flags = take_service_flags(values, hint="windlass run --command LINE")
    if run and (site_name or flags or detach):
        raise UsageError("RUN is there already, with its site and size: name either RUN, or --on and its flags")
    with open_session(output) as session, ended_by_signals():
        if run:
            record = session.store.load(run)
        else:
            lab = Lab(idle=read_idle(idle), listen=listen, folder=folder)
            record = _start(output, session, read_wanted(site_name, flags), lab, force=force)
        if detach:
            output.show_json({"run": record}) if output.as_json else output.show(record.run_id)
            output.tell(f"open it: windlass jupyter {record.run_id}     stop it: windlass cancel {record.run_id}")
            return int(ExitCode.OK)
        return _keep(output, session, record, port=port, browser=browser)


def _start(output: Output, session: "Session", wanted: "Wanted", lab: "Lab", *, force: bool) -> "RunRecord":
    from windlass.app.services.jupyter import PACKAGE, want_lab
    from windlass.app.services.software import check_software
    from windlass.cli.starting import submit
    from windlass.core.services.rules import check_interactive

    def check(planned: "Planned") -> None:
        check_interactive(planned.site, nodes=planned.plan.nodes, what="a notebook")
        check_software(session, planned, PACKAGE, modules=(PACKAGE,))

    return submit(output, session, want_lab(wanted, lab), force=force, check=check)


def _keep(output: Output, session: "Session", record: "RunRecord", *, port: int | None, browser: bool) -> int:
    from windlass.app.plans import load_plan
    from windlass.app.services.jupyter import Access
    from windlass.app.services.keeping import Keeper
    from windlass.cli.browser import open_browser
    from windlass.cli.service_words import format_leaving
    from windlass.edges.local_ports import Seen

    access = Access(session, wanted=port, tell=output.tell)
    plan = load_plan(session, record)

    def show(seen: Seen, local: int) -> None:
        address = access.make_address(local)
        if output.as_json:
            output.show_json({"run_id": record.run_id, "address": address, "port": local})
        else:
            output.show(address)
        output.tell("Ctrl-C closes the tunnel; the notebook goes on")
        if browser:
            open_browser(output, address)

    keeper = Keeper(
        session, record, access.connect, show=show, hear=States(output).tell, look=access.look, probe=access.probe
    )
    try:
        ended = keeper.keep()
    except KeyboardInterrupt:
        done = "\n  ".join(format_leaving(keeper.record, plan, access.card, now=session.clock()))
        raise Interrupted("the tunnel is closed", done=done) from None
    return _show_end(output, session, ended, access)


def _show_end(output: Output, session: "Session", ended: "RunRecord", access: "Access") -> int:
    from windlass.app.services.cards import load_card
    from windlass.app.services.software import make_missing
    from windlass.cli.words import format_end
    from windlass.core.record import RunState

    card = load_card(session, ended) or access.card
    if card is not None and card.state == "failed":
        raise make_missing(session, ended, card)
    why = f" ({card.warning})" if card is not None and card.state == "idle" else ""
    output.tell(f"{format_end(ended)}{why}; the tunnel is closed")
    output.tell(f"notebooks you changed: windlass fetch {ended.run_id}")
    return int(ExitCode.OK if ended.state in (RunState.DONE, RunState.OUT_OF_TIME) else ExitCode.JOB_FAILED)
