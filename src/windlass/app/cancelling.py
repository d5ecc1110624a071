"""`cancel`: no further link starts, and the jobs are taken out of the queue."""

import time
from collections.abc import Sequence

from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.app.stop_markers import make_stop_marker
from windlass.core.record import RunRecord
from windlass.errors import SubmissionUnclear, WindlassError

_WAIT_S = 3.0
_PAUSE_S = 1.0


def cancel_runs(session: Session, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records afterwards; a run that is over is left as it is, and one that fails does not keep the rest."""
    done: list[RunRecord] = []
    problems: list[WindlassError] = []
    for record in records:
        try:
            done.append(_cancel(session, record))
        except WindlassError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]
    return done


def _cancel(session: Session, record: RunRecord) -> RunRecord:
    if not record.state.is_final:
        record = refresh_site(session, record.site, [record])[0]
    if record.state.is_final:
        return record
    # The marker first: even where scancel fails, a link that starts later leaves at once.
    stop = make_stop_marker(record)
    site = session.site(record.site)
    if record.job_id is None:
        reply = session.host(site).ask([stop])[0]
        raise SubmissionUnclear(
            f"it is not yet clear whether {record.site} took run {record.run_id}: {record.reason}",
            hint=f"windlass cancel {record.run_id}",
            done="should its job start, it will leave at once" if reply.ok else "nothing was cancelled",
        )
    session.cluster(site).cancel(record.job_ids, before=[stop])
    return _wait_a_little(session, record)


def _wait_a_little(session: Session, record: RunRecord) -> RunRecord:
    """Mostly it is over within a second or two; a training that saves may take longer, and is not waited for."""
    deadline = session.clock() + _WAIT_S
    while True:
        record = refresh_site(session, record.site, [record])[0]
        if record.state.is_final or session.clock() > deadline:
            return record
        time.sleep(_PAUSE_S)
