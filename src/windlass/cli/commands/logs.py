"""`windlass logs`: what a run printed."""

import click

from windlass.app.logs import open_log
from windlass.cli.following import show_until_the_end
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.errors import ExitCode


@click.command("logs")
@click.argument("run", default="last")
@click.option("-f", "--follow", "keep_going", is_flag=True, help="Go on until the run ends.")
@click.option("-n", "--tail", type=click.IntRange(0), metavar="LINES", help="Only the last lines.")
@click.option("--link", type=click.IntRange(1), metavar="K", help="Only link K of the chain.")
@click.pass_obj
def command(output: Output, /, run: str, keep_going: bool, tail: int | None, link: int | None) -> int:
    """Show what RUN printed (a run id, its beginning, its name, or `last`)."""
    with open_session(output) as session:
        record = session.store.load(run)
        reader = open_log(session, record, link=link)
        if output.as_json:
            text = reader.read_tail(tail) if tail is not None else b"".join(reader.read_new())
            output.show_json({"run_id": record.run_id, "log": text.decode(errors="replace")})
            return int(ExitCode.OK)
        if tail is not None:
            output.show_bytes(reader.read_tail(tail))
        if keep_going:
            return show_until_the_end(output, session, record, reader)
        if tail is None:
            for payload in reader.read_new():
                output.show_bytes(payload)
    return int(ExitCode.OK)
