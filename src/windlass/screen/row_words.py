"""The list of runs in lines: alarms, running, waiting (the queue), ended since one last looked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windlass.app.record_words import format_ago, format_clock, format_outlook, format_tasks
from windlass.core.record import RunRecord, RunState
from windlass.core.watching.alarms import Alarm, Urgency
from windlass.core.watching.today import Today
from windlass.screen.lines import Line, clean, fit

# The word is always there too: colour is never the only sign.
STYLES = {
    RunState.RUNNING: "green",
    RunState.DONE: "blue",
    RunState.WAITING: "yellow",
    RunState.SUBMITTING: "yellow",
    RunState.FAILED: "bold red",
    RunState.LOST: "bold red",
    RunState.NOT_SUBMITTED: "bold red",
    RunState.OUT_OF_TIME: "magenta",
    RunState.OUT_OF_BUDGET: "magenta",
    RunState.CANCELLED: "dim",
}
_WIDEST_RUN = 28
_WIDEST_SITE = 12
_MOST_ROWS = 200  # of each kind: `windlass ps` and the dashboard list all
_NOBODY = "nothing runs, nothing waits, and nothing has ended"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the list."""

    line: Line
    run_id: str | None = None  # None: a heading, or about no run
    group: str = ""

    @property
    def key(self) -> tuple[str, str] | None:
        return (self.group, self.run_id) if self.run_id else None


@dataclass(frozen=True, kw_only=True)
class _Widths:
    run: int
    site: int


def make_rows(today: Today) -> tuple[Row, ...]:
    widths = _measure(today)
    ended = _list_ended(today, widths)
    groups = (
        ("alarms", [_make_alarm(alarm, widths) for alarm in today.alarms]),
        ("running", [_make_running(one, widths, today.now) for one in today.running]),
        ("waiting", [_make_waiting(one, widths, today.now) for one in today.waiting]),
        (f"ended in the last {'day' if today.is_first else format_ago(today.now - today.since)}", ended),
    )
    rows = [row for name, listed in groups for row in _make_group(name, listed)]
    since = "in the last day" if today.is_first else "since you last looked"
    return tuple(rows) or (
        Row(line=((f"{_NOBODY} {since}", "dim"),)),
        Row(line=(("windlass run starts something", "dim"),)),
    )


def _make_group(name: str, rows: Sequence[Row]) -> Iterator[Row]:
    if rows:
        yield Row(line=((f"{name} ({len(rows)})", "bold"),))
        yield from rows[:_MOST_ROWS]
    if len(rows) > _MOST_ROWS:
        yield Row(line=((f"  and {len(rows) - _MOST_ROWS} more: windlass ps", "dim"),))


def _make_alarm(alarm: Alarm, widths: _Widths) -> Row:
    about = fit(clean(alarm.run_id or alarm.site or ""), widths.run)
    style = "bold red" if alarm.urgency is Urgency.NOW else "yellow"
    line = (("! ", style), (f"{about} ", ""), (clean(alarm.message), style))
    return Row(line=line, run_id=alarm.run_id, group=f"alarm {alarm.kind}")


def _make_running(record: RunRecord, widths: _Widths, now: float) -> Row:
    lasts = format_ago(now - (record.started or record.created))
    link = f"link {record.link or 1}/{record.links}  " if record.links > 1 else ""
    outlook = clean(format_outlook(record) or record.reason or "")
    why = "; ".join(part for part in (format_tasks(record), outlook) if part)
    return _make_row(record, widths, f"for {lasts}", link + why)


def _make_waiting(record: RunRecord, widths: _Widths, now: float) -> Row:
    """When it is expected to start, and what it waits for."""
    start = f"starts ~ {format_clock(record.expected_start)}" if record.expected_start else "start not known"
    state = "" if record.state is RunState.WAITING else record.state.value
    why = "  ".join(part for part in (state, start, clean(record.reason or "")) if part)
    return _make_row(record, widths, f"for {format_ago(now - record.created)}", why)


def _list_ended(today: Today, widths: _Widths) -> list[Row]:
    rows = []
    for record in today.ended:
        reason = "" if record.reason == record.state.value else clean(record.reason or "")
        ago = f"{format_ago(today.now - (record.ended or record.updated))} ago"
        why = "  ".join(part for part in (record.state.value, reason, format_tasks(record)) if part)
        rows.append(_make_row(record, widths, ago, why))
    return rows


def _make_row(record: RunRecord, widths: _Widths, when: str, why: str) -> Row:
    site = fit(clean(record.site), widths.site)
    run = fit(clean(record.run_id), widths.run)
    style = STYLES[record.state]
    line = (("  ", ""), (f"{run} ", ""), (f"{site} ", "cyan"), (f"{fit(when, 10)} ", ""), (why, style))
    return Row(line=line, run_id=record.run_id, group="run")


def _measure(today: Today) -> _Widths:
    records = (*today.running, *today.waiting, *today.ended)
    run = max((len(one.run_id) for one in records), default=12)
    site = max((len(one.site) for one in records), default=4)
    return _Widths(run=min(run, _WIDEST_RUN), site=min(site, _WIDEST_SITE))
