"""`windlass report`: what a run asked for and used, and what to change."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.errors import UsageError

if TYPE_CHECKING:
    from windlass.app.reporting import Report


@click.command("report")
@click.argument("run", default="last")
@click.option(
    "--html",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it as one page that needs nothing else.",
)
@click.option("--apply", "is_applied", is_flag=True, help="Write the advice into windlass.toml.")
@click.pass_obj
def command(output: Output, /, run: str, path: Path | None, is_applied: bool) -> None:
    """Say what RUN asked for and what it used, and which line of windlass.toml would ask for less.

    While it runs, and after its end. Every look at a node is kept in the run folder (gauges/). What was advised is
    remembered, and a later run of the same name tells whether it paid off.
    """
    from windlass.app.reporting import report_run

    with open_session(output) as session:
        report = report_run(session, session.store.load(run))
        if path is not None:
            _save_page(report, path, session.clock())
    if output.as_json:
        output.show_json(_make_document(report))
    elif path is None:
        _show(output, report)
    else:
        output.show(str(path))
    if is_applied:
        _apply(output, report)
    elif not output.as_json and report.fix is not None and report.fix.diff:
        output.tell(f"to write it: windlass report {report.record.run_id} --apply")


def _make_document(report: "Report") -> dict[str, object]:
    from windlass.core.efficiency.parts import make_gpu_parts, make_node_parts

    return {
        "run": report.record,
        "summary": report.summary,
        "nodes": make_node_parts(report.usage.last),
        "gpus": make_gpu_parts(report.usage.last),
        "advice": report.advice,
        "payoffs": report.payoffs,
        "diff": report.fix.diff if report.fix else None,
    }


def _show(output: Output, report: "Report") -> None:
    from windlass.cli.report_words import format_advice, format_report

    is_drawn = not output.plain and sys.stdout is not None and (sys.stdout.encoding or "").lower().startswith("utf")
    output.show_words("\n".join(format_report(report, is_drawn=is_drawn)))
    for payoff in report.payoffs:
        output.show_words(f"paid off? {payoff.message} (advised of {payoff.run_id}, {payoff.code})")
    for advice in report.advice:
        output.show_words("\n".join(format_advice(advice)))
    _show_change(output, report)
    if report.usage.is_folder_gone:
        output.tell(f"its run folder {report.record.folder} is gone, and with it what its nodes told")
    elif not report.usage.gauges.nodes:
        output.tell("its nodes were not looked at: it ended at once, or there was no Python for the agent")
    elif not report.usage.is_enough:
        output.tell("too short for advice: ten minutes of every node are the least, half an hour while it runs")
    elif not report.advice:
        output.tell("nothing to advise: it used what it asked for")


def _show_change(output: Output, report: "Report") -> None:
    """As a diff of the project's file where it is here, else as lines to paste."""
    from windlass.core.toml.patching import format_settings

    settings = [setting for one in report.advice for setting in one.patch]
    if not settings:
        return
    if report.fix is None:
        output.show("\n".join(("in windlass.toml:", *(f"  {line}" for line in format_settings(settings)))))
    elif report.fix.diff:
        output.show(report.fix.diff)
    else:
        output.show("windlass.toml says so already: it counts from the next run on")


def _apply(output: Output, report: "Report") -> None:
    from windlass.app.mending import apply_fix

    if report.fix is None:
        raise UsageError(
            "there is no advice that could be written into windlass.toml",
            hint=f"windlass report {report.record.run_id}",
        )
    if report.fix.diff:
        apply_fix(report.fix)
        output.tell(f"written: {report.fix.path}")
    output.tell("it counts from the next run on; its report tells whether it paid off")


def _save_page(report: "Report", path: Path, now: float) -> None:
    from windlass.cli.report_page import make_page
    from windlass.edges.files import save_file

    save_file(path, make_page(report, now).encode(), mode=None)
