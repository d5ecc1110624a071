"""Bringing records up to date: one look at each site for all its runs, and unclear submissions settled."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windlass.app.session import Session
from windlass.app.submitting import accept, find_out, is_being_sent, is_known, with_job_ids
from windlass.core.exactly_once import Outcome
from windlass.core.notes import Note, merge_notes
from windlass.core.progress import Seen, judge
from windlass.core.record import RunRecord, RunState
from windlass.core.site import Site
from windlass.edges.cluster import Cluster, Look
from windlass.edges.host import Request, expect
from windlass.edges.site_work import fetch_root
from windlass.errors import NotFound, SiteNotReady, WindlassError

_MOST_AT_ONCE = 8
_MOST_LISTED = 10_000


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    records: tuple[RunRecord, ...]
    problems: Mapping[str, WindlassError]  # site -> why it could not be asked


def refresh(session: Session, records: Sequence[RunRecord]) -> Refreshed:
    """All records, in their order, judged anew where they are not final. A silent site changes nothing."""
    by_site: dict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        if not record.state.is_final:
            by_site[record.site].append(record)
    fresh: dict[str, RunRecord] = {}
    problems: dict[str, WindlassError] = {}
    for name, live in by_site.items():
        try:
            fresh |= {record.run_id: record for record in refresh_site(session, name, live)}
        except WindlassError as problem:
            problems[name] = problem
    return Refreshed(records=tuple(fresh.get(one.run_id, one) for one in records), problems=problems)


def refresh_site(session: Session, name: str, live: Sequence[RunRecord]) -> list[RunRecord]:
    site = session.site(name)
    settled = _settle_all(session, live)
    submitted = [
        one for one in settled if one.job_id and not one.state.is_final and one.state is not RunState.SUBMITTING
    ]
    judged = {one.run_id: one for one in _judge_all(session, site.name, submitted)} if submitted else {}
    records = [judged.get(one.run_id, one) for one in settled]
    if any(one.limits for one in records):
        from windlass.app.budgets.keeping import keep_to_limits

        records = keep_to_limits(session, site, records)
    return _put_on_record(session, live, records)


def _put_on_record(session: Session, old: Sequence[RunRecord], new: Sequence[RunRecord]) -> list[RunRecord]:
    """Saved where nobody else has been faster; else what the other one wrote counts."""
    changed = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
    taken = session.store.swap(changed)
    _tell_news(session, [pair for pair in changed if pair[0].run_id not in taken])
    news = [after for before, after in changed if _is_about_start(before, after)]
    if news:
        from windlass.app.estimating import note_starts

        note_starts(session, news)
    return [_load_or_keep(session, one) if one.run_id in taken else one for one in new]


def _tell_news(session: Session, pairs: Sequence[tuple[RunRecord, RunRecord]]) -> None:
    """Only where somebody wants to be told: a look that shows runs must be quick."""
    if pairs and _may_tell(session):
        from windlass.app.telling import tell_news

        tell_news(session, pairs)


def _may_tell(session: Session) -> bool:
    return session.notices is not None or (session.folders.config_file.exists() and not session.has_read_notices)


def _is_about_start(before: RunRecord, after: RunRecord) -> bool:
    return (before.expected_start, before.started) != (after.expected_start, after.started)


def _load_or_keep(session: Session, record: RunRecord) -> RunRecord:
    try:
        return session.store.load(record.run_id)
    except NotFound:  # removed meanwhile
        return record


def _judge_all(session: Session, name: str, records: Sequence[RunRecord]) -> list[RunRecord]:
    """squeue, sacct and every status file in one round trip."""
    folders = [record.folder for record in records]
    statuses = Request(operation="statuses", arguments={"folders": folders})
    cluster = session.cluster(session.site(name))
    look = _look(session, cluster, records, statuses)
    told = look.extra[0].values if look.extra[0].ok else {}
    answers: list[Any] = told.get("statuses") or [None] * len(records)
    gone, stops = set(told.get("gone", ())), told.get("stops", {})
    now = session.clock()
    jobs = look.by_base_id()
    return [
        judge(
            record,
            Seen(
                jobs=[job for job_id in record.job_ids for job in jobs.get(job_id, ())],
                status=answer if isinstance(answer, dict) else None,
                folder_gone=record.folder in gone,
                stop=stops.get(record.folder),
                uid=told.get("uid"),
                # Where no accounting is kept at all, the queue's silence is all there will ever be.
                history_known=look.history_unavailable is None or look.history_unavailable.is_lasting,
            ),
            now,
        )
        for record, answer in zip(records, answers, strict=True)
    ]


def _look(session: Session, cluster: Cluster, records: Sequence[RunRecord], statuses: Request) -> Look:
    """In one round trip, with new gauges of the runs whose idle GPUs somebody wants to be told of."""
    job_ids = [job_id for record in records for job_id in record.job_ids]
    wanted = [one for one in records if one.state is RunState.RUNNING and one.size and one.size.gpus]
    if not wanted or not _may_tell(session):
        return cluster.look(job_ids, also=[statuses])
    from windlass.app.telling import wants_idle
    from windlass.app.watching.gauges_along import bring_gauges_along

    with bring_gauges_along(session, wanted if wants_idle(session) else ()) as gauges:
        look = cluster.look(job_ids, also=[statuses, *gauges.requests])
        gauges.take(look.extra[1:])
    return look


def _settle_all(session: Session, records: Sequence[RunRecord]) -> list[RunRecord]:
    """Those whose submission was interrupted, side by side: one that led to nothing takes seconds to be sure of."""
    unclear = [one for one in records if one.state is RunState.SUBMITTING and not is_being_sent(session, one)]
    if not unclear:
        return list(records)
    from concurrent.futures import ThreadPoolExecutor

    cluster = session.cluster(session.site(unclear[0].site))
    with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(unclear))) as pool:
        settled = {one.run_id: one for one in pool.map(lambda one: _settle(session, cluster, one), unclear)}
    return [settled.get(one.run_id, one) for one in records]


def _settle(session: Session, cluster: Cluster, record: RunRecord) -> RunRecord:
    """A submission that was interrupted: the site tells whether it happened."""
    # Read again: its process may have written down the answer before it let go of the run.
    record = session.store.load(record.run_id)
    if record.state is not RunState.SUBMITTING:
        return record
    results = find_out(cluster, record)
    first, record = results[0], replace(record, updated=session.clock())
    words = first.refusal.cause if first.refusal else "the submission was interrupted before Slurm was asked"
    match first.outcome:
        case Outcome.SUBMITTED if is_known(results):
            return accept(session, record, results)
        case Outcome.REFUSED | Outcome.NOT_SUBMITTED:
            return replace(record, state=RunState.NOT_SUBMITTED, reason=words, ended=session.clock())
        case Outcome.LOST:
            lost = replace(record, state=RunState.LOST, reason="Slurm forgot the job", ended=session.clock())
            return with_job_ids(lost, results)
        case _:
            return replace(record, reason=f"the submission is {results[-1].outcome}")


def rebuild(session: Session, site_name: str, *, limit: int = _MOST_LISTED) -> list[RunRecord]:
    """The store's rows for a site, made again from the run folders there: the folders are the truth."""
    site = session.site(site_name)
    listed = _list_there(session, site, session.facts(site).root or site.root, limit)
    found = [one for one in listed if one is not None]
    _replace_unreadable(session, site_name, found, is_all=len(listed) < limit)
    known = {one.run_id: one for one in session.store.list(limit=None, site=site_name)}
    # What is known of the same submissions is known better here: Slurm may have forgotten how they ended.
    news = [
        one for one in found if known.get(one.run_id, one).submissions != one.submissions or one.run_id not in known
    ]
    news = _judge_quietly(session, site_name, news)
    session.store.save_many([replace(one, notes=_join_notes(one, known.get(one.run_id))) for one in news])
    _take_notes(session, found, known)
    return found


