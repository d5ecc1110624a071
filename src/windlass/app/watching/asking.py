"""Questions that somebody asks by a button: not more often than a site bears, whoever presses it how often."""

from collections.abc import Callable

from windlass.app.session import Session
from windlass.app.watching.looking import find_pause_s
from windlass.core.watching.looks import NEVER, Look, begin, end_badly, end_well, is_due
from windlass.edges.files import put_in_words
from windlass.errors import WindlassError

_KEY = "asked:"


def ask_rarely(session: Session, site: str, subject: str, ask: Callable[[], object]) -> Look:
    """What `ask` returns is kept for all processes, under `subject`; how it ended is told by the look.

    Nobody is asked where the last question is younger than the pause of the site.
    """
    key, now = f"{subject}:{site}", session.clock()
    pause_s = find_pause_s(session, session.site(site))

    def claim(look: Look | None) -> Look | None:
        return begin(look or NEVER, now) if is_due(look or NEVER, now, pause_s) else None

    if session.store.change(_KEY + key, claim, kind=Look) is None:
        return load_asked(session, site, subject)
    try:
        session.store.keep(key, ask())
    except WindlassError as problem:
        return _end(session, key, problem)
    except OSError as problem:
        return _end(session, key, put_in_words(problem))
    return _end(session, key, None)


def load_asked(session: Session, site: str, subject: str) -> Look:
    return session.store.kept(f"{_KEY}{subject}:{site}", kind=Look) or NEVER


def _end(session: Session, key: str, problem: WindlassError | None) -> Look:
    now = session.clock()

    def change(look: Look | None) -> Look:
        if problem is None:
            return end_well(look or NEVER, now)
        return end_badly(look or NEVER, now, problem=problem.message, hint=problem.hint, code=problem.code)

    return session.store.change(_KEY + key, change, kind=Look) or NEVER
