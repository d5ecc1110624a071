"""What was spent as a table for other programs: CSV, one line for each account, run and person."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from windlass.core.csv_rows import format_row
from windlass.core.spending.uses import Spending

HEAD = ("kind", "site", "account", "name", "unit", "used", "limit", "left", "still_at_most", "since", "until", "ends")


def format_csv(spending: Spending, *, hide: Callable[[str], str] = str) -> str:
    """Numbers with a point, times in UTC; an empty cell is what nobody told. hide: what no cell shows."""
    return "".join(format_row(map(hide, row)) for row in _list_rows(spending))


def _list_rows(spending: Spending) -> Iterator[tuple[str, ...]]:
    yield HEAD
    times = (_format_time(spending.since), _format_time(spending.now))
    for one in spending.accounts:
        numbers = _format(one.used), _format(one.limit), _format(one.left), _format(one.still)
        yield "account", spending.site, one.account, "", one.unit, *numbers, *times, _format_time(one.ends)
    for run in spending.runs:
        kind, name = ("run", run.run_id) if run.run_id else ("other jobs", "")
        used, still = _format(run.used), _format(run.still)
        yield kind, spending.site, run.account or "", name, spending.unit, used, "", "", still, *times, ""
    for person in spending.people:
        cells = "person", spending.site, person.account, person.person, spending.unit
        yield *cells, _format(person.used), "", "", "", *times, ""


def _format(number: float | None) -> str:
    return "" if number is None else f"{number:.6f}".rstrip("0").rstrip(".")


def _format_time(moment: float | None) -> str:
    return "" if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"
