"""`quota`: bytes and files of each area, asked just now; and walks through them by long work at the site."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.app.session import Session
from windlass.core.facts import Facts, SeenQuota
from windlass.core.record import RunRecord
from windlass.core.seen.holdings import Holding, list_holdings
from windlass.core.seen.walked import OURS, Walk, make_places, read_walk
from windlass.core.site import Area, Site
from windlass.edges.environments import fetch_all
from windlass.edges.host import Host, Json, read_completed
from windlass.edges.numbers import add_numbers, make_number_requests
from windlass.edges.site_work import Look, SiteWork, fetch_root
from windlass.errors import ConnectionLost, HostUnreachable, LoginNeeded, NotFound, SiteNotReady

WALK_S = 60.0
MOST_ENTRIES = 5_000_000
_LOOK_S = 1.0
_LEAST_S = 10.0
_MARGIN = 6.0  # the worker itself gives up a folder that takes five times as long as all may take


@dataclass(frozen=True, kw_only=True)
class AreaUse:
    area: Area
    quota: SeenQuota | None = None  # None: it was not told


@dataclass(frozen=True, kw_only=True)
class Quotas:
    site: str
    areas: tuple[AreaUse, ...]
    taken_at: float | None = None  # when the numbers were told; None: never
    note: str | None = None  # why they are not from now
    walk: Walk | None = None  # the last one
    holdings: tuple[Holding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Of a walk. within: what will be purged in this time; area: only this one."""

    within: timedelta = timedelta(days=14)
    only_purged: bool = False
    area: str | None = None
    limit_s: float = WALK_S


def look_at_quotas(session: Session, name: str) -> Quotas:
    """In one round trip, bounded in time; what was told last where the site cannot be reached."""
    site = session.site(name)
    facts, note = _ask(session, site)
    areas = tuple(
        AreaUse(area=area, quota=next((one for one in facts.quotas or () if one.area == area.name), None))
        for area in site.storage
    )
    walk = session.store.kept(_make_key(site), kind=Walk)
    return _with_holdings(
        session, Quotas(site=site.name, areas=areas, taken_at=facts.taken_at, note=note, walk=walk), site
    )


def load_told(session: Session, site: Site) -> Facts:
    """Quotas as they were told last, by the survey before a run or by whoever asked for them alone; nobody is asked."""
    surveyed = session.last_facts(site) or Facts()
    asked = session.store.kept(_make_told_key(site), kind=Facts) or Facts()
    return max(surveyed, asked, key=lambda one: (one.quotas is not None, one.taken_at or 0.0))


def walk_storage(
    session: Session,
    name: str,
    wanted: Wanted,
    *,
    show: Callable[[Look], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Walk:
    """By work at the site that goes on without us; asked for again it goes on where it stopped.

    NotFound: there is no such area. SiteNotReady: it did not come to an end in time.
    """
    site = session.site(name)
    host = session.transfer_host(site)
    root = fetch_root(host, site)
    facts = session.last_facts(site) or session.facts(site)
    places = make_places(site, facts, root=root, only_purged=wanted.only_purged, area=wanted.area)
    if not places:
        known = ", ".join(one.name for one in site.storage) or "none"
        raise NotFound(f"{site.name} has no area {wanted.area!r} that its login nodes see", hint=f"there are: {known}")
    within_s = wanted.within.total_seconds()
    request: Json = {
        "verb": "walk",
        "places": places,
        "skip": [root] if any(one["name"] == OURS for one in places) else [],
        "max_s": wanted.limit_s,
        "max_entries": MOST_ENTRIES,
        "within_s": within_s,
    }
    work = SiteWork(host, site, root, request)
    work.start()
    result = _follow(session, site, work, wanted.limit_s, show, sleep)
    if not result.get("ok"):
        raise SiteNotReady(f"{site.name}: {result.get('problem')}", hint="the same command goes on where it stopped")
    walk = read_walk(result, within_s)
    if walk.place(OURS) is not None:
        walk = replace(walk, environments=_list_environments(host, root))
    session.store.keep(_make_key(site), walk)
    return walk


def _list_environments(host: Host, root: str) -> tuple[str, ...]:
    found = fetch_all(host, root)
    return (*(one.id for one in found.built), *(one.id for one in found.damaged))


def list_ours(session: Session, site: str, walk: Walk) -> tuple[Holding, ...]:
    """What Windlass holds there, with what removes it."""
    records = {one.run_id: one for one in session.store.list(limit=None, site=site)}

    def find_run(run_id: str) -> RunRecord | None:
        return records.get(run_id)

    return list_holdings(walk, site, find_run)


def _follow(
    session: Session,
    site: Site,
    work: SiteWork,
    limit_s: float,
    show: Callable[[Look], None],
    sleep: Callable[[float], None],
) -> Json:
    """A file system that hangs must not hold us: the walk may go on there, and is looked at another time."""
    patience_s = _MARGIN * max(_LEAST_S, limit_s)
    deadline = session.clock() + patience_s
    pause_s = 0.1
    try:
        while True:
            look = work.look()
            show(look)
            if look.result is not None:
                return look.result
            if session.clock() > deadline:
                raise SiteNotReady(
                    f"the walk at {site.name} has not ended after {patience_s:.0f} s",
                    hint="it goes on there: give the same command again in a while",
                )
            sleep(pause_s)
            pause_s = min(_LOOK_S, pause_s * 1.5)
    except KeyboardInterrupt:
        work.stop()
        raise


def _ask(session: Session, site: Site) -> tuple[Facts, str | None]:
    now = session.clock()
    asked = make_number_requests(site, now)
    if not asked:
        return Facts(taken_at=now), None
    try:
        replies = session.host(site).ask(asked)
    except (LoginNeeded, HostUnreachable, ConnectionLost) as problem:
        return load_told(session, site), f"{site.name} was not asked: {problem.message}"
    told = add_numbers(Facts(taken_at=now), site, [read_completed(reply) for reply in replies])
    if told.quotas is not None:
        session.store.keep(_make_told_key(site), Facts(taken_at=now, quotas=told.quotas))
    return told, None


def _with_holdings(session: Session, quotas: Quotas, site: Site) -> Quotas:
    return quotas if quotas.walk is None else replace(quotas, holdings=list_ours(session, site.name, quotas.walk))


def _make_told_key(site: Site) -> str:
    return f"quotas:{site.name}"


def _make_key(site: Site) -> str:
    return f"walk:{site.name}"
