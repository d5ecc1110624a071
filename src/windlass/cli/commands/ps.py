"""`windlass ps`: the runs and where they stand."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windlass.app.listing import list_runs
from windlass.app.session import Session
from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.cli.rows import PS_HEAD, make_row
from windlass.core.record import LIVE, RunRecord, RunState

if TYPE_CHECKING:
    from windlass.core.farm.values import FarmStatus


@click.command("ps")
@click.option(
    "-n", "limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="How many, newest first."
)
@click.option("-a", "--all", "show_all", is_flag=True, help="All of them.")
@click.option("--on", "site_name", metavar="SITE", help="Only runs at this site.")
@click.option("--live", is_flag=True, help="Only runs that have not ended.")
@click.option(
    "--refresh", "rebuild", is_flag=True, help="Read the run folders of your sites again, also runs of other laptops."
)
@click.option("--cached", is_flag=True, help="Do not ask the sites; show what is known.")
@click.pass_obj
def command(
    output: Output, /, limit: int, show_all: bool, site_name: str | None, live: bool, rebuild: bool, cached: bool
) -> None:
    """List runs, newest first. Each site is asked once, for all its live runs together.

    A site that was asked less than ten seconds ago, by whatever watches here, is not asked again.
    Your sites are those that you added, logged in to, name in your settings or have runs at, and this machine.
    """
    with open_session(output) as session:
        if rebuild:
            _rebuild(output, session, site_name)
        stale = [] if cached else _refresh(output, session, site_name)
        states = LIVE if live else ()
        records = list_runs(session.store, limit=None if show_all else limit, site=site_name, states=states)
        counts = {} if cached else _count_farms(output, session, records, stale)
        left = _find_left(session, records)
        why_none = "" if records else _explain_none(session, site_name, live=live)
    if output.as_json:
        output.show_json({"runs": records, "stale": stale, "farms": counts})
    elif records:
        now = time.time()
        output.show_table(PS_HEAD, [make_row(one, now, farm=counts.get(one.run_id)) for one in records])
        for run_id in left:
            output.tell(
                f"nobody on this machine has notebook {run_id} open, and its job goes on; "
                f"come back: windlass jupyter {run_id}     stop it: windlass cancel {run_id}"
            )
    else:
        output.tell(why_none)


def _explain_none(session: Session, site_name: str | None, *, live: bool) -> str:
    """Why the list is empty: there are none, they were lost, or none is as it was asked for."""
    from windlass.edges.store_file import REFILL, find_damaged

    known = session.store.count()
    if known:
        where = f" at {site_name}" if site_name else ""
        words = f"no live runs{where}" if live else f"no runs{where}"
        return f"{words}; {known} in all: windlass ps"
    damaged = find_damaged(session.store.path)
    if damaged is not None:
        return f"no runs are known: the list before is damaged and lies in {damaged.name}; {REFILL}"
    return "no runs yet; start one with: windlass run"


def _find_left(session: Session, records: tuple[RunRecord, ...]) -> list[str]:
    """Notebooks that run with nobody at them."""
    if not any(one.state is RunState.RUNNING for one in records):
        return []
    from windlass.app.services.attending import find_left

    return [one.run_id for one in find_left(session, records)]


def _count_farms(
    output: Output, session: Session, records: tuple[RunRecord, ...], stale: list[str]
) -> "dict[str, FarmStatus]":
    """Of farms that are worked on; each is asked for its numbers."""
    live = {one.farm for one in records if one.farm and not one.state.is_final and one.site not in stale}
    if not live:
        return {}
    from windlass.app.farms.looking import load_status
    from windlass.errors import WindlassError

    counts = {}
    for run_id in sorted(live):
        try:
            counts[run_id] = load_status(session, session.store.load(run_id))
        except WindlassError as problem:
            output.tell(f"farm {run_id} was not asked: {problem.message}")
    return counts


def _refresh(output: Output, session: Session, site_name: str | None) -> list[str]:
    """The sites that could not be asked."""
    names = sorted({one.site for one in session.store.live_runs(site_name)})
    if not names:
        return []
    from windlass.app.watching.looking import look_around
    from windlass.core.units import format_seconds
    from windlass.core.watching.looks import LEAST_S, USUAL_S

    looks = look_around(session, names)
    now = session.clock()
    for name, look in looks.items():
        if look.problem is not None:
            output.tell(f"{name} was not asked: {look.problem}{f'; {look.hint}' if look.hint else ''}")
            continue
        poll_s = session.site(name).rules.poll_s
        if look.seen is not None and look.is_older(LEAST_S, now) and poll_s > USUAL_S:
            ago = format_seconds(now - look.seen)
            output.tell(f"{name} was asked {ago} ago, and not again: its site file has poll_s = {poll_s}")
    return [name for name, look in looks.items() if look.problem is not None]


def _rebuild(output: Output, session: Session, site_name: str | None) -> None:
    from windlass.app.own_sites import find_own_sites
    from windlass.app.projects import find_project_folder
    from windlass.app.refreshing import rebuild
    from windlass.errors import WindlassError

    own = () if site_name else find_own_sites(session, find_project_folder(Path.cwd(), session.environ))
    for name in [site_name] if site_name else own:
        try:
            found = rebuild(session, name)
        except WindlassError as problem:
            output.tell(f"{name} was not read: {problem.message}")
        else:
            output.tell(f"{name}: {len(found)} runs in its folders")
    if own:
        output.tell("only sites of yours were read; another: windlass ps --refresh --on SITE")
