"""`windlass explain`: why a run waits or ended, or what a code means."""

import re

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.cli.words import format_diagnosis, format_end

_CODE = re.compile(r"[A-Za-z]\d{3}")


@click.command("explain")
@click.argument("what", default="last", metavar="[RUN|CODE]")
@click.pass_obj
def command(output: Output, /, what: str) -> None:
    """Say why RUN waits or ended, or what CODE (such as E301) means. Codes need no connection."""
    from windlass.app.explaining import explain_code, explain_run

    if _CODE.fullmatch(what):
        text = explain_code(what)
        if output.as_json:
            output.show_json({"code": what.upper(), "text": text})
        else:
            output.show(text)
        return
    with open_session(output) as session:
        record, diagnoses = explain_run(session, session.store.load(what))
    if output.as_json:
        output.show_json({"run": record, "diagnoses": diagnoses})
        return
    output.show(format_end(record))
    for diagnosis in diagnoses:
        output.show("\n".join(format_diagnosis(diagnosis)))
