"""`windlass ps`: the runs and where they stand."""

import time

import click

from windlass.app.session import Session
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.cli.rows import PS_HEAD, make_row
from windlass.core.record import RunRecord


@click.command("ps")
@click.option(
    "-n", "limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="How many, newest first."
)
@click.option("-a", "--all", "show_all", is_flag=True, help="All of them.")
@click.option("--on", "site_name", metavar="SITE", help="Only runs at this site.")
@click.option("--live", is_flag=True, help="Only runs that have not ended.")
@click.option(
    "--refresh", "rebuild", is_flag=True, help="Read the sites' run folders again, also runs of other laptops."
)
@click.option("--cached", is_flag=True, help="Do not ask the sites; show what is known.")
@click.pass_obj
def command(
    output: Output, /, limit: int, show_all: bool, site_name: str | None, live: bool, rebuild: bool, cached: bool
) -> None:
    """List runs, newest first. Each site is asked once, for all its live runs together."""
    with open_session(output) as session:
        if rebuild:
            _rebuild(output, session, site_name)
        problems = {} if cached else _refresh(output, session, site_name)
        records = _list(session, site_name, live=live, limit=None if show_all else limit)
    if output.as_json:
        output.show_json({"runs": records, "stale": sorted(problems)})
    elif records:
        now = time.time()
        output.show_table(PS_HEAD, [make_row(record, now) for record in records])
    else:
        output.tell("no runs yet; start one with: windlass run")


def _list(session: Session, site_name: str | None, *, live: bool, limit: int | None) -> tuple[RunRecord, ...]:
    if live:
        return session.store.live_runs(site_name)[:limit]
    return session.store.list(limit=limit, site=site_name)


def _refresh(output: Output, session: Session, site_name: str | None) -> dict[str, object]:
    live = session.store.live_runs(site_name)
    if not live:
        return {}
    from windlass.app.refreshing import refresh

    problems = refresh(session, live).problems
    for site, problem in problems.items():
        hint = f"; {problem.hint}" if problem.hint else ""
        output.tell(f"{site} was not asked: {problem.message}{hint}")
    return dict(problems)


def _rebuild(output: Output, session: Session, site_name: str | None) -> None:
    from windlass.app.refreshing import rebuild
    from windlass.edges.site_files import list_site_names
    from windlass.errors import WindlassError

    for name in [site_name] if site_name else list_site_names(session.folders):
        try:
            found = rebuild(session, name)
        except WindlassError as problem:
            output.tell(f"{name} was not read: {problem.message}")
        else:
            output.tell(f"{name}: {len(found)} runs in its folders")
