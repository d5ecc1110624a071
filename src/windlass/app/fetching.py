"""`fetch`: a run's results brought home, verified, only what is new, going on after a cut."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.app.session import Session
from windlass.core.job import make_code_folder
from windlass.core.record import RunRecord
from windlass.edges.downloads import finish_download, hash_file, is_same, open_download
from windlass.edges.host import Host, Json, Request, expect
from windlass.errors import ConnectionLost, RunFolderGone, UsageError
from windlass_job import wire

FOLDER = "windlass-results"  # PROJECT/windlass-results/RUN_ID/
PAPERS = ".windlass"  # logs, plan and events, beside the results
_PAPERS = (f"{wire.LOGS}/*", "*.json", "*.jsonl", "*.sh", wire.DIFF)
_CHUNK = 4_000_000
_MOST_FILES = 100_000


@dataclass(frozen=True, kw_only=True)
class Fetched:
    folder: Path
    files: int
    new_files: int
    new_bytes: int


def fetch_run(
    session: Session,
    record: RunRecord,
    *,
    to: Path | None = None,
    patterns: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fetched:
    """Results into `to`, by default beside the project; papers and logs into `.windlass` there."""
    host = session.host(session.site(record.site))
    target = to or _default_target(record)
    base = make_code_folder(record.folder, record.workdir)
    results = [_Download(base, one, target) for one in _list(host, base, tuple(patterns) or record.results)]
    papers = [_Download(record.folder, one, target / PAPERS) for one in _list(host, record.folder, _PAPERS)]
    prepare_target(target)
    new = [one for one in (*results, *papers) if not is_same(one.path, one.size, one.mtime)]
    total, done = sum(one.size for one in new), 0
    for one in new:
        for read in _fetch(host, one):
            done += read
            progress(done, total)
    _verify(host, [one for one in new if one in results])
    return Fetched(folder=target, files=len(results) + len(papers), new_files=len(new), new_bytes=total)


def prepare_target(target: Path) -> None:
    """A folder git and our own snapshots pass over, so that results are not sent back with the next run."""
    target.mkdir(parents=True, exist_ok=True)
    parent = target.parent
    if parent.name == FOLDER and not (parent / ".gitignore").exists():
        (parent / ".gitignore").write_text("*\n")


class _Download:
    """One file to bring: from where, to where."""

    def __init__(self, base: str, listed: Json, target: Path) -> None:
        self.remote = f"{base}/{listed['path']}"
        self.base = base
        self.name = str(listed["path"])
        self.path = target / self.name
        self.size = int(listed["size"])
        self.mtime = float(listed["mtime"])


def _default_target(record: RunRecord) -> Path:
    project = Path(record.project) if record.project else None
    if project is None or not project.is_dir():
        project = Path.cwd()
    return project / FOLDER / record.run_id


def _list(host: Host, folder: str, patterns: Sequence[str]) -> list[Json]:
    if not patterns:
        return []
    arguments = {"folder": folder, "patterns": list(patterns), "limit": _MOST_FILES}
    reply = host.ask([Request(operation="list_files", arguments=arguments, idempotent=True)])[0]
    expect(reply, RunFolderGone, f"the run folder {folder} cannot be listed")
    if reply.values.get("truncated"):
        raise UsageError(
            f"more than {_MOST_FILES} files match {', '.join(patterns)}",
            hint="name fewer: windlass fetch RUN --only 'runs/*.pt'",
        )
    return [one for one in reply.values["files"] if not one.get("link")]


def _fetch(host: Host, wanted: _Download) -> Iterator[int]:
    """Bytes as they come; goes on where an interrupted fetch stopped."""
    part = open_download(wanted.path, wanted.size)
    try:
        while part.written < wanted.size:
            arguments = {
                "path": wanted.remote,
                "from_byte": part.written,
                "limit": min(_CHUNK, wanted.size - part.written),
            }
            reply = host.ask([Request(operation="read", arguments=arguments, idempotent=True)])[0]
            payload = expect(reply, RunFolderGone, f"{wanted.remote} cannot be read").payload
            if not payload:
                break
            part.write(payload)
            yield len(payload)
    finally:
        part.close()
    finish_download(part, mtime=wanted.mtime)


def _verify(host: Host, new: Sequence[_Download]) -> None:
    """Checksums of the results against the site's, of as many bytes as were there when the fetch began.

    Papers are not: the run rewrites its status all the time.
    """
    if not new:
        return
    arguments = {"folder": new[0].base, "paths": [one.name for one in new], "sizes": [one.size for one in new]}
    reply = host.ask([Request(operation="hash_files", arguments=arguments, idempotent=True)])[0]
    expect(reply, RunFolderGone, "the fetched files cannot be verified")
    differ = [one for one, sha256 in zip(new, reply.values["sha256"], strict=True) if hash_file(one.path) != sha256]
    for one in differ:
        os.utime(one.path, (0, 0))  # so that the next fetch takes it again
    if differ:
        raise ConnectionLost(
            f"{len(differ)} of {len(new)} files changed while they were fetched, {differ[0].name} among them",
            hint="run the same fetch again",
            done="the others are here and verified",
        )
