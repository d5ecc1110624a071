"""Numbers, times and states as people read them on a page."""

import re
from datetime import datetime

from markupsafe import Markup, escape

from windlass.app.record_words import format_ago
from windlass.core.record import RunRecord, RunState
from windlass.core.units import format_bytes, format_seconds

# How loud a state is; colours come from the style sheet, and the word is always there too.
TONES = {
    RunState.RUNNING: "good",
    RunState.DONE: "done",
    RunState.WAITING: "calm",
    RunState.SUBMITTING: "calm",
    RunState.FAILED: "bad",
    RunState.LOST: "bad",
    RunState.NOT_SUBMITTED: "bad",
    RunState.OUT_OF_TIME: "warn",
    RunState.OUT_OF_BUDGET: "warn",
    RunState.CANCELLED: "quiet",
}

_SETTING = re.compile(r"\[([\w.-]+)\] ([\w.-]+ = [^\n]+)")


def format_age(moment: float | None, now: float) -> Markup:
    """ "3 min ago", which the page's script keeps right while it is open."""
    if moment is None:
        return Markup('<span class="quiet">never</span>')
    there = find_local(moment)
    if there is None:
        return Markup('<span class="quiet">at an odd time</span>')
    words = format_ago(abs(now - moment)) + (" ago" if moment <= now else "")
    lead = "" if moment <= now else "in "
    return Markup('<time datetime="{}" data-age title="{}">{}{}</time>').format(
        there.isoformat(timespec="seconds"), f"{there:%a %d %b %Y, %H:%M:%S}", lead, words
    )


def format_clock(moment: float | None) -> Markup:
    there = find_local(moment) if moment is not None else None
    if there is None:
        return Markup("")
    shown = Markup('<time datetime="{}">{}</time>')
    return shown.format(there.isoformat(timespec="seconds"), f"{there:%a %d %b %H:%M}")


def find_local(moment: float) -> datetime | None:
    """On this machine's clock; None where no calendar has it: a training may tell any number as its time."""
    try:
        return datetime.fromtimestamp(moment).astimezone()
    except (OverflowError, ValueError, OSError):
        return None


def format_day(moment: float | None) -> Markup:
    """Far away: the day is enough."""
    there = None if moment is None else find_local(moment)
    if there is None:
        return Markup("")
    return Markup('<time datetime="{}">{}</time>').format(f"{there:%Y-%m-%d}", f"{there:%d %b %Y}".lstrip("0"))


def format_span(seconds: float | None) -> str:
    """Two units at most; below a minute one."""
    if seconds is None:
        return ""
    return format_seconds(seconds)


def format_size(count: int | None) -> str:
    return "" if count is None else format_bytes(count)


def format_number(value: float | None) -> str:
    """As many figures as one compares by."""
    return "" if value is None else f"{value:.5g}"


def format_state(state: RunState) -> Markup:
    return Markup('<span class="state {}">{}</span>').format(TONES[state], state.value)


def format_standing(record: RunRecord) -> Markup:
    """Its state; a farm that is done with failed tasks is no success."""
    is_partly = record.state is RunState.DONE and record.tasks_failed
    tone = "warn" if is_partly else TONES[record.state]
    return Markup('<span class="state {}">{}</span>').format(tone, record.state.value)


def count_percent(record: RunRecord) -> int | None:
    if record.progress_done is None or not record.progress_of:
        return None
    return max(0, min(100, round(100 * record.progress_done / record.progress_of)))


def format_hint(hint: str) -> Markup:
    """What can be pasted stands as it is pasted: lines of TOML below their section, or a command."""
    section = _SETTING.fullmatch(hint)
    if section is not None:
        return Markup('<pre class="paper" tabindex="0" aria-label="lines for windlass.toml">[{}]\n{}</pre>').format(
            section[1], section[2]
        )
    shown = Markup("<p><code>{}</code></p>") if hint.startswith("windlass ") else Markup("<p>{}</p>")
    return shown.format(hint)


def make_class(styles: tuple[str, ...]) -> str:
    """Of a piece of a log."""
    return escape(" ".join(f"ansi-{style}" for style in styles))
