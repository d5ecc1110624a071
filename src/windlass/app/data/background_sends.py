"""Sendings that go on without a terminal: one process each, with a log, a place to look at and a way to stop it.

STATE/sends/ID/: order.json (what was asked for), progress.json (how far it is), log, and a lock that its process
holds: a process that is gone, however it went, is known by that.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from windlass.app.data.globus_sends import globus_cancel, globus_status, list_globus_sends
from windlass.app.data.sending import SendOptions, Sent, check_name, send
from windlass.app.data.sending_progress import PROGRESS, ProgressWriter, load_progress, save_progress
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.files import make_private_folder, save_file
from windlass.edges.folders import find_folders
from windlass.edges.globus import Task
from windlass.errors import NotFound, TransferBusy, WindlassError

_ORDER = "order.json"
_LOG = "log"
_LOCK = "lock"
_STOP_S = 10.0
_START_S = 60.0  # a laptop that is busy takes its time; one that does not start in this does not start
_KEPT = 20  # sendings that are over and still listed


@dataclass(frozen=True, kw_only=True)
class Order:
    site: str
    name: str
    source: str
    options: SendOptions
    started: float


@dataclass(frozen=True, kw_only=True)
class Job:
    """state: running, done, failed or stopped; unknown where Globus does not answer. log None: Globus has it."""

    id: str
    site: str
    name: str
    source: str
    started: float
    state: str
    done_bytes: int
    total_bytes: int
    rate: float | None
    message: str
    pid: int
    log: Path | None


def start(session: Session, site: Site, source: Path, name: str, options: SendOptions) -> Job:
    """One for each data set and site; it has its own session, so that closing the terminal does not end it."""
    check_name(name)
    for job in _list_ours(session):
        if (job.site, job.name, job.state) == (site.name, name, "running"):
            raise TransferBusy(f"{name} is being sent to {site.name} already, as {job.id}", hint="windlass data sends")
    _forget_old(session)
    job_id = f"{name}-{session.make_suffix()}"
    folder = _find_folder(session, job_id)
    make_private_folder(folder)
    if options.labels:  # its process runs in another folder
        options = replace(options, labels=str(Path(options.labels).expanduser().absolute()))
    order = Order(site=site.name, name=name, source=str(source.absolute()), options=options, started=session.clock())
    save_file(folder / _ORDER, msgspec.json.encode(order))
    _launch(session, folder)
    return find_send(session, job_id)


def list_sends(session: Session) -> tuple[Job, ...]:
    """Ours and those that Globus carries out, the newest first."""
    return tuple(sorted((*_list_ours(session), *_list_globus(session)), key=lambda job: -job.started))


def _list_ours(session: Session) -> tuple[Job, ...]:
    top = session.folders.state / "sends"
    found = []
    for folder in top.iterdir() if top.is_dir() else ():
        job = _load(folder)
        if job is not None:
            found.append(job)
    return tuple(sorted(found, key=lambda job: -job.started))


def find_send(session: Session, job_id: str) -> Job:
    job = _load(_find_folder(session, job_id)) if "/" not in job_id else None
    if job is None:
        raise NotFound(f"there is no sending {job_id!r}", hint="windlass data sends")
    return job


def stop(session: Session, job_id: str, *, patience_s: float = _STOP_S) -> Job:
    """It ends after the piece it is at, or hard when it does not; what arrived whole stays at the site."""
    known = {one.id for one in list_globus_sends(session)}
    if job_id in known:
        globus_cancel(session, job_id)
        return next(one for one in _list_globus(session) if one.id == job_id)
    job = find_send(session, job_id)
    if job.state != "running":
        return job
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(job, number)
        deadline = time.monotonic() + patience_s
        while (job := find_send(session, job_id)).state == "running" and time.monotonic() < deadline:
            time.sleep(0.05)
        if job.state != "running":
            _note_stopped(_find_folder(session, job_id))
            return find_send(session, job_id)
    raise WindlassError(f"{job_id} does not end: its process {job.pid} hangs", hint=f"its log: {job.log}")


def _signal(job: Job, number: signal.Signals) -> None:
    """Never to 0 or 1, which are not its process: 0 would be all of our own group."""
    if job.pid <= 1:
        raise WindlassError(
            f"{job.id} runs, and does not say as which process: it cannot be stopped yet", hint=f"its log: {job.log}"
        )
    with suppress(ProcessLookupError):
        os.kill(job.pid, number)


def _note_stopped(folder: Path) -> None:
    """Of one that had no time to say how it ended: it ended because we asked."""
    now = load_progress(folder)
    if now.state == "running":
        said = "it did not end by itself and was killed; the same sending goes on where it was"
        save_progress(folder, replace(now, state="stopped", message=said))


def run_order(folder: Path) -> int:
    """The process in the background."""
    order = msgspec.json.decode((folder / _ORDER).read_bytes(), type=Order)
    with _hold(folder):
        signal.signal(signal.SIGTERM, _raise_stopped)
        writer = ProgressWriter(folder)
        try:
            with Session(folders=find_folders(os.environ), environ=os.environ, tell=_say) as session:
                site = session.site(order.site)
                sent = send(
                    session, site, Path(order.source), order.name, options=order.options, progress=writer.update
                )
        except _Stopped:
            writer.end("stopped", "stopped; the same sending goes on where it was")
            return 0
        except WindlassError as problem:
            _say(str(problem))
            writer.end("failed", problem.message)
            return int(problem.exit_code)
        except BaseException as problem:  # nobody watches: its end must be in the record, whatever it was
            writer.end("failed", f"{type(problem).__name__}: {problem}")
            raise
        writer.end("done", _describe(sent))
        _say(_describe(sent))
        return 0


class _Stopped(BaseException):
    """Somebody asked us to end."""


def _raise_stopped(*_: object) -> None:
    raise _Stopped


def _describe(sent: Sent) -> str:
    return f"{sent.files} files at {sent.path}" + (", unchanged" if sent.is_unchanged else "")


def _launch(session: Session, folder: Path) -> None:
    """Back when it holds its lock and has said that it runs, or is over already."""
    with open(folder / _LOG, "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "windlass.app.data.background_sends", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(session.environ),
            cwd="/",
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_S
    while not (folder / PROGRESS).exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    if not (folder / PROGRESS).exists():
        with suppress(ProcessLookupError):
            process.kill()  # nobody would know of it
        process.wait()
        words = (folder / _LOG).read_text(errors="replace").strip().splitlines()
        raise WindlassError("the sending did not start", said="\n".join(words[-5:]) or None)


def _load(folder: Path) -> Job | None:
    try:
        order = msgspec.json.decode((folder / _ORDER).read_bytes(), type=Order)
    except (OSError, msgspec.MsgspecError):
        return None
    is_held = _is_held(folder)  # asked first: it may end at any moment, and says how before it lets go
    progress = load_progress(folder)
    if progress.state == "running" and not is_held:
        progress = replace(
            progress, state="failed", message="its process is gone; the same sending goes on where it was"
        )
    return Job(
        id=folder.name,
        site=order.site,
        name=order.name,
        source=order.source,
        started=order.started,
        state=progress.state,
        done_bytes=progress.done_bytes,
        total_bytes=progress.total_bytes,
        rate=progress.rate,
        message=progress.message,
        pid=progress.pid,
        log=folder / _LOG,
    )


def _list_globus(session: Session) -> Iterator[Job]:
    """Globus is asked about each that was not over when it was asked last."""
    for one in list_globus_sends(session):
        try:
            task = globus_status(session, one.id)
        except WindlassError as problem:
            task = Task(id=one.id, state="unknown", message=problem.message)
        yield Job(
            id=one.id,
            site=one.site,
            name=Path(one.path).name,
            source=one.source,
            started=one.started,
            state=task.state,
            done_bytes=task.done_bytes,
            total_bytes=0,
            rate=task.rate,
            message=task.message,
            pid=0,
            log=None,
        )


def _forget_old(session: Session) -> None:
    over = [job for job in _list_ours(session) if job.state != "running"]
    for job in over[_KEPT:]:
        shutil.rmtree(_find_folder(session, job.id), ignore_errors=True)


def _find_folder(session: Session, job_id: str) -> Path:
    return session.folders.state / "sends" / job_id


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    with open(folder / _LOCK, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_held(folder: Path) -> bool:
    try:
        with open(folder / _LOCK) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _say(line: str) -> None:
    with suppress(OSError):  # its disk may be full
        print(time.strftime("%Y-%m-%d %H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    sys.exit(run_order(Path(sys.argv[1])))
