"""An allocation that salloc or srun holds itself: asked for, waited for, used, given back."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from typing import NoReturn

from windlass.pocket import launch, processes, queue
from windlass.pocket.database import open_database, writing
from windlass.pocket.endings import job_ending
from windlass.pocket.environment import clean, make_job_environment
from windlass.pocket.errors import PocketError
from windlass.pocket.locks import Lock
from windlass.pocket.model import Job, Kind, State
from windlass.pocket.places import Places
from windlass.pocket.programs import ensure_bin
from windlass.pocket.recovery import remove_traces
from windlass.pocket.request import Options, make_request
from windlass.pocket.settings import Settings, load_settings
from windlass.pocket.submission import as_refusal, choose_partition, find_submitter, make_job, submit
from windlass.pocket.supervisor import claim, finish, make_ground, make_nodes
from windlass.pocket.watch import Cause, Watch

_REFUSED = {"srun": "Unable to allocate resources: ", "salloc": "Job submit/allocate failed: "}
_QUIET_S = 0.4  # a wait shorter than this is not worth a word


def run_in_allocation(places: Places, options: Options, *, program: str, words: list[str], name: str) -> int:
    """Run a command inside a new allocation and give it back; returns the command's exit code."""
    settings = load_settings(places)
    ensure_bin(places.state)
    db = open_database(places)
    job, lock = _ask(db, places, settings, options, program, name)
    launch.wake_keeper(places)
    granted = _wait(db, places, job, program, is_quiet="quiet" in options)
    if program == "salloc":
        _say(program, f"Granted job allocation {job.id}", options)
    code = _use(db, places, settings, granted, program, words)
    if program == "salloc":
        _say(program, f"Relinquishing job allocation {job.id}", options)
    lock.let_go()
    launch.wake_keeper(places)
    return code


def _ask(
    db: sqlite3.Connection, places: Places, settings: Settings, options: Options, program: str, name: str
) -> tuple[Job, Lock]:
    try:
        request = make_request(
            options,
            find_submitter(),
            kind=Kind.ALLOCATION,
            partition=choose_partition(options, settings),
            command=name,
        )
        draft = make_job(request, options, settings, time.time())
    except PocketError as error:
        raise as_refusal(error, _REFUSED[program]) from None
    launch.be_wakeable()
    locks: list[Lock] = []

    def hold(job_id: int) -> None:
        # Held before the job can be seen: the keeper takes an allocation without holder for dead.
        locks.append(Lock(places.job_lock(job_id)))
        locks[0].take()

    return submit(db, places, draft, before_commit=hold), locks[0]


def _wait(db: sqlite3.Connection, places: Places, job: Job, program: str, *, is_quiet: bool) -> Job:
    began, told = time.monotonic(), False
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        while True:
            current = queue.fetch_job(db, job.id)
            if current is None or current.state.is_final:
                raise PocketError(f"Job {job.id} was cancelled before it could start")
            if current.state is State.RUNNING:
                claimed = claim(db, job.id, current.token)
                if claimed is not None:
                    break
            if not told and not is_quiet and time.monotonic() - began > _QUIET_S:
                pending = "Pending job allocation" if program == "salloc" else "job"
                if program == "salloc":
                    print(f"salloc: {pending} {job.id}", file=sys.stderr)
                print(f"{program}: job {job.id} queued and waiting for resources", file=sys.stderr)
                told = True
            time.sleep(0.03)
    except KeyboardInterrupt:
        with writing(db):
            queue.update_job(db, job.id, state=State.CANCELLED, end_at=time.time(), cancelled_by=os.getuid())
        print(f"{program}: Job allocation {job.id} has been revoked", file=sys.stderr)
        raise
    if told:
        print(f"{program}: job {job.id} has been allocated resources", file=sys.stderr)
    return claimed


def _use(db: sqlite3.Connection, places: Places, settings: Settings, job: Job, program: str, words: list[str]) -> int:
    processes.become_subreaper()
    make_nodes(places, settings, job)
    ground = make_ground(places, settings, job)
    environment = make_job_environment(job, clean(os.environ), ground)
    if program == "salloc":
        # As on a login node: the GPUs and the node-local folder are seen by steps only.
        environment.pop("CUDA_VISIBLE_DEVICES", None)
    watch = Watch(db, places, settings, job, lambda text: print(text, file=sys.stderr))
    try:
        child = subprocess.Popen(words, env=environment, preexec_fn=processes.die_with_parent)
    except OSError as error:
        finish(db, places, settings, job, job_ending(1, watch.outcome), watch.outcome)
        raise PocketError(f"Unable to exec command {words[0]}: {error.strerror}") from None
    # The terminal sends Ctrl-C to the command too: its answer counts, not ours.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda received, _: processes.send([child.pid], received))
    outcome = watch.run(child)
    remove_traces(places, job.id)
    finish(db, places, settings, job, job_ending(child.returncode, outcome), outcome)
    if outcome.cause in (Cause.TIME, Cause.CANCEL) and program == "salloc":
        print(f"salloc: Job allocation {job.id} has been revoked.", file=sys.stderr)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _leave(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt


def _say(program: str, text: str, options: Options) -> None:
    if "quiet" not in options:
        print(f"{program}: {text}", file=sys.stderr)