def list_live_there(session: Session, site: Site) -> list[str]:
    """Ids of all runs that wait or run, also of those that another laptop sent or resumed. Nothing of them is kept."""
    refresh(session, session.store.live_runs(site.name))
    known = {one.run_id: one.job_ids for one in session.store.list(limit=None, site=site.name)}
    root = fetch_root(session.host(site), site)  # and not the facts: Slurm may be away
    found = [one for one in _list_there(session, site, root, _MOST_LISTED) if one is not None]
    foreign = [one for one in found if known.get(one.run_id) != one.job_ids]
    live = (*session.store.live_runs(site.name), *_judge_quietly(session, site.name, foreign))
    return sorted({one.run_id for one in live if not one.state.is_final})


def _list_there(session: Session, site: Site, root: str, limit: int) -> list[RunRecord | None]:
    """None: a folder whose papers cannot be read."""
    from windlass.app.rebuilding import read_listed_run

    reply = session.host(site).ask([Request(operation="list_runs", arguments={"root": root, "limit": limit})])[0]
    expect(reply, SiteNotReady, f"the run folders in {root} cannot be listed")
    return [read_listed_run(one, site.name) for one in reply.values.get("runs", [])]


def _judge_quietly(session: Session, site_name: str, found: Sequence[RunRecord]) -> list[RunRecord]:
    """As they stand, before anybody sees them change: what befell them before they were found is no news."""
    submitted = [one for one in found if one.job_id and one.state is not RunState.SUBMITTING]
    try:
        judged = {one.run_id: one for one in _judge_all(session, site_name, submitted)} if submitted else {}
    except WindlassError as problem:
        session.tell(f"how the runs at {site_name} stand is not known yet: {problem.message}")
        return list(found)
    return [judged.get(one.run_id, one) for one in found]


def _take_notes(session: Session, found: Sequence[RunRecord], known: Mapping[str, RunRecord]) -> None:
    """Of runs that are known as they are: what was written about them elsewhere."""
    pairs = [(known[one.run_id], one) for one in found if one.run_id in known and one.notes]
    joined = [(old, replace(old, notes=_join_notes(new, old))) for old, new in pairs]
    session.store.swap([(old, new) for old, new in joined if old.notes != new.notes])


def _join_notes(found: RunRecord, known: RunRecord | None) -> tuple[Note, ...]:
    return merge_notes(found.notes, known.notes if known is not None else ())


def _replace_unreadable(session: Session, site_name: str, found: Sequence[RunRecord], *, is_all: bool) -> None:
    """Rows of the store that say nothing any more: the site's word instead, or none where it has none."""
    lost = set(session.store.unreadable(site_name))
    told = [one for one in found if one.run_id in lost]
    session.store.save_many(told)
    for run_id in sorted(lost - {one.run_id for one in told}) if is_all else ():
        session.store.delete(run_id)
        session.tell(f"run {run_id} is forgotten: its entry here cannot be read, and {site_name} has no folder of it")
