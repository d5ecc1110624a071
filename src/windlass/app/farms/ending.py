"""A farm closed, gone on with, or removed, with all its pilots."""

from windlass.app.cancelling import cancel_runs
from windlass.app.farms.adding import ensure_pilots
from windlass.app.farms.asking import list_pilots
from windlass.app.farms.steering import close_farm, open_farm
from windlass.app.refreshing import refresh_site
from windlass.app.removing import remove_run
from windlass.app.session import Session
from windlass.app.stop_markers import mark_as_stopped
from windlass.core.record import RunRecord
from windlass.errors import RunFolderGone, SiteNotReady, UsageError


def cancel_farm(session: Session, lead: RunRecord) -> list[RunRecord]:
    """Marked and closed first: a pilot that starts later finds nothing to do, and one that leaves now is not done.

    What runs is given back, and may go on later.
    """
    live = [one for one in list_pilots(session, lead) if not one.state.is_final]
    try:
        mark_as_stopped(session, lead.site, live)
        close_farm(session, lead)
    except (SiteNotReady, RunFolderGone) as problem:  # its disk is full, or its folder is gone: the jobs must go
        if not live:
            raise
        session.tell(f"the farm was not closed: {problem.message}; its jobs are cancelled all the same")
    return cancel_runs(session, live)


def resume_farm(session: Session, lead: RunRecord, *, pilots: int | None = None) -> list[RunRecord]:
    """The pilots that were started. Only what has not ended runs."""
    open_farm(session, lead)
    return ensure_pilots(session, lead, most=pilots)


def remove_farm(session: Session, lead: RunRecord) -> list[RunRecord]:
    """The lead last: while it is there, what is left of the farm is known."""
    pilots = refresh_site(session, lead.site, list_pilots(session, lead))
    live = [one.run_id for one in pilots if not one.state.is_final]
    if live:
        raise UsageError(
            f"pilots of farm {lead.run_id} are at work: {', '.join(live[:5])}",
            hint=f"windlass farm cancel {lead.run_id}",
            done="nothing was removed",
        )
    ordered = sorted(pilots, key=lambda one: one.run_id == lead.run_id)
    for one in ordered:
        remove_run(session, one)
    return ordered
