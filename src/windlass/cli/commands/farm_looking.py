"""`windlass farm status` and `results`: where a farm stands, and what became of each task."""

import io
import json
import sys
import time
from collections.abc import Iterator

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.csv_rows import format_row
from windlass.core.farm.results import Outcome, fold_one

_BLOCK = 50_000
_FORMATS = ("csv", "jsonl")


@click.command("status")
@click.argument("farm", default="last")
@click.pass_obj
def status(output: Output, /, farm: str) -> None:
    """Show numbers, pace and expected end of FARM, what runs where, its pilots, and failures by their last words."""
    from windlass.app.farms.asking import find_lead
    from windlass.app.farms.following import look_at_farm
    from windlass.app.farms.looking import stream_results
    from windlass.cli import farm_words
    from windlass.core.farm.kinds import tell_why_closed
    from windlass.core.farm.overview import Overview

    overview = Overview()
    with open_session(output) as session:
        lead = find_lead(session, session.store.load(farm))
        seen = look_at_farm(session, lead)
        for some, _ in stream_results(session, lead):
            overview.take(some)
    groups, now = overview.failures, time.time()
    pace = overview.find_pace(seen.status, now)
    if output.as_json:
        told = {"farm": seen.status, "runs": seen.pilots, "failures": groups, "pace": pace}
        output.show_json(told)
        return
    why = tell_why_closed(lead.task_kind)
    closed = f"; it is closed ({why}): {lead.again} goes on" if seen.status.is_closed else ""
    words = farm_words.format_pace(pace)
    output.show(f"farm {lead.run_id} at {lead.site}: {farm_words.format_counts(seen.status)}{closed}")
    if words:
        output.show(words)
    if rows := farm_words.make_running_rows(seen.status, now)[:20]:
        output.show("")
        output.show_table(farm_words.RUNNING_HEAD, rows)
    output.show("")
    output.show_table(*farm_words.make_pilot_table(seen.status, seen.pilots))
    for line in farm_words.format_cuts(seen.status, seen.pilot_s):
        output.show(line)
    if groups:
        output.show("")
        output.show("\n".join(farm_words.format_failures(groups, lead.run_id)))
    if seen.is_left_alone:
        output.tell(f"no pilot is left for the rest: {lead.again}")


@click.command("results")
@click.argument("farm", default="last")
@click.option("--format", "kind", type=click.Choice(_FORMATS), default="csv", show_default=True)
@click.option("--failed", "only_failed", is_flag=True, help="Only tasks that failed.")
@click.pass_obj
def results(output: Output, /, farm: str, kind: str, only_failed: bool) -> None:
    """Print a table of every task of FARM: values, state, code, attempts, times, node and last line.

    \b
    Examples:
      windlass farm results last > results.csv
      windlass farm results last --format jsonl --failed
    """
    from windlass.app.farms.asking import find_lead
    from windlass.app.farms.looking import load_status, load_tasks, stream_results
    from windlass.cli import farm_words
    from windlass.core.farm.values import TaskState

    bad = {one.value for one in TaskState if one.is_bad}
    with open_session(output) as session:
        lead = find_lead(session, session.store.load(farm))
        total = load_status(session, lead).total
        outcomes: dict[int, Outcome] = {}
        for some, _ in stream_results(session, lead):
            for one in some:
                fold_one(outcomes, one)

        def rows() -> Iterator[dict[str, object]]:
            for first in range(0, total, _BLOCK):
                end = min(total, first + _BLOCK)
                for number, task in enumerate(load_tasks(session, lead, first, end), first):
                    row = farm_words.make_result_row(outcomes.get(number), number, task)
                    if not only_failed or row["state"] in bad:
                        yield row

        if output.as_json:
            output.show_json({"farm": lead.run_id, "tasks": list(rows())})
        elif kind == "jsonl":
            for row in rows():
                output.show(json.dumps(row, ensure_ascii=False))
        else:
            _show_csv(output, rows(), outcomes)


def _show_csv(output: Output, rows: Iterator[dict[str, object]], outcomes: dict[int, Outcome]) -> None:
    """The names of values are those of the first task: a table has the same for all."""
    from windlass.cli import farm_words

    text = io.StringIO(newline="")
    names: list[str] | None = None
    for row in rows:
        if names is None:
            values = row["values"]
            names = list(values) if isinstance(values, dict) else []
            text.write(format_row([*farm_words.RESULTS, *names]))
        text.write(format_row(farm_words.flatten(row, names)))
        if text.tell() > 1_000_000:
            output.show(text.getvalue())
            text.seek(0)
            text.truncate()
    if text.tell():
        output.show(text.getvalue())
    sys.stdout.flush()
