"""`windlass data send` by other ways than ours, and `windlass data sends`: those that go on by themselves."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output

if TYPE_CHECKING:
    from windlass.app.data.sending import SendOptions
    from windlass.app.session import Session
    from windlass.core.site import Site


def send_otherwise(
    output: Output, session: "Session", site: "Site", source: Path, name: str, options: "SendOptions", way: str | None
) -> None:
    """way None: ours, in the background."""
    if way == "globus":
        _send_by_globus(output, session, site, source, name, options)
    elif way == "rsync":
        _send_by_rsync(output, session, site, source, name, options)
    else:
        from windlass.app.data.background_sends import start

        job = start(session, site, source, name, options)
        if output.as_json:
            output.show_json({"send": job})
            return
        output.show(job.id)
        output.tell(f"it goes on by itself; windlass data sends tells how far it is, its words are in {job.log}")


def _send_by_globus(
    output: Output, session: "Session", site: "Site", source: Path, name: str, options: "SendOptions"
) -> None:
    from windlass.app.data.globus_sends import globus_send
    from windlass.app.data.sending_otherwise import plan_carrying

    carrying = plan_carrying(site, source, name, options, "globus")
    task = globus_send(session, site, source, carrying.path)
    if output.as_json:
        output.show_json({"globus_task": task})
        return
    output.show(task)
    output.tell(f"Globus has it, and goes on by itself; windlass data sends tells how far it is, --stop {task} ends it")
    output.tell(f"when it is there: {carrying.then}")


def _send_by_rsync(
    output: Output, session: "Session", site: "Site", source: Path, name: str, options: "SendOptions"
) -> None:
    """The command, to be run by whoever wants it: its own words and passwords belong to that terminal."""
    from windlass.app.data.rsync_sends import make_rsync
    from windlass.app.data.sending_otherwise import plan_carrying
    from windlass.core.shell import quote_all

    carrying = plan_carrying(site, source, name, options, "rsync")
    argv = make_rsync(session, site, source, carrying.path)
    if output.as_json:
        output.show_json({"rsync": argv})
        return
    output.show(quote_all(argv))
    output.tell(f"run this; then: {carrying.then}")


@click.command("sends")
@click.option("--stop", "stop_id", metavar="ID", help="End this one; what arrived whole stays.")
@click.pass_obj
def sends(output: Output, /, stop_id: str | None) -> None:
    """List the sendings that go on by themselves.

    \b
    Examples:
      windlass data sends
      windlass data sends --stop 3f9a
    """
    from windlass.app.data.background_sends import list_sends, stop
    from windlass.cli.data_words import SENDS_HEAD, make_send_row

    with open_session(output) as session:
        if stop_id is not None:
            if stop(session, stop_id).state == "done":
                output.tell(f"{stop_id} was done before it could be stopped")
            else:
                output.tell(f"{stop_id} is stopped; what arrived whole stays, and sending again goes on from there")
        found = list_sends(session)
    if output.as_json:
        output.show_json({"sends": found})
        return
    if not found:
        output.tell("nothing is being sent")
        return
    output.show_table(SENDS_HEAD, [make_send_row(one) for one in found])


@click.command("globus-login")
@click.pass_obj
def globus_login(output: Output, /) -> None:
    """Log in to Globus once, in the browser.

    The address is shown here, and the code that Globus gives you is asked for here.
    """
    from windlass.app.data.globus_sends import globus_login as log_in

    def ask(address: str) -> str:
        output.tell(f"open this address, log in, and copy the code:\n{address}")
        return str(click.prompt("code", err=True))

    with open_session(output) as session:
        log_in(session, ask)
    output.tell("you are logged in to Globus; next: windlass data send FOLDER --with globus --on SITE")
