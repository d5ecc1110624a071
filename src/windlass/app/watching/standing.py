"""`watch`: stays, looks at every site with live runs as rarely as it wishes, and tells notices."""

import time
from collections.abc import Callable, Sequence

from windlass.app.session import Session
from windlass.app.watching.looking import find_pause_s, load_look, look_around, look_at_site
from windlass.core.notices import Notices
from windlass.core.watching.looks import stretch
from windlass.errors import WindlassError

_STORE_S = 5.0  # how soon a run that another command has submitted is noticed
_LEAST_S = 0.2


def look_once(session: Session, site: str | None = None) -> Sequence[str]:
    """Each site with live runs once, for all of them together. The sites that could not be asked, and why."""
    looks = look_around(session, list_sites(session, site))
    return [f"{name} was not asked: {look.problem}" for name, look in looks.items() if look.problem is not None]


def stand_watch(
    session: Session,
    site: str | None = None,
    *,
    until: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Until somebody stops it. What happens is told by whoever sees it first, be it another command."""
    told: dict[str, str | None] = {}
    while not until():
        pause_s = _STORE_S
        for name in list_sites(session, site):
            pause_s = min(pause_s, _look(session, name, told))
        sleep(max(_LEAST_S, pause_s))


def list_sites(session: Session, site: str | None) -> list[str]:
    return sorted({one.site for one in session.store.live_runs(site)})


def want_notices(session: Session, default: Notices) -> Notices:
    """As the user has set them; where nothing is set, or it cannot be read, whoever watches wants to be told all."""
    from windlass.edges.settings import load_notices

    session.has_read_notices = True
    try:
        session.notices = load_notices(session.environ) or default
    except WindlassError as problem:
        session.tell(f"your [notices] are not used, and all is told: {problem}")
        session.notices = default
    return session.notices


def _look(session: Session, name: str, told: dict[str, str | None]) -> float:
    """How long until it is due again. A site that does not answer is told of once, and asked ever less often."""
    before = load_look(session, name)
    try:
        pause_s = stretch(find_pause_s(session, session.site(name)), before)
        left_s = before.tried + pause_s - session.clock()
        if left_s > 0:
            return left_s
        look_at_site(session, name, pause_s=pause_s)
        problem = None
    except WindlassError as error:
        problem, pause_s = error.message, _STORE_S
    if problem != told.get(name) and problem is not None:
        session.tell(f"{name} cannot be asked now: {problem}; its runs go on, and it is tried again")
    told[name] = problem
    return pause_s
