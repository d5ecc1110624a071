"""The words of a run: what its jobs printed, as files that grow."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.host import Host, Reply, Request
from windlass.errors import RunFolderGone
from windlass_job import wire

_CHUNK = 1_000_000


@dataclass(frozen=True, kw_only=True)
class LogFile:
    path: str  # relative to the run folder: logs/45_1.out
    size: int


class LogReader:
    """Reads only what is new since the last call, in the order of the links."""

    def __init__(self, host: Host, folder: str) -> None:
        self._host = host
        self._folder = folder
        self._read: dict[str, int] = {}

    def skip_to_tail(self, lines: int) -> str:
        """The last lines of the newest file; everything before them counts as read."""
        files = list_logs(self._host, self._folder)
        self._read = {one.path: one.size for one in files}
        if not files:
            return ""
        newest = files[-1]
        start = max(0, newest.size - _CHUNK)
        text = _read(self._host, f"{self._folder}/{newest.path}", start).payload.decode(errors="replace")
        self._read[newest.path] = start + len(text.encode())
        return "".join(text.splitlines(keepends=True)[-lines:]) if lines else ""

    def read_new(self) -> Iterator[tuple[str, bytes]]:
        """(file, bytes) of everything written since the last call."""
        for one in list_logs(self._host, self._folder):
            while self._read.get(one.path, 0) < one.size:
                start = self._read.get(one.path, 0)
                payload = _read(self._host, f"{self._folder}/{one.path}", start).payload
                if not payload:
                    break
                self._read[one.path] = start + len(payload)
                yield one.path, payload


def list_logs(host: Host, folder: str) -> list[LogFile]:
    """Oldest first."""
    arguments = {"folder": folder, "patterns": [f"{wire.LOGS}/*"], "limit": 10_000}
    reply = host.ask([Request(operation="list_files", arguments=arguments)])[0]
    if not reply.ok:
        if reply.kind == "not-found":
            raise RunFolderGone(f"the run folder {folder} is not there", hint="windlass ps --refresh")
        raise RunFolderGone(f"the logs in {folder} cannot be listed: {reply.problem}")
    files = sorted(reply.values["files"], key=lambda one: (_numbers(one["path"]), one["path"]))
    return [LogFile(path=one["path"], size=one["size"]) for one in files]


def read_log(session: Session, record: RunRecord, *, link: int | None = None) -> Iterator[bytes]:
    """The whole log, or that of one link."""
    host = session.host(session.site(record.site))
    files = list_logs(host, record.folder)
    if link is not None:
        first = {one.job_id: one.first_link for one in record.submissions if one.job_id}
        files = [one for one in files if _link_of(one.path, first) == link]
    for one in files:
        start = 0
        while start < one.size:
            payload = _read(host, f"{record.folder}/{one.path}", start).payload
            if not payload:
                break
            start += len(payload)
            yield payload


def _read(host: Host, path: str, start: int) -> Reply:
    arguments = {"path": path, "from_byte": start, "limit": _CHUNK}
    return host.ask([Request(operation="read", arguments=arguments)])[0]


def _numbers(path: str) -> tuple[int, ...]:
    stem = path.rsplit("/", 1)[-1].split(".")[0]
    return tuple(int(part) for part in stem.split("_") if part.isdigit())


def _link_of(path: str, first_link_by_job: dict[str, int]) -> int | None:
    numbers = _numbers(path)
    if not numbers or str(numbers[0]) not in first_link_by_job:
        return None
    first = first_link_by_job[str(numbers[0])]
    return first + (numbers[1] - 1 if len(numbers) > 1 else 0)
