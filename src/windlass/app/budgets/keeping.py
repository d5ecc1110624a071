"""Keeping runs to the limits of a month or a site: when one is used up, they are asked to save, and stop."""

from collections.abc import Sequence
from dataclasses import replace

from windlass.app.budgets.counting import count_own_use
from windlass.app.session import Session
from windlass.core.job import NOTICE_SIGNAL
from windlass.core.record import RunRecord
from windlass.core.site import Site
from windlass.core.spending.own import Scope
from windlass.edges.host import Request
from windlass.errors import WindlassError
from windlass.schedulers.slurm.submit import make_cancel_waiting_command, make_signal_command

_LOOKS = 10  # accounting is asked once in so many looks at the queue


def keep_to_limits(session: Session, site: Site, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The records, with a word in those that were stopped. The limit for one run is the agent's own affair."""
    return [_keep(session, site, one) if _is_held(one) else one for one in records]


def _is_held(record: RunRecord) -> bool:
    is_stoppable = not record.state.is_final and record.over_budget is None and record.job_id is not None
    return is_stoppable and any(one.scope != Scope.RUN for one in record.limits)


def _keep(session: Session, site: Site, record: RunRecord) -> RunRecord:
    uses = count_own_use(session, site, record.limits, name=record.name, max_age_s=_LOOKS * site.rules.poll_s)
    reached = next((one for one in uses or () if one.is_used_up), None)
    if reached is None:
        return record
    try:
        _stop(session, site, record)
    except WindlassError as problem:  # the next look tries again
        session.tell(f"{record.run_id} goes on although {reached.words}: {problem.message}")
        return record
    how = f"windlass resume {record.run_id}, with a higher [budget] {reached.limit.scope} in windlass.toml"
    session.tell(f"{record.run_id} was asked to save and stop: {reached.words}; to go on: {how}")
    return replace(record, over_budget=reached.words)


def _stop(session: Session, site: Site, record: RunRecord) -> None:
    """No further link starts, those that wait leave the queue, and the one that runs learns that its time is over."""
    cluster = session.cluster(site)
    arguments = {"folder": record.folder, "number": record.submissions[-1].number}
    session.host(site).ask(
        [
            Request(operation="touch_stop", arguments=arguments, idempotent=True),
            cluster.make_request(make_cancel_waiting_command(record.job_ids)),
            cluster.make_request(make_signal_command(record.job_ids, NOTICE_SIGNAL)),
        ]
    )
