"""Who on this laptop has a service open: a sign of life in the store, which every other command sees."""

from dataclasses import dataclass

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.watching.attendance import is_left

_BEAT_S = 20.0


@dataclass(frozen=True, kw_only=True)
class _Attended:
    at: float


def attend(session: Session, record: RunRecord) -> None:
    """At every turn of whoever keeps a way to it open; written now and then."""
    now, told = session.clock(), find_attended(session, record)
    if told is None or not 0 <= now - told < _BEAT_S:
        session.store.keep(_make_key(record), _Attended(at=now))


def find_attended(session: Session, record: RunRecord) -> float | None:
    """When somebody had it open last; None: nobody ever, from this laptop."""
    kept = session.store.kept(_make_key(record), kind=_Attended)
    return kept.at if kept is not None else None


def find_left(session: Session, records: tuple[RunRecord, ...]) -> tuple[RunRecord, ...]:
    """Notebooks that run with nobody at them."""
    now = session.clock()
    return tuple(one for one in records if is_left(one, find_attended(session, one), now))


def _make_key(record: RunRecord) -> str:
    return f"attended:{record.run_id}"
