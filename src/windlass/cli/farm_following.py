"""Showing a farm as it goes: a line when something changed, until its tasks are over or Ctrl-C."""

from windlass.app.farms.following import FarmSeen, follow_farm
from windlass.app.farms.looking import START, stream_results
from windlass.app.session import Session
from windlass.cli.farm_words import format_counts, format_cuts, format_end, format_failures, format_pace
from windlass.cli.output import Output
from windlass.core.farm.overview import Overview
from windlass.core.farm.results import FailureGroup
from windlass.core.farm.values import Cursor
from windlass.core.record import RunRecord
from windlass.errors import ExitCode, Interrupted

_EVERY_S = 30.0  # between two lines, where nobody looks at a terminal


def show_farm_to_the_end(output: Output, session: Session, lead: RunRecord) -> int:
    """0 when all tasks are done, 1 when some failed, 7 when nobody is left to run the rest."""
    overview = Overview()
    cursor, told, next_line, seen = START, "", 0.0, None
    try:
        for seen in follow_farm(session, lead, tell=output.tell, sends=True):
            if session.clock() < next_line and not seen.status.is_over:
                continue
            cursor = _read_on(session, lead, overview, cursor)
            line = _format(seen, overview, session.clock())
            if line != told:
                told, next_line = line, session.clock() + (2.0 if output.is_terminal else _EVERY_S)
                output.tell(output.paint(line, "grey"))
    except KeyboardInterrupt:
        raise Interrupted(
            "stopped following",
            hint=f"windlass farm status {lead.run_id}",
            done=f"farm {lead.run_id} goes on; stop it with: windlass farm cancel {lead.run_id}",
        ) from None
    assert seen is not None
    _read_on(session, lead, overview, cursor)
    return _show_end(output, session, lead, seen, overview.failures)


def _read_on(session: Session, lead: RunRecord, overview: Overview, cursor: Cursor) -> Cursor:
    reached = cursor
    for some, at in stream_results(session, lead, cursor):
        overview.take(some)
        reached = at
    return reached


def _format(seen: FarmSeen, overview: Overview, now: float) -> str:
    if not seen.status.running and not seen.status.done and not seen.status.failed:
        states = sorted({f"{one.state}{f' ({one.reason})' if one.reason else ''}" for one in seen.live})
        return f"{format_counts(seen.status)}; pilots: {', '.join(states) or 'none'}"
    pace = format_pace(overview.find_pace(seen.status, now))
    return f"{format_counts(seen.status)}{f'; {pace}' if pace else ''}"


def _show_end(
    output: Output, session: Session, lead: RunRecord, seen: FarmSeen, failures: tuple[FailureGroup, ...]
) -> int:
    status = seen.status
    if output.as_json:
        output.show_json({"farm": status, "failures": failures})
    is_good = status.is_over and not status.failed
    output.tell(output.paint(format_end(status, lead.created, session.clock()), "green" if is_good else "red"))
    for line in format_failures(failures, lead.run_id):
        output.tell(line)
    for line in format_cuts(status, seen.pilot_s):
        output.tell(line)
    return tell_what_next(output, lead, seen)


def tell_what_next(output: Output, lead: RunRecord, seen: FarmSeen) -> int:
    """The exit code too."""
    if seen.is_left_alone:
        output.tell(f"no pilot is left for the rest: {lead.again}")
        return int(ExitCode.JOB_FAILED)
    if seen.status.failed:
        output.tell(f"again: {lead.command_of_failed}")
        return int(ExitCode.FAILED)
    output.tell(f"results: windlass farm results {lead.run_id}, windlass fetch {lead.run_id}")
    return int(ExitCode.OK)
