"""What was spent as a table for other programs: CSV, one line for each account, run and person."""

import csv
import io
from datetime import UTC, datetime

from windlass.core.spending.uses import Spending

HEAD = ("kind", "site", "account", "name", "unit", "used", "limit", "left", "still_at_most", "since", "until", "ends")


def format_csv(spending: Spending) -> str:
    """Numbers with a point, times in UTC; an empty cell is what nobody told."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    times = (_format_time(spending.since), _format_time(spending.now))
    for one in spending.accounts:
        numbers = _format(one.used), _format(one.limit), _format(one.left), _format(one.still)
        writer.writerow(
            ("account", spending.site, _disarm(one.account), "", one.unit, *numbers, *times, _format_time(one.ends))
        )
    for run in spending.runs:
        kind, name = ("run", _disarm(run.run_id)) if run.run_id else ("other jobs", "")
        used, still = _format(run.used), _format(run.still)
        writer.writerow(
            (kind, spending.site, _disarm(run.account or ""), name, spending.unit, used, "", "", still, *times, "")
        )
    for person in spending.people:
        cells = "person", spending.site, _disarm(person.account), _disarm(person.person), spending.unit
        writer.writerow((*cells, _format(person.used), "", "", "", *times, ""))
    return text.getvalue()


def _format(number: float | None) -> str:
    return "" if number is None else f"{number:.6f}".rstrip("0").rstrip(".")


def _format_time(moment: float | None) -> str:
    return "" if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _disarm(name: str) -> str:
    """A table program takes a cell that begins so for a formula."""
    return f"'{name}" if name[:1] in ("=", "+", "-", "@", "\t") else name
