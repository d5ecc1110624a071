"""`windlass top`: runs in a terminal."""

import os
import sys

import click

from windlass.app.session import Session
from windlass.cli.output import Output
from windlass.edges.extras import make_extra_hint
from windlass.edges.folders import find_folders
from windlass.errors import ExtraMissing, UsageError


@click.command("top")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal, for marking text.")
@click.pass_obj
@click.pass_context
def command(ctx: click.Context, output: Output, /, no_mouse: bool) -> None:
    """Show runs, queue, gauges and logs in this terminal, until q.

    Everything works by keys; ? lists them. Sites are asked no more often than by any other command.
    """
    if output.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("windlass top needs a terminal", hint="windlass ps --json")
    try:
        import textual  # noqa: F401
    except ImportError as missing:
        hint = make_extra_hint("top")
        raise ExtraMissing(f"the screen needs {missing.name}, which is not installed", hint=hint) from missing
    from windlass.screen.starting import show_top

    folders = find_folders(os.environ)
    ctx.exit(show_top(lambda: Session(folders=folders, environ=os.environ), mouse=not no_mouse))
