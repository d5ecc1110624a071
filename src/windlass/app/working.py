"""Long work at a site, followed from here until it ends: on data sets, on environments."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.host import Host, Json
from windlass.edges.site_work import Look, SiteWork, fetch_root
from windlass.errors import Interrupted, WindlassError
from windlass_job import wire


@dataclass(frozen=True, kw_only=True)
class LongWork:
    """What to do, where, and who looks on."""

    host: Host
    request: Json  # its `verb` is one of windlass_job/working/behind.py
    show: Callable[[Look], None]
    killed: type[WindlassError]  # raised when it is killed there again and again
    hint: str  # what to do then


def follow_there(session: Session, site: Site, work: LongWork) -> Json:
    """Until it is done; its answer, good or bad. Ctrl-C stops it there too, a lost connection does not."""
    there = SiteWork(work.host, site, fetch_root(work.host, site), work.request)
    result: Json = {}
    waited = ""
    try:
        if there.start() == "running":
            session.tell(f"this very work is going on at {site.name} already: looking on")
        for look in there.follow(killed=work.killed, hint=work.hint):
            if look.words.startswith(wire.WAITING) and look.words != waited:
                waited = look.words
                session.tell(f"{waited}; Ctrl-C gives up waiting")
            work.show(look)
            result = look.result or {}
    except KeyboardInterrupt:
        with suppress(WindlassError):  # the connection may be what was interrupted
            there.stop()
        done = f"{work.request['verb']} was stopped at {site.name}; the same command goes on with it"
        raise Interrupted("interrupted", done=done) from None
    return result
