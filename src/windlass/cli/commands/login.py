"""`windlass login`: one shared ssh connection."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output


@click.command("login")
@click.argument("site_name", metavar="SITE")
@click.pass_obj
def command(output: Output, /, site_name: str) -> None:
    """Open one shared ssh connection to SITE. Passwords and second factors are asked here, by ssh itself, once."""
    from windlass.app.sites import log_in

    with open_session(output) as session:
        site = log_in(session, site_name)
    if output.as_json:
        output.show_json({"site": site.name})
    output.tell(f"logged in to {site.name}; close with: windlass logout {site.name}")
