"""`rehearse`: the very script made for a site, run here under that site's rules, and a list of what would have failed.

The site is pretended by pocket (`[pretend]` of its settings) inside a world of its own (`rehearsal_stage`). Links are
started one by one, so that between two of them everything stands still and can be looked at.
"""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from windlass.app.cancelling import cancel_runs
from windlass.app.examining import gather_run
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.rehearsal_data import lay_project_samples, lay_samples, lay_stand_ins
from windlass.app.rehearsal_stage import MODULES, Stage, make_host, make_local_site, set_stage, write_world
from windlass.app.rehearsal_watch import Watcher, list_ended
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.facts import NOTHING_SEEN
from windlass.core.finding import Diagnosis, Finding, Severity
from windlass.core.record import RunRecord, RunState
from windlass.core.rehearsal.engine import Tempo, make_pocket_settings
from windlass.core.rehearsal.evidence import Evidence, LinkSeen, Sample
from windlass.core.rehearsal.findings import judge
from windlass.core.rehearsal.links import find_incomplete
from windlass.core.rehearsal.words import list_missing
from windlass.core.seen.areas import is_under
from windlass.diagnoses import diagnose
from windlass.edges.folders import Folders
from windlass.errors import ClusterRefused, UsageError, WindlassError
from windlass.pocket import launch, locks, processes
from windlass.pocket.database import open_database
from windlass.pocket.locks import Lock
from windlass.pocket.places import Places
from windlass.pocket.queue import fetch_active
from windlass.pocket.settings import detect_machine
from windlass_job import wire

_FOLDER = "rehearsals"
_KEPT = "keep"
_LOCK = "lock"
_LOOK_S = 0.25
_CLEAN_UP_S = 15.0


@dataclass(frozen=True, kw_only=True)
class Options:
    tempo: Tempo = field(default_factory=Tempo)
    keep: bool = False  # its folder stays until it is removed by hand


@dataclass(frozen=True, kw_only=True)
class News:
    """Something to show while it goes on."""

    log: bytes = b""
    stage: Stage | None = None  # set: this is what is pretended
    planned: Planned | None = None
    link: LinkSeen | None = None  # one is over
    begins: int | None = None  # a link is let start


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    run_id: str
    folder: Path
    planned: Planned
    evidence: Evidence
    findings: tuple[Finding, ...]

    @property
    def would_fail(self) -> bool:
        return any(one.severity is Severity.ERROR for one in self.findings)

    @property
    def stopped_short(self) -> str | None:
        """Why the training could not be watched on this laptop."""
        return find_incomplete(self.evidence)


def rehearse(
    session: Session, wanted: Wanted, options: Options, *, show: Callable[[News], None] = lambda news: None
) -> Rehearsal:
    """Blocks until it is over. Nothing is sent anywhere, and no run is added to those of `windlass ps`."""
    site = session.site(wanted.site)
    if site.is_local:
        raise UsageError(f"{site.name} is this machine: there is nothing to pretend", hint="windlass run")
    facts = session.last_facts(site) or NOTHING_SEEN
    top = session.folders.state / _FOLDER
    with _make_folder(session, top, keep=options.keep) as folder:
        stage = set_stage(folder, site, facts, session.environ)
        facts = replace(facts, root=stage.root)
        planned = plan_run(session, wanted, known=facts)
        show(News(stage=stage, planned=planned))
        with _open_inside(session, stage) as inside:
            conductor = _Conductor(inside, stage, planned, options.tempo, show)
            try:
                evidence = conductor.conduct()
            finally:
                _forget_secrets(stage, planned.plan.folder)
    return Rehearsal(
        run_id=planned.plan.run_id,
        folder=folder,
        planned=planned,
        evidence=evidence,
        findings=judge(evidence, planned.findings),
    )


