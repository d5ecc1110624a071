"""Telling notices: whoever sees something new of a run tells it, once, on this laptop. Never a reason to fail."""

from collections.abc import Iterable, Sequence

from windlass.app.session import Session
from windlass.app.watching.lately import load_lately
from windlass.app.watching.mirroring import open_mirror
from windlass.core.gauges.idleness import Idle, IdlePeriod, follow_period, tell_idle
from windlass.core.gauges.nodes import summarise_node
from windlass.core.notices import Event, EventKind, Notices, list_events
from windlass.core.record import RunRecord, RunState
from windlass.edges.notifying import call_program, make_terminal_text, show_on_desktop
from windlass.edges.settings import load_notices
from windlass.errors import WindlassError

_KEY = "told:"
_IDLE_KEY = "idle:"
_MOST_KEPT = 200  # of one run
_FRESH_S = 900.0  # what the nodes told longer ago says nothing of now


def tell_news(session: Session, pairs: Iterable[tuple[RunRecord, RunRecord]]) -> None:
    """pairs: as they were and as they are, of runs that this process saw change."""
    settings = find_settings(session)
    if settings is None:
        return
    now = session.clock()
    for old, new in pairs:
        events = list_events(
            old, new, settings, now, idle=find_idle(session, new) if EventKind.IDLE_GPU in settings.events else None
        )
        for event in claim(session, new.run_id, events):
            tell(session, settings, event)


def find_settings(session: Session) -> Notices | None:
    """None: nobody wants to be told."""
    if session.notices is None and not session.has_read_notices:
        session.has_read_notices = True
        try:
            session.notices = load_notices(session.environ)
        except WindlassError as problem:
            session.tell(f"no notices are told: {problem}")
    return session.notices


def claim(session: Session, run_id: str, events: Sequence[Event]) -> list[Event]:
    """Those that no process has told yet: in one transaction, so that each is told by one."""
    if not events:
        return []
    fresh: list[Event] = []

    def change(kept: tuple[str, ...] | None) -> tuple[str, ...] | None:
        fresh[:] = [event for event in events if event.key not in (kept or ())]
        return (*(kept or ()), *(event.key for event in fresh))[-_MOST_KEPT:] if fresh else None

    session.store.change(_KEY + run_id, change, kind=tuple[str, ...])
    return fresh


def tell(session: Session, settings: Notices, event: Event) -> None:
    session.on_event(event)
    if settings.terminal:
        session.ring(make_terminal_text(event))
    problems = []
    if settings.desktop:
        problems.append(show_on_desktop(event, session.environ))
    if settings.command is not None:
        problems.append(call_program(event, settings.command, session.environ))
    for problem in problems:
        if problem is not None and problem not in session.told_problems:
            session.told_problems.add(problem)
            session.tell(f"a notice could not be told: {problem}")


def find_idle(session: Session, record: RunRecord) -> Idle | None:
    """Its GPUs, by the gauges that the look has brought along; None: they work, or it is not known."""
    if record.state is not RunState.RUNNING:
        return None
    mirror, now = open_mirror(session), session.clock()
    gauges = load_lately(mirror, record.run_id, mirror.load(record.run_id))
    least = max(now - _FRESH_S, record.link_started or 0.0)
    if gauges.end is None or gauges.end < least:  # of an earlier link, or not all of it is here yet
        return None
    words = tell_idle([summarise_node(node) for node in gauges.nodes])

    def change(kept: IdlePeriod | None) -> IdlePeriod | None:
        return follow_period(kept, is_idle=words is not None, now=now)

    period = session.store.change(_IDLE_KEY + record.run_id, change, kind=IdlePeriod)
    return Idle(words=words, since=period.begin) if words is not None and period is not None else None


def wants_idle(session: Session) -> bool:
    """Somebody wants to be told of idle GPUs: a look then brings gauges along."""
    settings = find_settings(session)
    return settings is not None and EventKind.IDLE_GPU in settings.events
