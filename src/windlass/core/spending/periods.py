"""Months, quarters and years, as budgets are counted by them: from the first day, in UTC."""

from datetime import UTC, datetime

_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def find_period_start(period: str | None, now: float) -> float | None:
    """The beginning of this month, quarter or year, in seconds since 1970; None for a period that nobody named."""
    months = _MONTHS.get((period or "").lower())
    if months is None:
        return None
    today = datetime.fromtimestamp(now, UTC)
    return datetime(today.year, (today.month - 1) // months * months + 1, 1, tzinfo=UTC).timestamp()


def find_period_end(period: str, now: float) -> float:
    """The beginning of the next."""
    months = _MONTHS[period.lower()]
    today = datetime.fromtimestamp(now, UTC)
    count = today.year * 12 + (today.month - 1) // months * months + months
    return datetime(count // 12, count % 12 + 1, 1, tzinfo=UTC).timestamp()


def format_day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
