"""`windlass explain`: why a run or a job waits or ended, or what a code or a word of Slurm's means."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.cli.words import format_diagnosis, format_end
from windlass.core.farm.kinds import TaskKind
from windlass.core.record import RunRecord, RunState
from windlass.errors import NotFound, UsageError

if TYPE_CHECKING:
    from windlass.app.mending import Fix
    from windlass.app.session import Session
    from windlass.core.finding import Diagnosis

_CODE = re.compile(r"[A-Za-z]\d{3}")
_JOB = re.compile(r"\d[\d_+\[\]-]*")


@click.command("explain")
@click.argument("what", default="last", metavar="[RUN|JOB|CODE]")
@click.option("--on", "site_name", metavar="SITE", help="Where JOB is, when Windlass did not submit it.")
@click.option("--apply", "is_applied", is_flag=True, help="Write the fix into windlass.toml.")
@click.option("--list", "is_list", is_flag=True, help="List all codes.")
@click.pass_obj
def command(output: Output, /, what: str, site_name: str | None, is_applied: bool, is_list: bool) -> None:
    """Say why RUN or JOB waits or ended, or what CODE (such as E301) means.

    JOB is the number of any job of yours. A state or a reason of Slurm's, such as OUT_OF_MEMORY or AssocMaxJobsLimit,
    is explained too. Codes and words need no connection.
    """
    if is_list:
        _list(output)
        return
    if _CODE.fullmatch(what):
        from windlass.app.explaining import explain_code

        _show_words(output, what.upper(), explain_code(what))
        return
    with open_session(output) as session:
        found = _explain(session, what, site_name)
        if isinstance(found, str):
            _show_words(output, what, found)
            return
        record, diagnoses = found
        estimates = _estimate(session, record, diagnoses)
        tasks = _explain_tasks(session, record)
    _show(output, record, diagnoses, tasks=tasks, estimates=estimates, is_applied=is_applied)


def _list(output: Output) -> None:
    from windlass.app.explaining import list_codes

    codes = list_codes()
    if output.as_json:
        output.show_json({"codes": dict(codes)})
    else:
        output.show_table(("CODE", "WHAT"), codes)


def _explain(session: "Session", what: str, site_name: str | None) -> "tuple[RunRecord, tuple[Diagnosis, ...]] | str":
    """A run is looked for first; then a word of Slurm's, then a job."""
    from windlass.app.explaining import explain_job, explain_run, explain_word

    is_job = _JOB.fullmatch(what) is not None
    if not (is_job and site_name):
        try:
            return explain_run(session, session.store.load(what))
        except NotFound:
            words = explain_word(what)
            if words is not None:
                return words
            if not is_job:
                raise
    return explain_job(session, what, site_name=site_name)


def _estimate(session: "Session", record: RunRecord, diagnoses: "Sequence[Diagnosis]") -> list[str]:
    """When it is expected to start, and what would start sooner; nothing of a job that never will."""
    is_ours = bool(record.submissions and record.submissions[-1].token)
    if record.state is not RunState.WAITING or not is_ours or any(one.code == "D002" for one in diagnoses):
        return []
    from windlass.app.estimating import estimate_run
    from windlass.cli.estimate_words import format_estimates
    from windlass.errors import WindlassError

    try:
        estimates = estimate_run(session, record)
    except WindlassError:
        return []
    return format_estimates(estimates, session.clock()) if estimates else []


def _explain_tasks(session: "Session", record: RunRecord) -> list[str]:
    """Of a farm: how many tasks failed, by what they said last, and what to do. Of a sweep also where all is well."""
    if not record.leads_farm:
        return []
    told = _explain_failed(session, record)
    if not told and record.task_kind is TaskKind.TRIALS:
        return [f"try: {record.command_of_failed}"]
    return told


