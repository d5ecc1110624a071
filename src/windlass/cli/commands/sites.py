"""`windlass sites`: the machines one can use."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.site import Site


@click.command("sites")
@click.pass_obj
def command(output: Output, /) -> None:
    """List the sites: those that come with Windlass and your own."""
    from windlass.app.sites import list_sites

    with open_session(output) as session:
        found = list_sites(session)
    if output.as_json:
        sites = [
            {"name": one.name, "title": one.title, "host": one.login.host, "replaced_by": one.replaced_by}
            for one in found.sites
        ]
        output.show_json({"sites": sites, "broken": {name: str(error) for name, error in found.broken.items()}})
        return
    rows = [(one.name, one.login.host or "this machine", _describe(one)) for one in found.sites]
    output.show_table(("SITE", "HOST", "WHAT"), rows)
    for name, error in found.broken.items():
        output.tell(f"{name} cannot be read: {error.message}")
    output.tell("add one with: windlass site add NAME --host LOGIN_HOST")


def _describe(site: Site) -> str:
    return f"{site.title} (replaced by {site.replaced_by})" if site.replaced_by else site.title
