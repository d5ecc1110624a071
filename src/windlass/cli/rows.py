"""Rows of `windlass ps`. Apart from `words`, because `ps` must start fast and needs no plan for it."""

from datetime import datetime

from windlass.core.record import RunRecord, RunState

PS_HEAD = ("RUN", "SITE", "STATE", "LINK", "JOB", "AGE", "WHY")


def make_row(record: RunRecord, now: float) -> tuple[str, ...]:
    link = f"{record.link or 0}/{record.links}" if record.links > 1 else ""
    return (
        record.run_id,
        record.site,
        record.state.value,
        link,
        record.job_id or "",
        format_ago(now - record.created),
        format_why(record),
    )


def format_why(record: RunRecord) -> str:
    if record.state is RunState.WAITING and record.expected_start:
        return f"{record.reason or ''} start about {format_clock(record.expected_start)}".strip()
    return (record.reason or "")[:60]


def format_ago(seconds: float) -> str:
    """One unit is enough for an age."""
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name}"
    return f"{max(0, int(seconds))} s"


def format_clock(moment: float) -> str:
    there = datetime.fromtimestamp(moment).astimezone()
    return f"{there:%a %H:%M}"
