"""`windlass dash`: the dashboard."""

import os
from typing import TYPE_CHECKING

import click

from windlass.app.session import Session
from windlass.cli.output import Output
from windlass.edges.extras import make_extra_hint
from windlass.edges.folders import find_folders
from windlass.errors import ExtraMissing

if TYPE_CHECKING:
    from windlass.web.serving import Running


@click.command("dash")
@click.option("--port", type=click.IntRange(0, 65535), help="At this port; 0: any that is free. Default: 7317, or any.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.pass_obj
def command(output: Output, /, port: int | None, no_browser: bool) -> None:
    """Show runs, logs, chains and charts as pages at 127.0.0.1, until Ctrl-C.

    The address holds a token: whoever has it may look and act, nobody else. A second `windlass dash` opens the first.
    """
    try:
        import jinja2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        hint = make_extra_hint("dash")
        raise ExtraMissing(f"the dashboard needs {missing.name}, which is not installed", hint=hint) from missing
    from windlass.cli.browser import open_browser
    from windlass.web.serving import serve
    from windlass.web.vendor import tell_missing

    def ready(running: "Running", is_other: bool) -> None:
        address = running.make_address()
        output.tell(_explain(running, port, is_other=is_other))
        if missing := tell_missing():
            output.tell(missing)
        if output.as_json:
            output.show_json({"address": address, "pid": running.pid, "port": running.port, "started": not is_other})
        else:
            output.show(address)
        if not no_browser:
            open_browser(output, address, stays=not is_other)

    folders = find_folders(os.environ)
    serve(lambda: Session(folders=folders, environ=os.environ), port=port, ready=ready)


def _explain(running: "Running", port: int | None, *, is_other: bool) -> str:
    """Where it is not where it was asked for, that is said."""
    from windlass.web.serving import PREFERRED_PORT

    if is_other and port and port != running.port:
        return (
            f"it is running already at port {running.port}, and not at {port}; end that one first: kill {running.pid}"
        )
    if is_other:
        return "it is running already"
    words = "Ctrl-C ends it; your runs go on without it"
    is_elsewhere = port is None and running.port != PREFERRED_PORT
    return f"port {PREFERRED_PORT} is taken, so it is at {running.port}; {words}" if is_elsewhere else words
