"""Commands in processes of their own that can be killed: submit, look again, resume. Each one is a new Windlass."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from windlass.app.cancelling import cancel_runs
from windlass.app.farms.asking import list_pilots
from windlass.app.farms.ending import resume_farm
from windlass.app.farms.sending import pack_rows
from windlass.app.farms.starting import plan_farm, send_farm
from windlass.app.following import wait
from windlass.app.planning import Wanted, plan_run
from windlass.app.refreshing import refresh
from windlass.app.resuming import resume_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.farm.rows import Task, make_row
from windlass.core.farm.values import COMMANDS
from windlass.core.record import RunRecord
from windlass.core.site import Site
from windlass.edges.folders import find_folders
from windlass.edges.host import Host, Reply, Request
from windlass.edges.store import Store
from windlass.errors import WindlassError

CLIENT_POINTS = ("before-blobs", "after-blobs", "before-saving", "after-saving", "after-answer", "after-saving-answer")
ANSWER_S = 120.0

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.app.victims", "windlass.edges.ssh_host", "windlass.edges.survey"])


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a command runs: its environment, the project and the site."""

    env: Mapping[str, str]
    project: Path
    site: str


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a command said in the end; nothing at all when it was killed."""

    records: tuple[RunRecord, ...] = ()
    problem: str | None = None


class Victim:
    """One command under way. It says when the submission itself begins, so that kills hit that and not the start."""

    def __init__(self, command: Callable[..., Sequence[RunRecord]], place: Place, *arguments: object) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process: ForkServerProcess = _CONTEXT.Process(target=_work, args=(command, place, arguments, theirs))
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def wait_for_start(self) -> None:
        assert self._pipe.poll(ANSWER_S), "the command hangs"
        said = self._pipe.recv()
        assert said == "start", said

    def has_answered(self) -> bool:
        """Then a kill comes too late to harm."""
        return self._pipe.poll(0)

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> Told:
        """Its last words, once it is gone."""
        told = Told()
        try:
            while self._pipe.poll(ANSWER_S):
                said = self._pipe.recv()
                told = said if isinstance(said, Told) else told
        except EOFError:
            pass
        self._process.join(ANSWER_S)
        assert self._process.exitcode is not None, "the command hangs"
        return told


def run_command(command: Callable[..., Sequence[RunRecord]], place: Place, *arguments: object) -> Told:
    return Victim(command, place, *arguments).end()


def submit(session: Session, place: Place) -> list[RunRecord]:
    """What `windlass run -d` does."""
    planned = plan_run(session, Wanted(project=place.project, site=place.site))
    _say_start(session, place)
    return [start_run(session, planned)]


def look(session: Session, place: Place) -> list[RunRecord]:
    """What `windlass ps` does."""
    found = refresh(session, session.store.list())
    for problem in found.problems.values():
        raise problem
    return list(found.records)


def resume(session: Session, place: Place, run_id: str) -> list[RunRecord]:
    return [resume_run(session, session.store.load(run_id))]


def cancel(session: Session, place: Place, run_id: str) -> list[RunRecord]:
    return cancel_runs(session, [session.store.load(run_id)])


def submit_and_die(session: Session, place: Place, point: str) -> list[RunRecord]:
    assert isinstance(session, _DyingSession)
    planned = plan_run(session, Wanted(project=place.project, site=place.site))
    session.point = point
    return [start_run(session, planned)]


def farm_and_die(session: Session, place: Place, point: str, commands: Sequence[str]) -> list[RunRecord]:
    """What `windlass farm run --pilots 2 -d` does."""
    assert isinstance(session, _DyingSession)
    wanted = Wanted(project=place.project, site=place.site)
    farm = plan_farm(session, wanted, tasks=len(commands), pilots=2)
    session.point = point
    packed = pack_rows(make_row(Task(command=one)) for one in commands)
    return [send_farm(session, farm, packed, kind=COMMANDS)]


def resume_and_wait(session: Session, place: Place, run_id: str) -> list[RunRecord]:
    """What `windlass farm resume` does."""
    lead = session.store.load(run_id)
    resume_farm(session, lead)
    return [wait(session, one) for one in list_pilots(session, lead)]


def _work(
    command: Callable[..., Sequence[RunRecord]], place: Place, arguments: Sequence[object], pipe: Connection
) -> None:
    os.environ.clear()
    os.environ.update(place.env)
    session = _DyingSession(folders=find_folders(os.environ), environ=os.environ, tell=lambda line: None)
    session.pipe = pipe
    try:
        with session:
            pipe.send(Told(records=tuple(command(session, place, *arguments))))
    except WindlassError as problem:
        pipe.send(Told(problem=f"{type(problem).__name__}: {problem.message} {problem.details} {problem.said}"))


def _say_start(session: Session, place: Place) -> None:
    """With the connection open: what comes now is the submission."""
    session.host(session.site(place.site)).ask([Request(operation="facts")])
    if isinstance(session, _DyingSession) and session.pipe is not None:
        session.pipe.send("start")


class _DyingSession(Session):
    """Kills its own process at a named point of `start_run`."""

    point: str | None = None
    pipe: Connection | None = None

    @property
    def store(self) -> Store:
        if not isinstance(self._store, _DyingStore):
            self._store = _DyingStore(self.folders.state / "windlass.db", self)
        return self._store

    def host(self, site: Site) -> Host:
        return _DyingHost(super().host(site), self)

    def pass_point(self, point: str) -> None:
        if point == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


class _DyingHost:
    def __init__(self, host: Host, session: _DyingSession) -> None:
        self._host = host
        self._session = session

    @property
    def name(self) -> str:
        return self._host.name

    @property
    def round_trips(self) -> int:
        return self._host.round_trips

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        is_submission = requests[-1].operation == "submit"
        if requests[0].operation == "missing_blobs":
            self._session.pass_point("before-blobs")
        replies = self._host.ask(requests)
        if requests[0].operation == "missing_blobs":
            self._session.pass_point("after-blobs")
        if is_submission:
            self._session.pass_point("after-answer")
        return replies

    def close(self) -> None:
        self._host.close()


class _DyingStore(Store):
    def __init__(self, path: Path, session: _DyingSession) -> None:
        super().__init__(path, tell=lambda line: None)
        self._session = session
        self._saves = 0

    def save(self, record: RunRecord) -> None:
        self._session.pass_point("before-saving" if not self._saves else "")
        super().save(record)
        self._saves += 1
        self._session.pass_point("after-saving" if self._saves == 1 else "after-saving-answer")
