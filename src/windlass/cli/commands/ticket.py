"""`windlass ticket`: what a centre's support desk needs to help with a run, in one file."""

from pathlib import Path

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output, make_printable
from windlass.core.units import format_bytes


@click.command("ticket")
@click.argument("run", default="last")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it: a .tar.gz or .zip; default: beside the run's results.",
)
@click.option("--print", "is_printed", is_flag=True, help="Only show the summary; write nothing.")
@click.pass_obj
def command(output: Output, /, run: str, path: Path | None, is_printed: bool) -> None:
    """Bundle RUN's script, logs, record and site facts for the centre's support desk. Secrets are taken out."""
    from windlass.app.ticketing import make_ticket, save_ticket

    with open_session(output) as session:
        ticket = make_ticket(session, session.store.load(run))
        written = None if is_printed else save_ticket(session, ticket, path)
    if output.as_json:
        shown = {"run": ticket.record, "file": written, "files": list(ticket.files), "send": ticket.advice}
        output.show_json({**shown, "summary": ticket.summary})
        return
    if written is None:
        output.show(make_printable(ticket.summary))
    else:
        output.show(str(written))
        output.tell(
            f"{len(ticket.files)} files, {format_bytes(written.stat().st_size)}; look into it before you send it"
        )
    output.tell(ticket.advice)
