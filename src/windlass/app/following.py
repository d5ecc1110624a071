"""Following a run until it ends: its states and its words as they come. Stopping to follow changes nothing."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windlass.app.logs import LogReader
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.site import Site
from windlass.edges.host import Host, Request
from windlass.errors import ClusterUnavailable, ConnectionLost, HostUnreachable, RunFolderGone

_PEEK_S = 2.0  # how often our own files are looked at; Slurm is asked far more rarely


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
    looks = _Looks(session, site)
    while True:
        if looks.is_due(record, _peek(host, record)):
            fresh, problem = _look_again(session, record)
            if problem:
                yield Update(problem=problem)
            if _shown(fresh) != _shown(record):
                yield Update(record=fresh)
            record = fresh
        if reader is not None and record.state is not RunState.SUBMITTING:
            yield from _new_words(reader)
        if record.state.is_final:
            return
        sleep(min(_PEEK_S, site.rules.poll_s))


def wait(session: Session, record: RunRecord) -> RunRecord:
    """The final record."""
    for update in follow(session, record):
        if update.record is not None:
            record = update.record
    return record


class _Looks:
    """When Slurm is worth asking: as rarely as the site wishes, and at once when the agent wrote something new."""

    def __init__(self, session: Session, site: Site) -> None:
        self._clock = session.clock
        self._poll_s = site.rules.poll_s
        self._next = 0.0
        self._seen: object = None

    def is_due(self, record: RunRecord, peeked: object) -> bool:
        if self._clock() < self._next and peeked == self._seen:
            return False
        self._seen = peeked
        self._next = self._clock() + self._poll_s
        return True


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


def _look_again(session: Session, record: RunRecord) -> tuple[RunRecord, str]:
    try:
        return refresh_site(session, record.site, [record])[0], ""
    except (ConnectionLost, HostUnreachable, ClusterUnavailable) as problem:
        return record, f"{problem.message}; trying again"


def _new_words(reader: LogReader) -> Iterator[Update]:
    try:
        for payload in reader.read_new():
            yield Update(log=payload)
    except (ConnectionLost, HostUnreachable, RunFolderGone) as problem:
        yield Update(problem=problem.message)
