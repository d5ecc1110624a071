"""Jobs whose supervisor is gone: killed, or lost with a reboot. They must not stay RUNNING."""

import shutil
import sqlite3
import time
from dataclasses import replace

from windlass.pocket import launch, locks, processes, queue
from windlass.pocket.database import writing
from windlass.pocket.model import Job, Kind, State
from windlass.pocket.places import Places
from windlass.pocket.settings import Settings, load_settings

# A supervisor starts in well under a second; on a machine that swaps it may take longer.
LAUNCH_PATIENCE_S = 20


def recover(db: sqlite3.Connection, places: Places, settings: Settings, now: float) -> list[Job]:
    """Tell lost jobs as NODE_FAIL, and queue those again that may be."""
    active = queue.fetch_active(db)
    lost = [job for job in active if _is_lost(job, places, now)]
    for job in lost:
        _kill_left_over(job)
        with writing(db):
            current = queue.fetch_job(db, job.id)
            # The supervisor may have written the end between the two looks.
            if current and (current.state, current.token) == (job.state, job.token) and _is_lost(job, places, now):
                _write_off(db, current, settings, now)
        remove_traces(places, job.id)
    return lost


def queue_again(db: sqlite3.Connection, job: Job, *, as_state: State, delay_s: float, now: float) -> None:
    """Keep the run that is over in the history and put the job back. Call it inside a transaction."""
    queue.save_history(db, replace(job, state=as_state, end_at=job.end_at or now))
    _make_pending(db, job, begin_at=now + delay_s, reason="BeginTime", restarts=job.restarts + 1)


def remove_traces(places: Places, job_id: int) -> None:
    shutil.rmtree(places.job_tmp(job_id), ignore_errors=True)
    shutil.rmtree(places.spool(job_id), ignore_errors=True)


def _is_lost(job: Job, places: Places, now: float) -> bool:
    if locks.holder(places.job_lock(job.id)) is not None:
        return False
    if job.request.kind is Kind.ALLOCATION:
        return True  # salloc and srun hold the lock from the moment they ask
    if job.state is not State.RUNNING:
        return False
    return job.supervisor_pid is not None or now - (job.start_at or now) > LAUNCH_PATIENCE_S


def _write_off(db: sqlite3.Connection, job: Job, settings: Settings, now: float) -> None:
    queue.delete_orders(db, job.id)
    if job.request.kind is Kind.ALLOCATION:
        queue.update_job(db, job.id, state=State.CANCELLED, end_at=now, cancelled_by=job.request.uid)
        return
    if job.supervisor_pid is None:
        _make_pending(db, job, begin_at=job.begin_at, reason="None", restarts=job.restarts)
        return
    for step in queue.fetch_steps(db, job):
        if step.end_at is None:
            queue.update_step(db, step, state=State.CANCELLED, end_at=now)
    if job.request.may_requeue:
        queue_again(db, job, as_state=State.NODE_FAIL, delay_s=settings.requeue_delay_s, now=now)
    else:
        queue.update_job(db, job.id, state=State.NODE_FAIL, end_at=now, reason="NodeDown")


def _make_pending(db: sqlite3.Connection, job: Job, *, begin_at: float | None, reason: str, restarts: int) -> None:
    queue.update_job(
        db,
        job.id,
        state=State.PENDING,
        reason=reason,
        begin_at=begin_at,
        start_at=None,
        end_at=None,
        restarts=restarts,
        exit_code=0,
        exit_signal=0,
        gpus="[]",
        token="",
        supervisor_pid=None,
        max_rss_kb=0,
    )


def _kill_left_over(job: Job) -> None:
    if job.token:
        processes.send(processes.marked(job.token, processes.list_processes()), 9)


def attend(db: sqlite3.Connection, places: Places) -> None:
    """What every program does first: if the keeper died, see what became of its jobs and start another."""
    if locks.holder(places.keeper_lock) is None and queue.fetch_active(db):
        recover(db, places, load_settings(places), time.time())
        launch.wake_keeper(places)
