"""`windlass doctor`: is this laptop ready, or a site?"""

from pathlib import Path
from typing import Any

import click

from windlass.cli.lines import show_lines
from windlass.cli.opening import open_session
from windlass.cli.options import choose_options, take_flags
from windlass.cli.output import Output
from windlass.errors import UsageError


@click.command("doctor")
@click.argument("site", required=False)
@click.option(
    "--deep", is_flag=True, help="With SITE: also run a test job of five minutes at most, with a GPU if there are some."
)
@click.option("--wait", "wait_s", default=600, show_default=True, help="Seconds to wait for the test job.")
@choose_options("--account", "--partition", "--qos", "--gpus", "--gpu", "--nodes")
@click.pass_obj
def command(output: Output, /, site: str | None, deep: bool, wait_s: int, **values: Any) -> int:
    """Look whether this laptop, or SITE, is ready; each line says what is wrong and what helps.

    \b
    Examples:
      windlass doctor
      windlass doctor narval
      windlass doctor narval --deep
    """
    from windlass.app.doctoring import examine_laptop, examine_site

    if deep and site is None:
        raise UsageError("--deep needs a site", hint="windlass doctor SITE --deep")
    with open_session(output) as session:
        if site is None:
            return show_lines(output, examine_laptop(session, Path.cwd()))
        lines = examine_site(session, site)
        if deep:
            from windlass.app.probing import add_probe

            lines = add_probe(session, site, lines, take_flags(values), wait_s=wait_s)
        return show_lines(output, lines)
