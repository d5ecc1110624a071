"""Rows and cells of tables. Apart from `words`, because `ps` must start fast and needs no plan for it."""

from datetime import datetime

from windlass.core.record import RunRecord, RunState

_LONGEST_WHY = 100
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
    return "" if record.reason == record.state.value else _shorten(record.reason or "")


def _shorten(text: str) -> str:
    """One line, whole words: what was said in full is told by `windlass explain`."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_WHY else f"{line[:_LONGEST_WHY].rpartition(' ')[0] or line[:_LONGEST_WHY]} …"


def format_ago(seconds: float) -> str:
    """One unit is enough for an age."""
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name}"
    return f"{max(0, int(seconds))} s"


def format_clock(moment: float) -> str:
    there = datetime.fromtimestamp(moment).astimezone()
    return f"{there:%a %H:%M}"


def format_nodes(there: int | None, most: int | None) -> str:
    """How many nodes there are; with what one job may have of them, where that is less."""
    if there is None or most is None:
        return str(there or most or "")
    return f"{most} of {there}" if most < there else str(there)
