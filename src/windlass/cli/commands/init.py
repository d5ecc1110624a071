"""`windlass init`: look at the project and write windlass.toml."""

from pathlib import Path

import click

from windlass.cli.output import Output


@click.command("init")
@click.option("--replace", is_flag=True, help="Write over a windlass.toml that is there.")
@click.pass_obj
def command(output: Output, /, replace: bool) -> None:
    """Look at this folder and write a windlass.toml with comments. Asks nothing it can see."""
    from windlass.app.projects import start_project

    started = start_project(Path.cwd(), replace=replace)
    if output.as_json:
        output.show_json({"path": str(started.path), "text": started.text})
        return
    output.show(started.text)
    output.tell(f"wrote {started.path}; try it here with: windlass run")
