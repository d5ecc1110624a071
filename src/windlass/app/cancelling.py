"""`cancel`: no further link starts, and the jobs are taken out of the queue."""

from collections.abc import Sequence

from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.host import Request


def cancel_runs(session: Session, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records afterwards; runs that are over already are left as they are."""
    done = []
    for record in records:
        fresh = refresh_site(session, record.site, [record])[0] if not record.state.is_final else record
        done.append(fresh if fresh.state.is_final or fresh.job_id is None else _cancel(session, fresh))
    return done


def _cancel(session: Session, record: RunRecord) -> RunRecord:
    cluster = session.cluster(session.site(record.site))
    # The marker first: even where scancel fails, the next link leaves at once.
    arguments = {"folder": record.folder, "number": record.submissions[-1].number}
    stop = Request(operation="touch_stop", arguments=arguments)
    cluster.cancel([record.job_id] if record.job_id else [], before=[stop])
    return refresh_site(session, record.site, [record])[0]
