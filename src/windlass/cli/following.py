"""Showing a run as it goes: its words on stdout, its states on stderr, until it ends or Ctrl-C."""

from windlass.app.following import Update, follow, wait
from windlass.app.logs import LogReader
from windlass.app.record_words import format_clock
from windlass.app.session import Session
from windlass.cli.output import Output
from windlass.cli.words import format_end
from windlass.core.record import RunRecord, RunState
from windlass.errors import ExitCode, Interrupted


def show_until_the_end(
    output: Output, session: Session, record: RunRecord, reader: LogReader, *, is_fetched: bool = False
) -> int:
    """0 when the run is done, 7 when it ended in another way."""
    last, told = record, ""
    try:
        for update in follow(session, record, reader=reader):
            last = update.record or last
            told = _show(output, update, told)
    except KeyboardInterrupt:
        raise make_interrupted(record) from None
    return show_end(output, session, last, is_fetched=is_fetched)


def show_record_at_the_end(output: Output, session: Session, record: RunRecord) -> int:
    """For --json: one document, when there is nothing more to come."""
    try:
        record = wait(session, record)
    except KeyboardInterrupt:
        raise make_interrupted(record) from None
    output.show_json({"run": record})
    return int(ExitCode.OK if record.state is RunState.DONE else ExitCode.JOB_FAILED)


def make_interrupted(record: RunRecord) -> Interrupted:
    return Interrupted(
        "stopped following",
        hint=f"windlass logs -f {record.run_id}",
        done=f"run {record.run_id} goes on; stop it with: windlass cancel {record.run_id}",
    )


def show_end(output: Output, session: Session, record: RunRecord, *, is_fetched: bool = False) -> int:
    """is_fetched: its results are brought here without being asked for."""
    good = record.state is RunState.DONE
    output.tell(output.paint(format_end(record), "green" if good else "red"))
    if good:
        if record.results and not is_fetched:
            output.tell(f"results: windlass fetch {record.run_id}")
        _show_advice(output, session, record)
        return int(ExitCode.OK)
    output.tell(f"why: windlass explain {record.run_id}")
    _show_advice(output, session, record)
    return int(ExitCode.JOB_FAILED)


def _show_advice(output: Output, session: Session, record: RunRecord) -> None:
    """One line, where there is any."""
    from windlass.app.reporting import advise_at_the_end

    if found := advise_at_the_end(session, record):
        from windlass.cli.report_words import format_advice_in_short

        output.tell(format_advice_in_short(found, record.run_id))


def _show(output: Output, update: Update, told: str) -> str:
    """What was told of its state last: not everything new in a record is news to the reader."""
    if update.problem:
        output.tell(output.paint(update.problem, "yellow"))
    if update.log:
        output.show_bytes(update.log)
    if update.record is None or update.record.state.is_final or format_state(update.record) == told:
        return told
    told = format_state(update.record)
    output.tell(output.paint(told, "grey"))
    return told


def format_state(record: RunRecord) -> str:
    link = f" link {record.link or 1} of {record.links}" if record.links > 1 else ""
    if record.state is RunState.WAITING:
        reason = f" ({record.reason})" if record.reason else ""
        start = f", start about {format_clock(record.expected_start)}" if record.expected_start else ""
        after = f"; {record.interrupted}" if record.interrupted else ""
        return f"waiting{reason}{start}{after}"
    where = f" on {record.nodes}" if record.nodes else ""
    return f"{record.state}{link}{where}"