class _Conductor:
    """Starts link after link, watches, and leaves nothing running."""

    def __init__(
        self, session: Session, stage: Stage, planned: Planned, tempo: Tempo, show: Callable[[News], None]
    ) -> None:
        self._session, self._stage, self._planned, self._tempo, self._show = session, stage, planned, tempo, show
        self._places = Places(stage.pocket)
        self._watcher = Watcher(stage, planned.plan)
        self._is_strict = True
        self._deadline = time.monotonic() + tempo.whole.total_seconds()
        self._is_unfinished = False

    def conduct(self) -> Evidence:
        site, plan = self._planned.site, self._planned.plan
        sets = Path(self._session.site("here").root) / wire.DATA
        samples, shown = lay_samples(self._stage, self._planned.spec, self._planned.plan, sets, self._session.environ)
        if any(is_under(one.target, "/tmp") for one in shown):  # a node's own /tmp would hide it
            self._stage = replace(self._stage, node_folders=())
        stand_ins = lay_stand_ins(self._stage, plan)
        write_world(self._stage, site, self._session.environ, shown)
        local = make_local_site(self._stage, site)
        self._session.pretend(local, make_host(self._stage), self._planned.facts)
        record, refusal = self._submit()
        if record is None:
            return self._make_evidence(refusal=refusal, samples=samples, stand_ins=stand_ins)
        try:
            samples += lay_project_samples(self._stage, self._planned.spec, plan, self._planned.project)
            links = tuple(self._watch())
            diagnoses = self._diagnose(record, links)
        finally:
            self._clean_up(record)
        found = self._make_evidence(refusal=refusal, samples=samples, stand_ins=stand_ins)
        return replace(
            found,
            links=links,
            written=self._watcher.list_written(),
            modules=self._watcher.list_modules(),
            environment=_name_environment(self._planned),
            laptop_only=_find_on_laptop(links),
            diagnoses=diagnoses,
        )

    def _make_evidence(
        self, *, refusal: str | None, samples: tuple[Sample, ...], stand_ins: tuple[str, ...]
    ) -> Evidence:
        return Evidence(
            plan=self._planned.plan,
            site=self._planned.site,
            folders=self._stage.folders,
            is_closed=self._stage.is_closed,
            has_network=self._stage.has_network,
            refusal=refusal,
            samples=samples,
            stand_ins=stand_ins,
            gpus_here=detect_machine().gpus,
            most_links=self._tempo.links,
            is_unfinished=self._is_unfinished,
        )

    def _submit(self) -> tuple[RunRecord | None, str | None]:
        """Once with the site's rules; where these refuse it, once more without, to see the rest."""
        self._allow(0)
        try:
            return start_run(self._session, self._planned, force=True), None
        except ClusterRefused as refused:
            said = refused.said or refused.message
        self._is_strict = False
        self._allow(0)
        try:
            return start_run(self._session, self._planned, force=True), said
        except ClusterRefused:
            return None, said

    def _allow(self, starts: int) -> None:
        """So many links may have been started by now."""
        text = make_pocket_settings(
            self._planned.plan,
            self._planned.site,
            self._planned.facts,
            self._tempo,
            starts=starts,
            modules=f"{self._stage.pocket_inside}/{MODULES}",
            node_folders=self._stage.node_folders,
            is_strict=self._is_strict,
        )
        aside = self._places.settings.with_suffix(".new")
        aside.write_text(text, encoding="utf-8")
        aside.replace(self._places.settings)
        launch.ring(self._places)

    def _watch(self) -> Iterator[LinkSeen]:
        db = open_database(self._places)
        seen, first = 0, self._planned.plan.first_link
        with contextlib.closing(db):
            self._begin(1)
            while True:
                self._show(News(log=self._watcher.read_new()))
                ended, is_over = list_ended(db), not fetch_active(db)
                if len(ended) > seen:
                    self._show(News(log=self._watcher.read_new()))
                    link = self._watcher.see(ended[seen], first + seen)
                    seen += 1
                    self._show(News(link=link))
                    yield link
                    if is_over or link.is_last or seen >= self._tempo.links:
                        return
                    self._watcher.remember_saved()
                    self._watcher.let_time_pass()
                    self._begin(seen + 1)
                elif is_over:
                    return
                if time.monotonic() > self._deadline:
                    self._is_unfinished = True
                    return
                time.sleep(_LOOK_S)

    def _begin(self, number: int) -> None:
        self._watcher.began = self._watcher.began or time.time()
        self._show(News(begins=number))
        self._allow(number)

    def _diagnose(self, record: RunRecord, links: tuple[LinkSeen, ...]) -> tuple[Diagnosis, ...]:
        if not links or not links[-1].is_broken:
            return ()
        ended = replace(record, state=RunState.FAILED, link=links[-1].number, exit_code=links[-1].exit_code)
        return diagnose(gather_run(self._session, ended))

    def _clean_up(self, record: RunRecord) -> None:
        """No job, and no keeper, outlives the rehearsal."""
        with contextlib.suppress(WindlassError):
            cancel_runs(self._session, [record])
        deadline = time.monotonic() + _CLEAN_UP_S
        with contextlib.closing(open_database(self._places)) as db:
            while fetch_active(db) and time.monotonic() < deadline:
                time.sleep(_LOOK_S)
        keeper = locks.holder(self._places.keeper_lock)
        if keeper:
            with contextlib.suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGTERM)


