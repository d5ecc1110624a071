"""`windlass logs`: what a run printed."""

from collections import deque
from collections.abc import Iterable

import click

from windlass.app.logs import open_log, read_stream
from windlass.app.session import Session
from windlass.cli.following import show_until_the_end
from windlass.cli.opening import open_session
from windlass.cli.options import raw_option
from windlass.cli.output import Output
from windlass.core.record import RunRecord
from windlass.core.watching.log_streams import Stream
from windlass.errors import ExitCode, UsageError


@click.command("logs")
@click.argument("run", default="last")
@click.option("-f", "--follow", "keep_going", is_flag=True, help="Go on until the run ends.")
@click.option("-n", "--tail", type=click.IntRange(0), metavar="LINES", help="Only the last lines.")
@click.option("--link", type=click.IntRange(1), metavar="K", help="Only link K of the chain.")
@click.option("--stream", type=click.Choice([one.value for one in Stream]), help="Only what was written to it so far.")
@click.option("--task", type=click.IntRange(0), metavar="N", help="Of a farm: what task N printed.")
@raw_option
@click.pass_obj
def command(
    output: Output,
    /,
    run: str,
    keep_going: bool,
    tail: int | None,
    link: int | None,
    stream: str | None,
    task: int | None,
    raw: bool,
) -> int:
    """Show what RUN printed (a run id, its beginning, its name, or `last`).

    Into a file or a pipe it goes as it is. On a terminal it keeps its colours and progress bars; what would move the
    cursor, clear the screen, set the title or fill the clipboard is left out, unless --raw is given.
    """
    if task is not None and (keep_going or link is not None or stream is not None):
        raise UsageError("--task shows what one task printed so far: without --follow, --link and --stream")
    if keep_going and (stream is not None or output.as_json):
        asked = "--stream" if stream is not None else "--json"
        raise UsageError(f"{asked} shows what was printed so far: without --follow", hint="windlass dash shows it live")
    output.raw = raw
    with open_session(output) as session:
        record = session.store.load(run)
        if task is not None:
            return _show_task(output, session, record, task, tail)
        _refuse_unknown_link(record, link)
        if stream is not None:
            return _show_stream(output, record, read_stream(session, record, Stream(stream), link=link), tail)
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


def _refuse_unknown_link(record: RunRecord, link: int | None) -> None:
    if link is not None and link > record.links:
        has = f"its links are 1 to {record.links}" if record.links > 1 else "it has one"
        raise UsageError(f"run {record.run_id} has no link {link}: {has}")


def _show_stream(output: Output, record: RunRecord, lines: Iterable[tuple[bytes, bool]], tail: int | None) -> int:
    if tail is not None:
        lines = deque(lines, maxlen=tail)
    if output.as_json:
        text = b"".join(line for line, _ in lines).decode(errors="replace")
        output.show_json({"run_id": record.run_id, "log": text})
        return int(ExitCode.OK)
    unsure = 0
    for line, is_uncertain in lines:
        unsure += is_uncertain
        output.show_bytes(line)
    if unsure:
        them = "1 of these lines may be" if unsure == 1 else f"{unsure:,} of these lines may be"
        output.tell(f"{them} of the other stream: both wrote at the same moment, or nobody has looked yet")
    return int(ExitCode.OK)


def _show_task(output: Output, session: Session, record: RunRecord, task: int, tail: int | None) -> int:
    from windlass.app.farms.adding import refuse_unknown
    from windlass.app.farms.asking import find_lead
    from windlass.app.farms.looking import load_status
    from windlass.app.farms.output import load_output

    lead = find_lead(session, record)
    pieces = load_output(session, lead, task)
    if tail is not None or output.as_json:
        text = b"".join(pieces)
        lines = text.splitlines(keepends=True)
        pieces = iter([b"".join(lines[len(lines) - tail :]) if tail is not None else text])
    if output.as_json:
        told = b"".join(pieces).decode(errors="replace")
        output.show_json({"run_id": lead.run_id, "task": task, "log": told})
        return int(ExitCode.OK)
    is_empty = True
    for piece in pieces:
        is_empty = is_empty and not piece
        output.show_bytes(piece)
    if is_empty:
        refuse_unknown(load_status(session, lead), lead.run_id, [task])
        output.tell(f"task {task} of farm {lead.run_id} has printed nothing so far")
    return int(ExitCode.OK)
