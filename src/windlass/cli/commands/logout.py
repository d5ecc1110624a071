"""`windlass logout`: close the connection Windlass opened."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output


@click.command("logout")
@click.argument("site_name", metavar="SITE")
@click.pass_obj
def command(output: Output, /, site_name: str) -> None:
    """Close the shared connection to SITE. Jobs there go on."""
    from windlass.app.sites import log_out

    with open_session(output) as session:
        closed = log_out(session, site_name)
    if output.as_json:
        output.show_json({"closed": closed})
    output.tell("closed; jobs go on" if closed else "there was no connection of ours to close")
