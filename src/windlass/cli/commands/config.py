"""`windlass config`: every setting of the run, and where it came from."""

import os
from typing import Any

import click

from windlass.cli.opening import read_wanted
from windlass.cli.options import on_option, setting_options, take_flags
from windlass.cli.output import Output


@click.command("config")
@on_option
@setting_options
@click.option("--origin", is_flag=True, help="Also where each value came from.")
@click.pass_obj
def command(output: Output, /, site_name: str | None, origin: bool, **values: Any) -> None:
    """Show the settings of the run as all layers together want it."""
    from windlass.edges.settings import load_settings

    wanted = read_wanted(site_name, take_flags(values))
    settings, origins = load_settings(wanted.project, wanted.site, os.environ, wanted.flags)
    if output.as_json:
        places = {key: one.text for key, one in origins.items()}
        output.show_json({"settings": settings, "origins": places})
        return
    settings = {key: value for key, value in settings.items() if value != {}}
    rows = [(key, _format(value), origins[key].text) for key, value in settings.items()]
    if origin:
        output.show_table(("KEY", "VALUE", "FROM"), rows)
    else:
        output.show_table(("KEY", "VALUE"), [row[:2] for row in rows])


def _format(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)
