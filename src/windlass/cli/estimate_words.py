"""Expected starts as people read them: when, how old the answer is, and how far such answers were off."""

from datetime import datetime, timedelta

from windlass.app.record_words import format_ago
from windlass.core.seen.estimates import Estimate, Estimates, Past, is_at_once, is_worth_telling

_WEEK_S = 6 * 86_400.0


def format_estimates(estimates: Estimates, now: float) -> list[str]:
    """The first line is about the run as it is planned; then a line for each variant."""
    chosen = estimates.chosen
    about = f"asked {_format_age(now - chosen.asked)}; {_format_past(estimates.past, chosen.partition)}"
    lines = [f"{format_start(chosen, now)} ({about})"]
    if chosen.refused is None and is_at_once(chosen):
        return lines  # nothing starts sooner
    return lines + [f"{one.what}: {_format_variant(one, chosen, now)}" for one in estimates.variants]


def format_start(estimate: Estimate, now: float) -> str:
    if estimate.refused is not None:
        return f"it would be refused: {estimate.refused}"
    if estimate.expected is None:
        return "Slurm cannot tell when it would start"
    if is_at_once(estimate):
        return "expected to start at once"
    return f"expected {format_moment(estimate.expected, now)}"


def format_moment(moment: float, now: float) -> str:
    """As short as it is clear: the hour today, the day of this week, else the date."""
    there, here = (datetime.fromtimestamp(one).astimezone() for one in (moment, now))
    is_near = abs(moment - now) < _WEEK_S
    return f"{there:{'%H:%M' if there.date() == here.date() else '%a %H:%M' if is_near else '%d %b %H:%M'}}"


def _format_variant(one: Estimate, chosen: Estimate, now: float) -> str:
    if one.refused is not None or one.expected is None or is_worth_telling(one, chosen):
        return format_start(one, now)
    return "no sooner"


def _format_age(seconds: float) -> str:
    return "just now" if seconds < 2 else f"{format_ago(seconds)} ago"


def _format_past(past: Past | None, partition: str | None) -> str:
    if past is None:
        return "no past estimates yet"
    where = f"for {partition} " if partition else ""
    jobs = f"last {past.jobs} jobs" if past.jobs > 1 else "last job"
    early, late = _format_error(past.earliest_s), _format_error(past.latest_s)
    off = early if early == late else f"{early} / {late}"
    return f"estimates {where}were {'right' if off == '0 min' else f'off by {off}'} in your {jobs}"


def _format_error(seconds: float) -> str:
    """Minutes are as fine as anybody waits."""
    minutes = round(abs(seconds) / 60)
    if not minutes:
        return "0 min"
    size = timedelta(minutes=minutes).total_seconds()
    return f"{'-' if seconds < 0 else '+'}{format_ago(size)}"
