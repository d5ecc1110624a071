"""`windlass cancel`: take runs out of the queue."""

import click

from windlass.app.session import Session
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.record import RunRecord, RunState


@click.command("cancel")
@click.argument("runs", nargs=-1, required=True)
@click.pass_obj
def command(output: Output, /, runs: tuple[str, ...]) -> None:
    """Cancel RUNS. What they saved stays; `windlass resume RUN` goes on from there."""
    from windlass.app.cancelling import cancel_runs

    with open_session(output) as session:
        asked = [session.store.load(name) for name in runs]
        records = [one for lead in asked if lead.farm == lead.run_id for one in _cancel_farm(session, lead)]
        records += cancel_runs(session, [one for one in asked if one.farm != one.run_id])
    if output.as_json:
        output.show_json({"runs": records})
    for record in records:
        output.tell(f"{record.run_id} {_format(record)}")


def _cancel_farm(session: Session, lead: RunRecord) -> list[RunRecord]:
    """With all its pilots: a farm is shown as one run."""
    from windlass.app.farms.ending import cancel_farm

    return cancel_farm(session, lead)


def _format(record: RunRecord) -> str:
    if record.state is RunState.DONE:
        return "was done already"
    if not record.state.is_final:
        return f"is being cancelled and has a moment to save; see: windlass ps --on {record.site}"
    again = f"windlass farm resume {record.farm}" if record.farm else f"windlass resume {record.run_id}"
    return f"is {record.state}; go on with: {again}"
