"""A look at a site that all processes of this laptop share: who comes too early uses what another has just seen."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.app.submitting import is_being_sent
from windlass.core.record import RunRecord, RunState
from windlass.core.site import Site
from windlass.core.watching.looks import (
    NEVER,
    Look,
    begin,
    count_pause_s,
    end_badly,
    end_well,
    hasten,
    is_due,
)
from windlass.errors import WindlassError

_KEY = "look:"
_PATIENCE_S = 15.0  # with another process that is asking just now
_PEEK_S = 0.1


def look_at_site(session: Session, name: str, *, pause_s: float | None = None, is_urgent: bool = False) -> Look:
    """All live runs of a site judged anew in one query, unless somebody has done so less than `pause_s` ago.

    The records are in the store afterwards. `is_urgent`: something has happened there that Slurm must be asked about.
    A WindlassError is kept for the others, and raised here.
    """
    pause_s = find_pause_s(session, session.site(name)) if pause_s is None else pause_s
    live = session.store.live_runs(name)
    claimed = _claim(session, name, 0.0 if is_urgent or _has_unclear(session, live) else pause_s)
    if claimed is None:
        return load_look(session, name)
    try:
        refresh_site(session, name, live)
    except WindlassError as problem:
        _keep(session, name, partial(_tell_bad_end, problem))
        raise
    return _keep(session, name, end_well)


def look_around(
    session: Session, names: Iterable[str], *, sleep: Callable[[float], None] = time.sleep
) -> Mapping[str, Look]:
    """What a command that shows runs once does: ask where the last look is old, wait where another is just asking."""
    looks = {}
    for name in names:
        try:
            pause_s = hasten(find_pause_s(session, session.site(name)))
            looks[name] = look_at_site(session, name, pause_s=pause_s)
        except WindlassError as problem:
            looks[name] = _tell_bad_end(problem, load_look(session, name), session.clock())
        looks[name] = _wait_for_other(session, name, looks[name], sleep)
    return looks


def load_look(session: Session, name: str) -> Look:
    """How the last look at a site ended, whoever it was; nobody is asked."""
    return session.store.kept(_KEY + name, kind=Look) or NEVER


def forget_problems(session: Session, name: str) -> None:
    """After a login: whoever watches need not wait as long as after failures."""
    session.store.keep(_KEY + name, NEVER)


def find_pause_s(session: Session, site: Site) -> float:
    return count_pause_s(site.rules.poll_s, is_ours_alone=session.is_pocket(site))


def _claim(session: Session, name: str, pause_s: float) -> Look | None:
    """Exactly one of all who come at the same time may ask; None for the others."""
    now = session.clock()

    def change(look: Look | None) -> Look | None:
        return begin(look or NEVER, now) if is_due(look or NEVER, now, pause_s) else None

    return session.store.change(_KEY + name, change, kind=Look)


def _keep(session: Session, name: str, end: Callable[[Look, float], Look]) -> Look:
    now = session.clock()
    return session.store.change(_KEY + name, lambda look: end(look or NEVER, now), kind=Look) or NEVER


def _tell_bad_end(problem: WindlassError, look: Look, now: float) -> Look:
    return end_badly(look, now, problem=problem.message, hint=problem.hint, code=problem.code)


def _wait_for_other(session: Session, name: str, look: Look, sleep: Callable[[float], None]) -> Look:
    deadline = time.monotonic() + _PATIENCE_S
    while look.is_under_way(session.clock()) and time.monotonic() < deadline:
        sleep(_PEEK_S)
        look = load_look(session, name)
    return look


def _has_unclear(session: Session, live: Iterable[RunRecord]) -> bool:
    """Submissions that were interrupted are settled by the next who looks."""
    return any(one.state is RunState.SUBMITTING and not is_being_sent(session, one) for one in live)
