"""What a record says, in words: for tables, pages and the terminal's screen. Imports little: `ps` must start fast."""

from datetime import datetime

from windlass.core.record import RunRecord, RunState

_LONGEST_WHY = 100


def format_why(record: RunRecord) -> str:
    """Why it waits or ended, how far it is and when it will be done, and what befell an earlier link."""
    interrupted = "" if record.state.is_final else record.interrupted
    parts = (_format_reason(record), format_tasks(record), format_outlook(record), interrupted)
    return "; ".join(part for part in parts if part)


def format_tasks(record: RunRecord) -> str:
    """Of a farm: such as "1 of 8 tasks failed, 2 stopped"."""
    of = f"of {record.progress_of or 0:g} tasks"
    if not record.tasks_failed:
        return f"{record.tasks_stopped} {of} stopped" if record.tasks_stopped else ""
    return f"{record.tasks_failed} {of} failed" + (f", {record.tasks_stopped} stopped" if record.tasks_stopped else "")


def _format_reason(record: RunRecord) -> str:
    if record.state is RunState.WAITING and record.expected_start:
        return f"{record.reason or ''} start about {format_clock(record.expected_start)}".strip()
    return "" if record.reason == record.state.value else _shorten(record.reason or "")


def format_outlook(record: RunRecord) -> str:
    """Such as: ends ~ Tue 14:20 (epoch 12 of 90)."""
    if record.missing_links:
        links = "1 more link" if record.missing_links == 1 else f"{record.missing_links} more links"
        then = "" if record.state.is_final else "when these are used, "
        return f"needs {links}: {then}{record.again}{_in_brackets(format_progress(record))}"
    if record.expected_end is None:
        return format_progress(record) if record.state is RunState.RUNNING else ""
    # How long a later link waits in the queue nobody knows.
    at_the_earliest = " or later" if record.links_needed else ""
    return f"ends ~ {format_clock(record.expected_end)}{at_the_earliest}{_in_brackets(format_progress(record))}"


def format_progress(record: RunRecord) -> str:
    if record.progress_done is None:
        return ""
    of = f" of {record.progress_of:g}" if record.progress_of is not None else ""
    return f"{record.progress_unit or 'step'} {record.progress_done:g}{of}"


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


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
