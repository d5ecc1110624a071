"""Following a run until it ends: its states and its words as they come. Stopping to follow changes nothing."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windlass.app.logs import LogReader
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.app.watching.looking import look_at_site
from windlass.core.record import RunRecord, RunState
from windlass.core.site import Site
from windlass.edges.host import Host, Request
from windlass.errors import ClusterUnavailable, ConnectionLost, HostUnreachable, NotFound, RunFolderGone

_PEEK_S = 2.0  # how often our own files are looked at; Slurm is asked far more rarely
_PEEK_HERE_S = 0.2  # on this machine, where a look costs half a millisecond
_SETTLE_S = 0.3  # from a word of the agent's until pocket knows of it too


@dataclass(frozen=True, kw_only=True)
class Update:
    """Something new: the record when its state changed, or bytes of a log."""

    record: RunRecord | None = None
    log: bytes = b""
    problem: str = ""  # told in one line; following goes on


def follow(
    session: Session,
    record: RunRecord,
    *,
    reader: LogReader | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Update]:
    """Ends with the final record. `reader`: whose new words are told too."""
    site = session.site(record.site)
    host = session.host(site)
    is_here = session.is_pocket(site)
    looks = _Looks(session, site, settle_s=_SETTLE_S if is_here else None)
    pause_s = _PEEK_HERE_S if is_here else min(_PEEK_S, site.rules.poll_s)
    while True:
        if looks.is_due(_peek(host, record)):
            fresh, problem = looks.look_again(record)
            if problem:
                yield Update(problem=problem)
            if _shown(fresh) != _shown(record):
                yield Update(record=fresh)
            record = fresh
        if reader is not None and record.state is not RunState.SUBMITTING:
            yield from _new_words(reader)
        if record.state.is_final:
            return
        sleep(pause_s)


def wait(session: Session, record: RunRecord) -> RunRecord:
    """The final record."""
    for update in follow(session, record):
        if update.record is not None:
            record = update.record
    return record


class _Looks:
    """When Slurm is worth asking: as rarely as the site wishes, and at once when the agent wrote something new.

    settle_s: once more so long after such a word, where nobody is disturbed by it: both tell of the end of a job.
    """

    def __init__(self, session: Session, site: Site, *, settle_s: float | None) -> None:
        self._session = session
        self._settle_s = settle_s
        self._pause_s = site.rules.poll_s
        self._next = 0.0
        self._seen: object = None
        self._is_news = self._is_settling = False

    def is_due(self, peeked: object) -> bool:
        self._is_news, self._seen = peeked != self._seen, peeked
        return self._is_news or self._session.clock() >= self._next

    def look_again(self, record: RunRecord) -> tuple[RunRecord, str]:
        """The record as it stands now, by this look or by that of another process; and why there is nothing new."""
        is_urgent = self._is_news or self._is_settling
        self._is_settling = self._is_news and self._settle_s is not None
        pause_s = self._settle_s if self._is_news and self._settle_s is not None else self._pause_s
        self._next = self._session.clock() + pause_s
        try:
            look_at_site(self._session, record.site, pause_s=self._pause_s, is_urgent=is_urgent)
        except (ConnectionLost, HostUnreachable, ClusterUnavailable) as problem:
            return record, f"{problem.message}; trying again"
        try:
            return self._session.store.load(record.run_id), ""
        except NotFound:  # forgotten by somebody: the last word stands
            return refresh_site(self._session, record.site, [record])[0], ""


def _peek(host: Host, record: RunRecord) -> object:
    """The agent's last word, without its heartbeat: no question to Slurm."""
    try:
        reply = host.ask([Request(operation="statuses", arguments={"folders": [record.folder]}, idempotent=True)])[0]
    except (ConnectionLost, HostUnreachable):
        return None
    status = (reply.values.get("statuses") or [None])[0]
    return (status.get("state"), status.get("link"), status.get("job")) if isinstance(status, dict) else None


def _shown(record: RunRecord) -> tuple[object, ...]:
    link = record.link if record.links > 1 else None
    return record.state, record.reason, link, record.nodes, record.interrupted


def _new_words(reader: LogReader) -> Iterator[Update]:
    try:
        for payload in reader.read_new():
            yield Update(log=payload)
    except (ConnectionLost, HostUnreachable, RunFolderGone) as problem:
        yield Update(problem=problem.message)
