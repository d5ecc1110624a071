"""`windlass resume`: go on with a run from its checkpoints."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.spending.amounts import NoAmount, read_amount
from windlass.core.units import Unreadable, read_duration
from windlass.errors import ExitCode, UsageError


@click.command("resume")
@click.argument("run", default="last")
@click.option("--time", "time_text", metavar="TIME", help="For how long; default: what was left, or as long again.")
@click.option("--update-code", is_flag=True, help="Send the project as it is now first; what the run wrote stays.")
@click.option("--exclude", metavar="NODES", help="Not on these nodes, such as gpu[03-04],gpu9.")
@click.option("--budget", "budget_text", metavar="AMOUNT", help="All that the run may use, such as '300 GPU-h'.")
@click.option("-d", "--detach", is_flag=True, help="Do not follow.")
@click.pass_obj
def command(
    output: Output,
    /,
    run: str,
    time_text: str | None,
    update_code: bool,
    exclude: str | None,
    budget_text: str | None,
    detach: bool,
) -> int:
    """Submit RUN once more in its own folder, so that it goes on from its checkpoints.

    \b
    Examples:
      windlass resume                        the last run, with the time it had left
      windlass resume digits --time 12h
      windlass resume digits --update-code   after mending a mistake in the code
      windlass resume digits --exclude gpu7  without a node that is sick
      windlass resume digits --budget "300 GPU-h"   after its limit was used up
    """
    from windlass.app.logs import open_log
    from windlass.app.resuming import refuse_farm, resume_run
    from windlass.cli.following import show_record_at_the_end, show_until_the_end

    try:
        time = read_duration(time_text) if time_text else None
    except Unreadable as problem:
        raise UsageError(f"--time {time_text!r} {problem}") from problem
    try:
        budget = read_amount(budget_text) if budget_text else None
    except NoAmount as problem:
        raise UsageError(f"--budget: {problem}") from problem
    with open_session(output) as session:
        before = session.store.load(run)
        refuse_farm(before)
        reader = open_log(session, before)
        if not detach:
            reader.read_tail(0)  # what it said before is not said again
        record = resume_run(session, before, time=time, update_code=update_code, exclude=exclude, budget=budget)
        output.tell(f"{'submitted':<10} run {record.run_id}, job {record.job_id} at {record.site}")
        if detach:
            if output.as_json:
                output.show_json({"run": record})
            return int(ExitCode.OK)
        if output.as_json:
            return show_record_at_the_end(output, session, record)
        return show_until_the_end(output, session, record, reader)
