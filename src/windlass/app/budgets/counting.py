"""What this user's jobs have used under the limits of a month or a site, asked of the site."""

from collections.abc import Iterable, Sequence

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.site import CostUnit, Site
from windlass.core.spending.amounts import Amount
from windlass.core.spending.jobs import JobSpent, count_rate
from windlass.core.spending.limit import OwnLimit
from windlass.core.spending.own import HOUR_S, OwnUse, Scope, count_use, find_span
from windlass.core.spending.records import add_later_links, make_jobs
from windlass.edges.spending import Question, ask_jobs
from windlass.errors import WindlassError

_MOST_RUNS = 2000


def count_own_use(
    session: Session, site: Site, limits: Sequence[OwnLimit], *, name: str, max_age_s: float = 0.0
) -> tuple[OwnUse, ...] | None:
    """Of those limits that count more than one run; None where one of them cannot be counted."""
    spanning = [one for one in limits if one.scope != Scope.RUN]
    if not spanning:
        return ()
    now = session.clock()
    since = min(find_span(one, site.accounting.period, now)[0] for one in spanning)
    jobs = load_jobs(session, site, since, max_age_s=max_age_s)
    found = [count_use(one, jobs, name=name, accounting=site.accounting, now=now) for one in spanning]
    return None if None in found else tuple(one for one in found if one is not None)


def count_so_far(session: Session, record: RunRecord) -> Amount | None:
    """What one run has used, as far as its agent told; nobody is asked. None: nobody can tell."""
    if record.size is None or record.spent_s is None:
        return None
    try:
        accounting = session.site(record.site).accounting
    except WindlassError:  # its file is gone
        return None
    unit = str(accounting.unit)
    if accounting.unit in (CostUnit.NONE, CostUnit.UNKNOWN):
        unit = str(CostUnit.GPU_HOURS if record.size.gpus else CostUnit.CORE_HOURS)
    rate = count_rate(record.size, unit, accounting)
    return None if rate is None else Amount(hours=record.spent_s / HOUR_S * rate, unit=unit)


def load_jobs(session: Session, site: Site, since: float, *, max_age_s: float = 0.0) -> tuple[JobSpent, ...]:
    """From accounting; where there is none, from what this laptop knows of its runs."""
    key = f"spent:{site.name}:{int(since)}"
    kept = session.store.kept(key, max_age_s=max_age_s, kind=tuple[JobSpent, ...]) if max_age_s else None
    if kept is not None:
        return kept
    records = session.store.list(limit=_MOST_RUNS, site=site.name)
    jobs = ask_jobs(session.host(site), Question(site=site, since=since, runs=list_ids(records)))
    jobs = make_jobs(records, session.clock()) if jobs is None else add_later_links(jobs, records)
    session.store.keep(key, jobs)
    return jobs


def list_ids(records: Iterable[RunRecord]) -> frozenset[str]:
    return frozenset(one.run_id for one in records)
