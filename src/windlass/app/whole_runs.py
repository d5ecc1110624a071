"""Verbs for what is listed as one run: a plain one, or a farm with all its pilots."""

from collections.abc import Iterable

from windlass.app.cancelling import cancel_runs
from windlass.app.session import Session
from windlass.core.record import RunRecord


def cancel_whole(session: Session, records: Iterable[RunRecord]) -> list[RunRecord]:
    """A pilot that is named for itself is cancelled alone."""
    asked = list(records)
    done = [one for lead in asked if lead.leads_farm for one in _cancel_farm(session, lead)]
    return done + cancel_runs(session, [one for one in asked if not one.leads_farm])


def _cancel_farm(session: Session, lead: RunRecord) -> list[RunRecord]:
    from windlass.app.farms.ending import cancel_farm

    return cancel_farm(session, lead)
