"""`budget`: what was used at a site, by run and person, what is left of it and when it ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windlass.app.budgets.counting import list_ids
from windlass.app.session import Session
from windlass.app.watching.mirroring import NAME
from windlass.core.gauges.idleness import find_idle_share
from windlass.core.gauges.lines import read_files
from windlass.core.record import RunRecord
from windlass.core.site import Site
from windlass.core.spending.amounts import Amount
from windlass.core.spending.jobs import count_rate
from windlass.core.spending.own import HOUR_S, Scope, count_use
from windlass.core.spending.periods import find_period_start
from windlass.core.spending.records import add_later_links, make_jobs
from windlass.core.spending.report import DAY_S, make_spending
from windlass.core.spending.uses import Spending, Told, Window
from windlass.edges.mirror import Mirror
from windlass.edges.spending import Question, ask_spending
from windlass_job import wire

_DAYS = 7.0
_MOST_RUNS = 5000
_MOST_READ = 50  # runs whose gauges are read for it: a day of 64 GPUs takes seconds


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """One limit of the user's own: whose, and what counts under it."""

    scope: str
    of: str  # the run, the name, or the site
    limit: Amount
    used: float

    @property
    def left(self) -> float:
        return self.limit.hours - self.used


@dataclass(frozen=True, kw_only=True)
class Budgets:
    spending: Spending
    limits: tuple[LimitUse, ...] = ()  # of runs that live


def look_at_spending(
    session: Session, name: str, *, since: float | None = None, days: float = _DAYS, runs: Sequence[str] = ()
) -> Budgets:
    """In one round trip. since: default is the beginning of the site's accounting period, else thirty days ago.

    runs: only these are listed.
    """
    site, now = session.site(name), session.clock()
    begin = since if since is not None else find_period_start(site.accounting.period, now) or now - 30 * DAY_S
    window = Window(since=begin, now=now, days=days)
    records = session.store.list(limit=_MOST_RUNS, site=site.name)
    # The burn is taken over the last days, and own limits over the month: both may begin earlier.
    earliest = min(begin, now - days * DAY_S, find_period_start("month", now) or begin)
    question = Question(site=site, since=earliest, runs=list_ids(records))
    told = ask_spending(session.host(site), question, window, session.last_facts(site))
    jobs = add_later_links(told.jobs, records) if told.has_jobs else make_jobs(records, now)
    told = replace(told, jobs=jobs)
    farms = {one.run_id: one.farm for one in records if one.farm is not None}
    spending = make_spending(
        site.name, site.accounting, told, window, wasted=find_wasted(session, records), farms=farms
    )
    if runs:
        spending = replace(spending, runs=tuple(one for one in spending.runs if one.run_id in runs))
    return Budgets(spending=spending, limits=_list_limits(site, records, told, now))


def find_wasted(session: Session, records: Sequence[RunRecord]) -> Mapping[str, float]:
    """By run, the share of its GPU hours in which the GPUs did nothing, where its gauges were brought here."""
    mirror = Mirror(session.folders.state / NAME)
    found: dict[str, float] = {}
    for record in [one for one in records if one.size and one.size.gpus][:_MOST_READ]:
        paths = [path for path in mirror.load(record.run_id).files if path.startswith(f"{wire.GAUGES}/")]
        texts = {path.removeprefix(f"{wire.GAUGES}/"): mirror.read(record.run_id, path) for path in paths}
        share = find_idle_share(read_files({name: text.decode(errors="replace") for name, text in texts.items()}))
        if share is not None:
            found[record.run_id] = share
    return found


def _list_limits(site: Site, records: Sequence[RunRecord], told: Told, now: float) -> tuple[LimitUse, ...]:
    """Each once: the newest run of a name tells what holds for the name."""
    found: dict[tuple[str, str], LimitUse] = {}
    for record in records:
        for limit in record.limits if not record.state.is_final else ():
            of = {Scope.RUN: record.run_id, Scope.MONTH: record.name}.get(Scope(limit.scope), site.name)
            if limit.scope == Scope.RUN:
                rate = count_rate(record.size, limit.unit, site.accounting) if record.size else None
                used = None if rate is None else (record.spent_s or 0.0) / HOUR_S * rate
            else:
                use = count_use(limit, told.jobs, name=record.name, accounting=site.accounting, now=now)
                used = use.used if use else None
            if used is not None:
                amount = Amount(hours=limit.hours, unit=limit.unit)
                found.setdefault((limit.scope, of), LimitUse(scope=limit.scope, of=of, limit=amount, used=used))
    return tuple(found.values())
