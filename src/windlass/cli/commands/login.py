"""`windlass login`: one shared ssh connection."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output


@click.command("login")
@click.argument("site_name", metavar="SITE")
@click.pass_obj
def command(output: Output, /, site_name: str) -> None:
    """Open one shared ssh connection to SITE. Passwords and second factors are asked here, by ssh itself, once."""
    from windlass.app.own_sites import note_login
    from windlass.app.sites import log_in
    from windlass.app.watching.logins import note_login_end_now
    from windlass.app.watching.looking import forget_problems

    with open_session(output) as session:
        site = log_in(session, site_name)
        note_login(session, site.name)
        forget_problems(session, site.name)
        note_login_end_now(session, site.name)
    if output.as_json:
        output.show_json({"site": site.name})
    output.tell(f"logged in to {site.name}; close with: windlass logout {site.name}")
