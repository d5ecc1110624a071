"""Keeping runs to the limits of a month or a site: when one is used up, they are asked to save, and stop.

As with the limit of one run, which its agent keeps, one that has not stopped when its time for saving is over is ended.
"""

from collections.abc import Sequence
from dataclasses import replace

from windlass.app.budgets.counting import count_own_use
from windlass.app.session import Session
from windlass.app.stop_markers import make_stop_marker
from windlass.core.job import NOTICE_SIGNAL
from windlass.core.record import RunRecord
from windlass.core.site import Site
from windlass.core.spending.own import Scope
from windlass.core.units import format_seconds
from windlass.edges.cluster import raise_if_not_cancelled
from windlass.edges.host import expect, read_completed
from windlass.errors import SiteNotReady, WindlassError
from windlass.schedulers.slurm.submit import make_cancel_waiting_command, make_signal_command

_LOOKS = 10  # accounting is asked once in so many looks at the queue
_NOTICE_S = 300.0  # of a run that names no time for saving


def keep_to_limits(session: Session, site: Site, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records, with a word in those that were stopped. The limit for one run is the agent's own affair."""
    return [_keep(session, site, one) if _is_held(one) else one for one in records]


def _is_held(record: RunRecord) -> bool:
    is_stoppable = not record.state.is_final and record.job_id is not None
    return is_stoppable and any(one.scope != Scope.RUN for one in record.limits)


def _keep(session: Session, site: Site, record: RunRecord) -> RunRecord:
    """What could not be done now is tried again by the next look, because the record stays as it was."""
    over = record.over_budget or _find_reached(session, site, record)
    if over is None:
        return record
    try:
        if record.over_budget is None:
            return _ask_to_stop(session, site, record, over)
        return _end_if_deaf(session, site, record)
    except WindlassError as problem:
        session.tell(f"{record.run_id} goes on although {over}: {problem.message}; the next look tries again")
        return record


def _find_reached(session: Session, site: Site, record: RunRecord) -> str | None:
    uses = count_own_use(session, site, record.limits, name=record.name, max_age_s=_LOOKS * site.rules.poll_s)
    return next((one.words for one in uses or () if one.is_used_up), None)


def _ask_to_stop(session: Session, site: Site, record: RunRecord, over: str) -> RunRecord:
    """No further link starts, those that wait leave the queue, and the one that runs learns that its time is over."""
    cluster = session.cluster(site)
    marker, *cancelled = session.host(site).ask(
        [
            make_stop_marker(record),
            cluster.make_request(make_cancel_waiting_command(record.job_ids)),
            cluster.make_request(make_signal_command(record.job_ids, NOTICE_SIGNAL)),
        ]
    )
    for reply in cancelled:
        raise_if_not_cancelled(read_completed(reply), site)
    expect(marker, SiteNotReady, "no word could be left that its next links must not start")
    limit = over.partition(" ")[0]
    how = f"{record.again}, with a higher {limit} in windlass.toml"
    session.tell(f"{record.run_id} was asked to save and stop: {over}; to go on: {how}")
    return replace(record, over_budget=over, stop_asked=session.clock())


def _end_if_deaf(session: Session, site: Site, record: RunRecord) -> RunRecord:
    now, notice_s = session.clock(), record.notice_s or _NOTICE_S
    if now - (record.stop_asked or 0.0) <= notice_s:
        return record
    session.cluster(site).cancel(record.job_ids, before=[make_stop_marker(record)])
    late = f"has not stopped within {format_seconds(notice_s)}"
    session.tell(f"{record.run_id} {late}, so it was cancelled: {record.over_budget}")
    return replace(record, stop_asked=now)
