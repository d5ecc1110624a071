"""`windlass cancel`: take runs out of the queue."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.record import RunRecord, RunState


@click.command("cancel")
@click.argument("runs", nargs=-1, required=True)
@click.pass_obj
def command(output: Output, /, runs: tuple[str, ...]) -> None:
    """Cancel RUNS. What they saved stays; `windlass resume RUN` goes on from there."""
    from windlass.app.whole_runs import cancel_whole

    with open_session(output) as session:
        records = cancel_whole(session, [session.store.load(name) for name in runs])
    if output.as_json:
        output.show_json({"runs": records})
    for record in records:
        output.tell(f"{record.run_id} {_format(record)}")


def _format(record: RunRecord) -> str:
    if record.state is RunState.DONE:
        return "was done already"
    if not record.state.is_final:
        return f"is being cancelled and has a moment to save; see: windlass ps --on {record.site}"
    return f"is {record.state}; go on with: {record.again}"
