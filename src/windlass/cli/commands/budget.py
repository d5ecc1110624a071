"""`windlass budget`: hours used and left, by run and person, and when they end."""

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session, read_site_name
from windlass.cli.output import Output
from windlass.core.units import Unreadable, read_duration
from windlass.errors import UsageError

if TYPE_CHECKING:
    from windlass.app.budgets.spending import Budgets


@click.command("budget")
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option("--on", "site_name", metavar="SITE", help="Which site; default: run.site, else here.")
@click.option("--since", "since_text", metavar="WHEN", help="From when: 2026-11-01, or 30d ago; default: the period's.")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="For the burn rate.")
@click.option("--csv", "csv_path", metavar="FILE", help="All of it as a table into this file; - is stdout.")
@click.pass_obj
def command(
    output: Output,
    /,
    runs: tuple[str, ...],
    site_name: str | None,
    since_text: str | None,
    days: int,
    csv_path: str | None,
) -> None:
    """Show hours used and left: of your accounts, by run and by person.

    With the burn of the last days, the day it would end at this rate, and what live runs may still use.
    Limits of your own are set under [budget] in windlass.toml or config.toml.

    \b
    Examples:
      windlass budget --on daint
      windlass budget --on daint --since 90d --csv hours.csv
      windlass budget digits-k3f9w --json
    """
    from windlass.app.budgets.spending import look_at_spending
    from windlass.cli.budget_words import show_budgets

    since = _read_since(since_text)
    with open_session(output) as session:
        ids = tuple(session.store.load(run).run_id for run in runs)
        name = site_name or (session.store.load(ids[0]).site if ids else read_site_name(None))
        found = look_at_spending(session, name, since=since, days=float(days), runs=ids)
    if csv_path:
        _save_csv(output, csv_path, found)
    if output.as_json:
        output.show_json({"budget": found.spending, "limits": found.limits})
    elif csv_path != "-":
        show_budgets(output, found)


def _save_csv(output: Output, path: str, found: "Budgets") -> None:
    from windlass.core.spending.table import format_csv
    from windlass.edges.files import save_file

    text = format_csv(found.spending)
    if path == "-":
        if output.as_json:
            raise UsageError("--csv - and --json cannot both be written to stdout", hint="--csv FILE")
        output.show(text)
        return
    save_file(Path(path), text.encode(), mode=None, error=UsageError)
    output.tell(f"written to {path}")


def _read_since(text: str | None) -> float | None:
    """A day, in UTC, or how long ago."""
    if text is None:
        return None
    word = text.removesuffix(" ago").strip()
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", word, re.ASCII):
        try:
            return datetime.fromisoformat(word).replace(tzinfo=UTC).timestamp()
        except ValueError:
            raise UsageError(f"--since: there is no day {word}") from None
    try:
        return time.time() - read_duration(word).total_seconds()
    except Unreadable as problem:
        raise UsageError(f"--since {word!r} {problem}", hint="--since 2026-11-01, or --since 30d") from problem
