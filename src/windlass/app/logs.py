"""The words of a run: what its jobs printed, as files that grow."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.watching.log_names import LogName, read_log_name, read_numbers
from windlass.core.watching.log_streams import Stream, Streams, keep_lines, read_streams
from windlass.edges.host import Host, Reply, Request
from windlass.errors import RunFolderGone
from windlass_job import wire

_CHUNK = 1_000_000


@dataclass(frozen=True, kw_only=True)
class LogFile:
    path: str  # absolute, at the site
    size: int
    about: LogName

    @property
    def link(self) -> int | None:
        return self.about.link


class LogReader:
    """Reads only what is new since the last call, in the order of the links; of one link when asked for."""

    def __init__(self, host: Host, record: RunRecord, *, link: int | None = None) -> None:
        self._host = host
        self._record = record
        self._link = link
        self._read: dict[str, int] = {}

    def read_tail(self, lines: int) -> bytes:
        """The last lines of the newest file; everything before their end counts as read."""
        files = self.list()
        self._read = {one.path: one.size for one in files}
        if not files:
            return b""
        newest = files[-1]
        start = max(0, newest.size - _CHUNK)
        payload = _read(self._host, newest.path, start).payload
        self._read[newest.path] = start + len(payload)
        return b"".join(payload.splitlines(keepends=True)[-lines:]) if lines else b""

    def read_new(self) -> Iterator[bytes]:
        """Everything written since the last call."""
        for one in self.list():
            while self._read.get(one.path, 0) < one.size:
                start = self._read.get(one.path, 0)
                payload = _read(self._host, one.path, start).payload
                if not payload:
                    break
                self._read[one.path] = start + len(payload)
                yield payload

    def list(self) -> list[LogFile]:
        files = list_logs(self._host, self._record)
        return [one for one in files if one.about.is_of(self._link)]


def open_log(session: Session, record: RunRecord, *, link: int | None = None) -> LogReader:
    return LogReader(session.host(session.site(record.site)), record, link=link)


def read_stream(
    session: Session, record: RunRecord, stream: Stream, *, link: int | None = None
) -> Iterator[tuple[bytes, bool]]:
    """Its lines; True: of this one nobody can tell whether it was written to the other."""
    host = session.host(session.site(record.site))
    for one in open_log(session, record, link=link).list():
        if one.about.is_complaints:
            streams = Streams() if stream is Stream.STDERR else None
        else:
            path = f"{record.folder}/{wire.STREAMS}/{one.about.name}"
            streams = read_streams(b"".join(_read_all(host, path)))
        if streams is not None:
            yield from keep_lines(_read_all(host, one.path), streams, stream)


def list_logs(host: Host, record: RunRecord) -> list[LogFile]:
    """Oldest first."""
    folder = f"{record.folder}/{wire.LOGS}"
    arguments = {"folder": folder, "patterns": ["*"], "limit": 10_000}
    reply = host.ask([Request(operation="list_files", arguments=arguments, idempotent=True)])[0]
    if not reply.ok:
        if reply.kind == "not-found":
            raise RunFolderGone(f"the run folder {record.folder} is not there", hint="windlass ps --refresh")
        raise RunFolderGone(f"the logs in {folder} cannot be listed: {reply.problem}")
    files = sorted(reply.values["files"], key=lambda one: (read_numbers(one["path"]), one["path"]))
    return [
        LogFile(path=f"{folder}/{one['path']}", size=one["size"], about=read_log_name(one["path"], record.submissions))
        for one in files
    ]


def read_log(session: Session, record: RunRecord, *, link: int | None = None) -> Iterator[bytes]:
    """The whole log, or that of one link."""
    return open_log(session, record, link=link).read_new()


def _read_all(host: Host, path: str) -> Iterator[bytes]:
    """Nothing of a file that is not there."""
    start = 0
    while payload := _read(host, path, start).payload:
        start += len(payload)
        yield payload


def _read(host: Host, path: str, start: int) -> Reply:
    arguments = {"path": path, "from_byte": start, "limit": _CHUNK}
    return host.ask([Request(operation="read", arguments=arguments, idempotent=True)])[0]
