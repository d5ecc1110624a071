"""A sweep shown while it goes on, and its table at the end."""

from windlass.app.session import Session
from windlass.app.sweeps.following import follow_sweep
from windlass.cli.output import Output
from windlass.cli.sweep_words import MOST_ROWS, format_end, format_progress, make_document, make_head, make_rows
from windlass.core.record import RunRecord
from windlass.core.sweep.seen import SweepSeen
from windlass.errors import ExitCode, Interrupted


def show_to_the_end(output: Output, session: Session, record: RunRecord, *, detach: bool, is_held: bool = False) -> int:
    """is_held: see `follow_sweep`."""
    if detach:
        output.show_json({"run": record}) if output.as_json else output.show(record.run_id)
        return int(ExitCode.OK)
    told = ""

    def tell(seen: SweepSeen) -> None:
        nonlocal told
        line = format_progress(seen)
        if line != told:
            output.tell(line)
        told = line

    try:
        seen = follow_sweep(session, record, show=tell, is_held=is_held)
    except KeyboardInterrupt:
        raise Interrupted(
            "stopped following",
            hint=f"windlass sweep resume {record.run_id}",
            done=f"what runs of {record.run_id} goes on; stop it with: windlass farm cancel {record.run_id}",
        ) from None
    show_sweep(output, seen, is_all=False)
    if not seen.is_over:
        output.tell(f"{record.run_id} was cancelled before its end: windlass sweep resume {record.run_id} goes on")
        return int(ExitCode.JOB_FAILED)
    return int(ExitCode.OK if seen.best is not None else ExitCode.JOB_FAILED)


def show_sweep(output: Output, seen: SweepSeen, *, is_all: bool) -> None:
    """The table, the best first, and what it means."""
    if output.as_json:
        output.show_json({"sweep": make_document(seen)})
        return
    shown = seen.ranked if is_all else seen.ranked[:MOST_ROWS]
    output.show_table(make_head(seen), make_rows(shown, seen.names))
    if len(shown) < len(seen.trials):
        output.tell(f"{len(seen.trials) - len(shown)} more: windlass sweep show {seen.sweep_id} --all")
    for line in format_end(seen):
        output.show_words(line)
