"""`windlass wait`: until runs end."""

import click

from windlass.app.session import Session
from windlass.cli.following import show_end
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.record import RunRecord
from windlass.errors import Interrupted


@click.command("wait")
@click.argument("runs", nargs=-1)
@click.pass_obj
def command(output: Output, /, runs: tuple[str, ...]) -> int:
    """Wait until RUNS end (default: the last); of a farm all its tasks.

    Exit code 0 when all are done, 7 when one is not, 1 when tasks of a farm failed.
    """
    from windlass.app.following import wait

    codes, ended = [0], []
    with open_session(output) as session:
        for name in runs or ("last",):
            record = session.store.load(name)
            try:
                if record.farm == record.run_id:
                    codes.append(_wait_for_farm(output, session, record))
                    ended.append(session.store.load(record.run_id))
                    continue
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


def _wait_for_farm(output: Output, session: Session, lead: RunRecord) -> int:
    from windlass.app.farms.following import follow_farm
    from windlass.cli.farm_following import tell_what_next
    from windlass.cli.farm_words import format_end

    *_, seen = follow_farm(session, lead, tell=output.tell)
    output.tell(format_end(seen.status, lead.created, session.clock()))
    return tell_what_next(output, lead, seen)
