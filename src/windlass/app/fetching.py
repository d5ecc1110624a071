"""`fetch`: a run's results brought home, verified, only what is new, going on after a cut."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.downloads import Download, finish_download, is_same, open_download
from windlass.edges.host import Host, Json, Reply, Request, expect
from windlass.errors import ConnectionLost, RunFolderGone, UsageError
from windlass_job import wire

FOLDER = "windlass-results"  # PROJECT/windlass-results/RUN_ID/
PAPERS = ".windlass"  # logs, plan and events, beside the results
_CHUNK = 4_000_000
_MOST_FILES = 100_000


@dataclass(frozen=True, kw_only=True)
class Fetched:
    folder: Path
    files: int
    new_files: int
    new_bytes: int
    left_out: tuple[str, ...] = ()


def fetch_run(
    session: Session,
    record: RunRecord,
    *,
    to: Path | None = None,
    patterns: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fetched:
    """Results into `to`, by default beside the project; papers and logs into `.windlass` there."""
    wanted = tuple(patterns) or record.results
    target = to or _default_target(record)
    host = session.host(session.site(record.site))
    base = (
        f"{record.folder}/{wire.CODE}"
        if record.workdir in ("", ".")
        else f"{record.folder}/{wire.CODE}/{record.workdir}"
    )
    results = _list(host, base, wanted) if wanted else []
    papers = _list(host, record.folder, [f"{wire.LOGS}/*", "*.json", "*.jsonl", "*.sh", wire.DIFF])
    jobs = [_Job(base, one, target) for one in results]
    jobs += [_Job(record.folder, one, target / PAPERS) for one in papers]
    prepare_target(target)
    new = [job for job in jobs if not is_same(job.path, job.size, job.mtime)]
    total, done = sum(job.size for job in new), 0
    for job in new:
        for read in _download(host, job):
            done += read
            progress(done, total)
    _verify(host, new)
    return Fetched(folder=target, files=len(jobs), new_files=len(new), new_bytes=total)


def prepare_target(target: Path) -> None:
    """A folder git and our own snapshots pass over, so that results are not sent back with the next run."""
    target.mkdir(parents=True, exist_ok=True)
    parent = target.parent
    if parent.name == FOLDER and not (parent / ".gitignore").exists():
        (parent / ".gitignore").write_text("*\n")


class _Job:
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
    arguments = {"folder": folder, "patterns": list(patterns), "limit": _MOST_FILES}
    reply = host.ask([Request(operation="list_files", arguments=arguments)])[0]
    expect(reply, RunFolderGone, f"the run folder {folder} cannot be listed")
    if reply.values.get("truncated"):
        raise UsageError(
            f"more than {_MOST_FILES} files match {', '.join(patterns)}",
            hint="name fewer: windlass fetch RUN --only 'runs/*.pt'",
        )
    return [one for one in reply.values["files"] if not one.get("link")]


def _download(host: Host, job: _Job) -> Iterator[int]:
    """Bytes as they come; goes on where an interrupted fetch stopped."""
    download = open_download(job.path, job.size)
    try:
        while download.written < job.size:
            payload = _read(host, job, download).payload
            if not payload:
                break
            download.write(payload)
            yield len(payload)
    finally:
        download.close()
    finish_download(download, mtime=job.mtime)


def _read(host: Host, job: _Job, download: Download) -> Reply:
    arguments = {"path": job.remote, "from_byte": download.written, "limit": _CHUNK}
    reply = host.ask([Request(operation="read", arguments=arguments)])[0]
    return expect(reply, RunFolderGone, f"{job.remote} cannot be read")


def _verify(host: Host, jobs: Sequence[_Job]) -> None:
    """Every new file's checksum against the site's; a file that still grows is judged by what was there."""
    from windlass.edges.downloads import hash_file

    for base in dict.fromkeys(job.base for job in jobs):
        mine = [job for job in jobs if job.base == base]
        arguments = {"folder": base, "paths": [job.name for job in mine], "sizes": [job.size for job in mine]}
        reply = host.ask([Request(operation="hash_files", arguments=arguments)])[0]
        expect(reply, RunFolderGone, "the fetched files cannot be verified")
        for job, sha256 in zip(mine, reply.values["sha256"], strict=True):
            if sha256 is not None and hash_file(job.path) != sha256:
                os.utime(job.path, (0, 0))  # so that the next fetch takes it again
                raise ConnectionLost(f"{job.path} differs from the file at the site", hint="run the same fetch again")