def _forget_secrets(stage: Stage, run_folder: str) -> None:
    """The rest of a rehearsal stays to be looked at; nobody needs these any more."""
    folder = stage.find_outside(run_folder)
    if folder is not None:
        (folder / wire.SECRETS).unlink(missing_ok=True)


@contextlib.contextmanager
def _open_inside(session: Session, stage: Stage) -> Iterator[Session]:
    """A session whose store knows this rehearsal alone."""
    outer = session.folders
    folders = Folders(config=outer.config, data=outer.data, state=stage.folder / "state", cache=outer.cache)
    with Session(folders=folders, environ=session.environ, tell=session.tell) as inside:
        yield inside


@contextlib.contextmanager
def _make_folder(session: Session, top: Path, *, keep: bool) -> Iterator[Path]:
    """The last rehearsal stays until the next one; one that was interrupted goes at once."""
    _remove_old(top)
    folder = top / session.make_suffix()
    folder.mkdir(mode=0o700, parents=True)
    lock = Lock(folder / _LOCK)
    lock.take()
    if keep:
        (folder / _KEPT).touch()
    try:
        yield folder
    except BaseException:  # Ctrl-C too: nobody will look at half a rehearsal
        _remove(folder)
        raise
    finally:
        lock.let_go()


def _remove_old(top: Path) -> None:
    for folder in top.iterdir() if top.is_dir() else ():
        if not (folder / _KEPT).exists() and locks.holder(folder / _LOCK) is None:
            _remove(folder)


def _remove(folder: Path) -> None:
    """With whatever still runs in it: a rehearsal that was killed could not end its jobs itself."""
    if (folder / "pocket" / "pocket.db").exists():
        _kill_left_over(Places(folder / "pocket"))
    for home in (folder / "areas").glob("*"):
        with contextlib.suppress(OSError):
            home.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _kill_left_over(places: Places) -> None:
    with contextlib.closing(open_database(places)) as db:
        active = fetch_active(db)
    pids = [locks.holder(places.keeper_lock), *(job.supervisor_pid for job in active)]
    processes.send([pid for pid in pids if pid and processes.is_alive(pid)], signal.SIGKILL)
    for job in active:
        if job.token:
            processes.send(processes.marked(job.token, processes.list_processes()), signal.SIGKILL)


def _find_on_laptop(links: tuple[LinkSeen, ...]) -> dict[str, str]:
    """Paths that a failed link missed, and that exist here."""
    missed = [path for one in links if one.outcome == wire.FAILED for path in list_missing(one.text)]
    return {path: path for path in dict.fromkeys(missed) if Path(path).exists()}


def _name_environment(planned: Planned) -> str | None:
    seen = planned.environment
    return None if seen is None else seen.recipe.existing or seen.recipe.id
