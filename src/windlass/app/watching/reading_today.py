"""Today and the list of runs, from the store and the mirror. Nobody is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.app import listing
from windlass.app.session import Session
from windlass.app.storage.quota import load_told
from windlass.app.watching.logins import load_login_end
from windlass.app.watching.reading_runs import RunReader
from windlass.app.watching.watch import Watch
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.farm.folding import fold_pilots
from windlass.core.record import RunRecord, RunState
from windlass.core.watching.alarms import Alarm, Watched, WatchedSite, find_alarms
from windlass.core.watching.today import Today, Visits, make_today, visit
from windlass.errors import DiskFull, StoreError, WindlassError

_VISITS = "visits"
_MOST_ENDED = 500  # the last ones
_MOST_WATCHED = 300  # runs whose files are looked into for alarms
_RECENT_S = 7 * 86_400.0
_STOPPED = (RunState.OUT_OF_TIME, RunState.OUT_OF_BUDGET)  # which a resume goes on with


@dataclass(frozen=True, kw_only=True)
class RunList:
    records: tuple[RunRecord, ...]
    total: int  # of all that fit
    page: int = 1
    pages: int = 1


def load_today(watch: Watch, reader: RunReader, *, is_visit: bool = True) -> Today:
    """is_visit: somebody looks at it now; what ended before the next visit is then new."""
    session = watch.session
    now = session.clock()
    live = session.store.live_runs()
    visits = session.store.kept(_VISITS, kind=Visits) or Visits(last=now, before=now - 86_400, is_first=True)
    if is_visit:
        visits = _note_visit(session, visits, now)
    recent = session.store.ended_since(min(visits.before, now - _RECENT_S), limit=_MOST_ENDED)
    looks = watch.looks({one.site for one in live})
    shown = [*live, *(one for one in recent if one.state in _STOPPED and _is_recent(one, now))]
    alarms = load_alarms(watch, reader, shown)
    pilots = session.store.pilots(sorted({one.farm for one in (*recent, *live) if one.farm}))
    runs = fold_pilots(list({one.run_id: one for one in (*recent, *pilots, *live)}.values()))
    return make_today(runs, alarms=alarms, looks=looks, visits=visits, now=now)


def _note_visit(session: Session, visits: Visits, now: float) -> Visits:
    """Where it cannot be written down, as on a full disk, the page is shown all the same."""
    try:
        return session.store.change(_VISITS, lambda kept: visit(kept or visits, now), kind=Visits) or visits
    except (DiskFull, StoreError):
        return visit(visits, now)


def load_alarms(watch: Watch, reader: RunReader, records: Sequence[RunRecord]) -> tuple[Alarm, ...]:
    names = sorted({one.site for one in records})
    looks = watch.looks(names)
    sites = []
    for name in names:
        told = _load_quotas(watch, name)
        sites.append(
            WatchedSite(
                name=name,
                look=looks[name],
                quotas=told.quotas or (),
                quotas_seen=told.taken_at,
                login_end=load_login_end(watch.session, name),
            )
        )
    runs = tuple(reader.watch_run(one) for one in records[:_MOST_WATCHED])
    return find_alarms(Watched(now=watch.session.clock(), runs=runs, sites=tuple(sites)))


def list_runs(
    watch: Watch, *, query: str = "", site: str | None = None, states: Sequence[RunState] = (), page: int, size: int
) -> RunList:
    """Newest first, a page of them."""
    store = watch.session.store
    total = store.count_heads(site=site, states=states, query=query)
    pages = max(1, -(-total // size))
    page = min(max(1, page), pages)
    records = listing.list_runs(store, limit=size, offset=(page - 1) * size, site=site, states=states, query=query)
    return RunList(records=records, total=total, page=page, pages=pages)


def _load_quotas(watch: Watch, name: str) -> Facts:
    try:
        return load_told(watch.session, watch.session.site(name))
    except WindlassError:  # its file is gone, or wrong
        return NOTHING_SEEN


def _is_recent(record: RunRecord, now: float) -> bool:
    return now - (record.ended or record.updated) < _RECENT_S