def _explain_failed(session: "Session", record: RunRecord) -> list[str]:
    from windlass.app.farms.looking import load_failures
    from windlass.app.record_words import format_tasks
    from windlass.cli.farm_words import format_failed
    from windlass.errors import WindlassError

    try:
        status, groups = load_failures(session, record)
    except WindlassError:  # what is known here without the site
        return [format_tasks(record)] if record.tasks_failed else []
    return format_failed(status, groups, record.task_kind)


def _show_words(output: Output, what: str, text: str) -> None:
    if output.as_json:
        output.show_json({"code": what, "text": text})
    else:
        output.show_words(text if output.find_columns(sys.stdout) is None else _join_lines(text))


def _join_lines(text: str) -> str:
    """Each paragraph as one line, to be folded where this terminal ends."""
    return "\n\n".join(" ".join(part.splitlines()) if "\ntry: " not in part else part for part in text.split("\n\n"))


def _show(
    output: Output,
    record: RunRecord,
    diagnoses: "Sequence[Diagnosis]",
    *,
    tasks: Sequence[str],
    estimates: Sequence[str],
    is_applied: bool,
) -> None:
    from windlass.app.mending import make_fix

    first = next((one for one in diagnoses if one.patch), None)
    fix = make_fix(record, first.patch) if first else None
    if output.as_json:
        shown = {"run": record, "diagnoses": diagnoses, "diff": fix.diff if fix else None, "tasks": tasks}
        output.show_json(shown)
    else:
        output.show_words(_head(record))
        if record.modules:
            output.show_words(f"modules: {', '.join(record.modules)}")
        if tasks:
            output.show_words("\n".join(tasks))
        for diagnosis in diagnoses:
            output.show_words("\n".join(format_diagnosis(diagnosis)))
            if _is_ours(record):
                _show_patch(output, diagnosis, fix if diagnosis is first else None)
            else:
                _show_directives(output, diagnosis)
        if estimates:
            output.show_words("\n".join(estimates))
        if not diagnoses and record.state is RunState.RUNNING:
            output.tell("nothing is wrong with it, as far as can be seen from here")
    if is_applied:
        _apply(output, fix)
    elif fix is not None and fix.diff and not output.as_json:
        output.tell(f"to write it: windlass explain {record.run_id} --apply")


def _show_patch(output: Output, diagnosis: "Diagnosis", fix: "Fix | None") -> None:
    """As a diff of the project's file where it is here, else as lines to paste."""
    from windlass.core.toml.patching import format_settings

    if not diagnosis.patch:
        return
    if fix is None:
        lines = ["in windlass.toml:", *(f"  {line}" for line in format_settings(diagnosis.patch))]
    elif fix.diff:
        output.show(fix.diff)  # as it is, for `patch` and `git apply`
        return
    else:
        more = f"asks for more already ({', '.join(fix.kept)})" if fix.kept else "says so already"
        lines = [f"windlass.toml {more}; next: {fix.next_command}"]
    output.show("\n".join(f"      {line}" for line in lines))


def _show_directives(output: Output, diagnosis: "Diagnosis") -> None:
    from windlass.core.sbatch.directives import format_directives

    lines = format_directives(diagnosis.patch)
    if lines:
        output.show("\n".join(("      in the script:", *(f"        {line}" for line in lines))))


def _is_ours(record: RunRecord) -> bool:
    return not record.submissions or bool(record.submissions[-1].token)


def _head(record: RunRecord) -> str:
    name = f" ({record.name})" if record.name else ""
    return format_end(
        record if _is_ours(record) else replace(record, run_id=f"job {record.run_id}{name} at {record.site}")
    )


def _apply(output: Output, fix: "Fix | None") -> None:
    from windlass.app.mending import apply_fix

    if fix is None:
        raise UsageError("there is no fix that could be written into windlass.toml", hint="windlass explain RUN")
    if fix.diff:
        apply_fix(fix)
        output.tell(f"written: {fix.path}")
    output.tell(f"next: {fix.next_command}")
