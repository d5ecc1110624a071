"""`windlass wait`: until runs end."""

import click

from windlass.cli.following import show_end
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.errors import Interrupted


@click.command("wait")
@click.argument("runs", nargs=-1)
@click.pass_obj
def command(output: Output, /, runs: tuple[str, ...]) -> int:
    """Wait until RUNS end (default: the last). Exit code 0 when all are done, 7 when one is not."""
    from windlass.app.following import wait

    codes, ended = [0], []
    with open_session(output) as session:
        for name in runs or ("last",):
            record = session.store.load(name)
            try:
                record = wait(session, record)
            except KeyboardInterrupt:
                raise Interrupted(
                    "stopped waiting", done=f"run {record.run_id} goes on", hint=f"windlass wait {record.run_id}"
                ) from None
            ended.append(record)
            codes.append(show_end(output, session, record))
    if output.as_json:
        output.show_json({"runs": ended})
    return max(codes)
