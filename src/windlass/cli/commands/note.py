"""`windlass note`: a word about a run."""

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output


@click.command("note")
@click.argument("run")
@click.argument("text", required=False)
@click.pass_obj
def command(output: Output, /, run: str, text: str | None) -> None:
    """Write TEXT down about RUN, or show what was written.

    It is kept in the run folder and here; `windlass ps --json` and the page of the run show it.

    \b
    Examples:
      windlass note last "learning rate too high, see the next one"
      windlass note digits-k3f9w
    """
    from windlass.app.noting import add_note
    from windlass.app.record_words import format_clock

    with open_session(output) as session:
        if text is not None:
            noted = add_note(session, run, text)
            record = noted.record
            if noted.problem is not None:
                output.tell(f"kept on this machine only; at {record.site} it was not written: {noted.problem}")
        else:
            record = session.store.load(run)
    if output.as_json:
        output.show_json({"run_id": record.run_id, "notes": record.notes})
    elif text is not None:
        output.tell(f"noted; {record.run_id} has {len(record.notes)} note{'s' if len(record.notes) > 1 else ''}")
    elif record.notes:
        for note in record.notes:
            output.show(f"{format_clock(note.time)}  {note.text}")
    else:
        output.tell(f'nothing was noted yet; write something with: windlass note {record.run_id} "…"')
