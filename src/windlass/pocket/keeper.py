"""The keeper: the one process that decides what starts. It keeps nothing that is not in the database."""

import os
import select
import sqlite3
import sys
import time
import uuid

from windlass.pocket import launch, queue
from windlass.pocket.database import open_database, writing
from windlass.pocket.dependencies import make_lookup, read_dependency
from windlass.pocket.errors import PocketError
from windlass.pocket.kept_environment import forget_old_environments
from windlass.pocket.locks import Lock
from windlass.pocket.model import Job, Kind, State
from windlass.pocket.places import Places
from windlass.pocket.recovery import recover
from windlass.pocket.scheduling import Decision, decide, hold_back
from windlass.pocket.settings import Settings, load_settings

_LOOK_EVERY_S = 2.0  # how soon the death of a supervisor is noticed
_OLD_SCRIPTS_S = 86400
_WAITS_FOR_SOMEBODY = ("JobHeldUser", "DependencyNeverSatisfied")


def run_keeper(places: Places) -> int:
    """Schedule until there was nothing to do for a while. Leaves at once when another keeper is there."""
    lock = Lock(places.keeper_lock)
    if not lock.take():
        return 0
    bell = _open_bell(places)
    db = open_database(places)
    _forget_old(db, places)
    idle_since = time.time()
    while True:
        settings = _settings(places)
        try:
            wait_s, is_busy = run_pass(db, places, settings)
        except sqlite3.OperationalError as error:
            # A full disk, or a writer that holds the file: it passes, and the jobs are still there.
            print(f"keeper: {error}; trying again", file=sys.stderr, flush=True)
            wait_s, is_busy = _LOOK_EVERY_S, True
        idle_since = time.time() if is_busy else idle_since
        if time.time() - idle_since >= settings.idle_s:
            # Let go first, look then: a submission either finds the lock free or is seen here.
            lock.let_go()
            if not _has_work(db) or not lock.take():
                return 0
            idle_since = time.time()
        _wait(bell, wait_s)
        _reap()


def run_pass(db: sqlite3.Connection, places: Places, settings: Settings) -> tuple[float, bool]:
    """Start what can start. Returns how long nothing can happen, and whether there is anything to do."""
    recover(db, places, settings, time.time())
    now = time.time()
    tokens: dict[int, str] = {}
    with writing(db):
        active = queue.fetch_active(db)
        pending = [job for job in active if job.state is State.PENDING]
        running = [job for job in active if job.state is State.RUNNING]
        lookup = make_lookup([*active, *_fetch_awaited(db, pending)])
        decision = decide(pending, running, settings.machine, lookup, now)
        if settings.pretence.starts is not None:
            decision = hold_back(decision, settings.pretence.starts - queue.count_starts(db))
        _write(db, decision, pending, tokens, now)
        forget_old_environments(db, places)
    for start in decision.starts:
        if start.job.request.kind is Kind.BATCH:
            launch.run_detached(places, "supervisor", str(start.job.id), tokens[start.job.id])
    if decision.cancels:
        return 0.0, True
    return _next_look(pending, now), bool(running or decision.starts or _may_start_alone(pending, decision))


def _write(db: sqlite3.Connection, decision: Decision, pending: list[Job], tokens: dict[int, str], now: float) -> None:
    for start in decision.starts:
        tokens[start.job.id] = uuid.uuid4().hex
        queue.update_job(
            db,
            start.job.id,
            state=State.RUNNING,
            reason="None",
            start_at=now,
            gpus=str([list(node) for node in start.gpus]),
            token=tokens[start.job.id],
        )
    for job in decision.cancels:
        queue.update_job(
            db, job.id, state=State.CANCELLED, reason="DependencyNeverSatisfied", end_at=now, cancelled_by=0
        )
    for job in pending:
        if decision.reasons.get(job.id, job.reason) != job.reason:
            queue.update_job(db, job.id, reason=decision.reasons[job.id])


def _fetch_awaited(db: sqlite3.Connection, pending: list[Job]) -> list[Job]:
    texts = {job.request.dependency for job in pending if job.request.dependency}
    ids = {condition.job_id for text in texts for condition in read_dependency(text).conditions}
    return [job for job in queue.fetch_named(db, ids) if job.state.is_final]


def _may_start_alone(pending: list[Job], decision: Decision) -> bool:
    """Whether time alone could let one of the waiting jobs start."""
    return any(decision.reasons.get(job.id) not in _WAITS_FOR_SOMEBODY for job in pending)


def _next_look(pending: list[Job], now: float) -> float:
    times = [job.begin_at - now for job in pending if job.begin_at is not None and job.begin_at > now]
    return max(0.0, min([_LOOK_EVERY_S, *times]))


def _has_work(db: sqlite3.Connection) -> bool:
    return any(job.state is State.RUNNING or job.reason not in _WAITS_FOR_SOMEBODY for job in queue.fetch_active(db))


def _settings(places: Places) -> Settings:
    try:
        return load_settings(places)
    except PocketError:
        # sbatch tells the user; the jobs that run must not suffer from a slip of the pen.
        return load_settings(Places(places.state / "nowhere"))


def _open_bell(places: Places) -> int:
    if not places.bell.exists():
        os.mkfifo(places.bell, 0o600)
    # Open for both ends: with a reader alone, select would say "end of file" for ever.
    return os.open(places.bell, os.O_RDWR | os.O_NONBLOCK)


def _wait(bell: int, seconds: float) -> None:
    ready, _, _ = select.select([bell], [], [], seconds)
    if ready:
        os.read(bell, 65536)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _forget_old(db: sqlite3.Connection, places: Places) -> None:
    """Scripts and lock files of jobs that are long over."""
    with writing(db):
        db.execute(
            "DELETE FROM scripts WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE "
            "(jobs.id = scripts.id OR jobs.array_id = scripts.id) AND (end_at IS NULL OR end_at > ?))",
            (time.time() - _OLD_SCRIPTS_S,),
        )
    # Only the keeper starts jobs, so none of these can be taken again while they are removed.
    kept = {places.job_lock(job.id).name for job in queue.fetch_active(db)}
    for path in places.job_lock(0).parent.iterdir():
        if path.name not in kept and time.time() - path.stat().st_mtime > _OLD_SCRIPTS_S:
            path.unlink(missing_ok=True)
