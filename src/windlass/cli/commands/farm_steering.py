"""`windlass farm retry`, `cancel` and `resume`."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.errors import RunFolderGone, UsageError


@click.command("retry")
@click.argument("farm", default="last")
@click.option("--tasks", "chosen", metavar="NUMBERS", help="Only these, such as 3,5-9; default: all that failed.")
@click.pass_obj
def retry(output: Output, /, farm: str, chosen: str | None) -> None:
    """Run tasks of FARM again that failed, on its pilots, or on new ones where none is left."""
    from windlass.app.farms.adding import ensure_pilots, refuse_closed
    from windlass.app.farms.asking import find_lead
    from windlass.app.farms.steering import retry_failed
    from windlass.core.farm.results import format_tasks

    numbers = _read_numbers(chosen)
    with open_session(output) as session:
        lead = find_lead(session, session.store.load(farm))
        refuse_closed(session, lead, numbers or ())
        again = retry_failed(session, lead, numbers)
        pilots = ensure_pilots(session, lead) if again else []
    if output.as_json:
        output.show_json({"tasks": again, "pilots": pilots})
        return
    if not again:
        output.tell(f"no task of farm {lead.run_id} has failed" + (f" among {chosen}" if chosen else ""))
        return
    output.tell(f"{len(again)} of farm {lead.run_id} run again: {format_tasks(again)}")
    for one in pilots:
        output.tell(f"{'submitted':<10} pilot {one.run_id}, job {one.job_id}")
    output.tell(f"next: windlass wait {lead.run_id}")


def _read_numbers(text: str | None) -> list[int] | None:
    from windlass.core.farm.results import read_tasks

    if text is None:
        return None
    try:
        return read_tasks(text)
    except ValueError as problem:
        raise UsageError(f"{str(problem)!r} is no number of a task", hint="--tasks 3,5-9") from None


@click.command("cancel")
@click.argument("farm", default="last")
@click.pass_obj
def cancel(output: Output, /, farm: str) -> None:
    """Close FARM: no task is started any more, and its pilots leave. `windlass farm resume` goes on."""
    from windlass.app.farms.asking import find_lead
    from windlass.app.farms.ending import cancel_farm
    from windlass.app.farms.looking import load_status
    from windlass.cli.farm_words import format_counts

    with open_session(output) as session:
        lead = find_lead(session, session.store.load(farm))
        records = cancel_farm(session, lead)
        try:
            status = load_status(session, lead)
        except RunFolderGone:
            status = None
    if output.as_json:
        output.show_json({"farm": status, "runs": records})
    if status is None:
        output.tell(f"the folder of farm {lead.run_id} is gone; forget it with: windlass rm {lead.run_id}")
        return
    is_open = "" if status.is_closed else "not "
    output.tell(f"farm {lead.run_id} is {is_open}closed: {format_counts(status)}; go on with: {lead.again}")


@click.command("resume")
@click.argument("farm", default="last")
@click.option("--pilots", type=click.IntRange(1), metavar="N", help="How many jobs; default: as at its start.")
@click.option("-d", "--detach", is_flag=True, help="Do not follow.")
@click.pass_obj
def resume(output: Output, /, farm: str, pilots: int | None, detach: bool) -> int:
    """Go on with FARM after it was cancelled or lost its pilots: only what has not ended runs."""
    from windlass.app.farms.asking import find_lead
    from windlass.app.farms.ending import resume_farm
    from windlass.cli.farm_following import show_farm_to_the_end

    with open_session(output) as session:
        lead = find_lead(session, session.store.load(farm))
        started = resume_farm(session, lead, pilots=pilots)
        for one in started:
            output.tell(f"{'submitted':<10} pilot {one.run_id}, job {one.job_id}")
        if detach:
            if output.as_json:
                output.show_json({"pilots": started})
            return 0
        return show_farm_to_the_end(output, session, lead)
