"""`windlass farm`: many tasks in a few jobs."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.commands.farm_looking import results, status
from windlass.cli.commands.farm_steering import cancel, resume, retry
from windlass.cli.farm_following import show_farm_to_the_end
from windlass.cli.farm_options import given_options, need_options, read_given, take_needs
from windlass.cli.groups import InOrder
from windlass.cli.opening import open_session, read_wanted
from windlass.cli.options import choose_options, on_option, take_flags
from windlass.cli.output import Output
from windlass.core.units import format_human_duration
from windlass.errors import ExitCode

if TYPE_CHECKING:
    from windlass.app.farms.starting import PlannedFarm
    from windlass.app.farms.taking import Taken
    from windlass.app.session import Session
    from windlass.core.record import RunRecord


@click.group("farm", cls=InOrder)
def command() -> None:
    """Run many tasks in a few jobs: thousands of commands without a thousand jobs.

    \b
    Pilots, which are ordinary jobs, take tasks from a table and keep every core and GPU of theirs busy.
    What has not ended well when a pilot dies is run by another one.

    \b
    Examples:
      windlass farm run tasks.txt --on narval                       a command a line
      windlass farm run "python3 train.py --seed {}" ::: 1 2 3
      windlass farm run "python3 train.py --lr {lr}" --table lr.csv --gpus 1
      windlass farm status last
      windlass farm retry last
      windlass farm results last > results.csv
    """


@click.command("run")
@click.argument("words", nargs=-1, metavar="[TASKS | COMMAND [::: VALUE...]...]")
@on_option
@given_options
@need_options
@choose_options("--name", "--account", "--partition", "--qos", "--gpu")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting, such as farm.pilot_time=2d.")
@click.option("--plan", "only_plan", is_flag=True, help="Show pilots, their size and why. Nothing is sent.")
@click.option("-d", "--detach", is_flag=True, help="Do not follow; print the farm's name and return.")
@click.option("--force", is_flag=True, help="Submit although a check found errors.")
@click.pass_obj
def run(
    output: Output,
    /,
    words: tuple[str, ...],
    site_name: str | None,
    only_plan: bool,
    detach: bool,
    force: bool,
    **values: Any,
) -> int:
    """Run a table of tasks. Ctrl-C leaves the jobs alone and says so; exit code 1 when tasks failed.

    TASKS is a file with a command a line (- is standard input). In a COMMAND {} is the value, {1} {2} its columns,
    {name} a column of --table; values are those behind :::, or the lines of standard input.

    \b
    Examples:
      windlass farm run tasks.txt
      windlass farm run "python3 train.py --seed {}" < seeds.txt
      windlass farm run "python3 train.py {1} {2}" ::: adam sgd ::: 0.1 0.01
      windlass farm run --array sweep.sbatch --on narval
    """
    from windlass.app.farms.taking import take_tasks
    from windlass.cli.farm_plan import show_farm_plan

    wanted = read_wanted(site_name, ())
    taken = take_tasks(read_given(words, values), wanted.project)
    wanted = replace(wanted, flags=(*taken.flags, *take_needs(values), *take_flags(values)))
    with open_session(output) as session:
        farm = _plan(output, session, wanted, taken, force=force)
        if only_plan:
            return show_farm_plan(output, session, farm, count=taken.packed.count, first=taken.first)
        record = _send(output, session, farm, taken, force=force)
        if detach:
            output.show_json({"run": record}) if output.as_json else output.show(record.run_id)
            output.tell(
                f"{'follow':<10} windlass farm status {record.run_id}     stop: windlass farm cancel {record.run_id}"
            )
            _tell_later(output, farm, record)
            return int(ExitCode.OK)
        return show_farm_to_the_end(output, session, record)


def _tell_later(output: Output, farm: "PlannedFarm", record: "RunRecord") -> None:
    """Nobody stays who would send more pilots."""
    if farm.size.time:
        time = format_human_duration(farm.size.time)
        output.tell(f"{'later':<10} its pilots have {time}; what is left then: windlass farm resume {record.run_id}")


def _plan(output: Output, session: "Session", wanted: Any, taken: "Taken", *, force: bool) -> "PlannedFarm":
    from windlass.app.farms.starting import plan_farm
    from windlass.cli.starting import plan_with_environment

    for note in taken.notes:
        output.tell(f"{'note':<10} {note}")
    return plan_farm(
        session,
        wanted,
        tasks=taken.packed.count,
        plan=lambda session, wanted: plan_with_environment(output, session, wanted, force=force),
    )


def _send(output: Output, session: "Session", farm: "PlannedFarm", taken: "Taken", *, force: bool) -> "RunRecord":
    from windlass.app.farms.starting import send_farm
    from windlass.core.farm.values import COMMANDS

    size = farm.size
    if size.shortage:
        output.tell(f"{'note':<10} {size.shortage}: it gets what there is")
    pilots = "1 pilot" if size.pilots == 1 else f"{size.pilots} pilots"
    output.tell(f"{'tasks':<10} {taken.packed.count}, {size.at_once} at once in {pilots}")
    record = send_farm(session, farm, taken.packed, kind=COMMANDS, force=force)
    output.tell(f"{'submitted':<10} farm {record.run_id}, job {record.job_id} at {record.site}")
    return record


@click.command("add")
@click.argument("farm")
@click.argument("words", nargs=-1, metavar="[TASKS | COMMAND [::: VALUE...]...]")
@given_options
@click.pass_obj
def add(output: Output, /, farm: str, words: tuple[str, ...], **values: Any) -> int:
    """Add tasks to FARM, written as for `windlass farm run`. New pilots are sent where none is left.

    \b
    Examples:
      windlass farm add last more.txt
      windlass farm add last "python3 train.py --seed {}" ::: 4 5 6
    """
    from windlass.app.farms.adding import add_tasks, ensure_pilots, refuse_closed
    from windlass.app.farms.asking import find_lead
    from windlass.app.farms.taking import take_tasks
    from windlass.core.farm.values import COMMANDS

    taken = take_tasks(read_given(words, values), Path.cwd())
    with open_session(output) as session:
        lead = find_lead(session, session.store.load(farm))
        refuse_closed(session, lead)
        added = add_tasks(session, lead, taken.packed, COMMANDS)
        pilots = ensure_pilots(session, lead)
    if output.as_json:
        output.show_json({"first": added.start, "count": len(added), "pilots": pilots})
        return int(ExitCode.OK)
    which = f"task {added.start} was" if len(added) == 1 else f"tasks {added.start} to {added.stop - 1} were"
    output.tell(f"{which} added to farm {lead.run_id}")
    for one in pilots:
        output.tell(f"{'submitted':<10} pilot {one.run_id}, job {one.job_id}")
    output.tell(f"next: windlass wait {lead.run_id}")
    return int(ExitCode.OK)


for _one in (run, add, status, results, retry, cancel, resume):
    command.add_command(_one)
