"""scancel: end or signal jobs."""

import os
import signal
import sqlite3
import sys
import time

from windlass.pocket import launch, queue
from windlass.pocket.database import open_database, writing
from windlass.pocket.errors import PocketError, UsageError
from windlass.pocket.getopt import make_grammar, parse
from windlass.pocket.kept_environment import forget_environment
from windlass.pocket.model import Job, OrderKind, State
from windlass.pocket.places import Places
from windlass.pocket.programs.usage import show_about
from windlass.pocket.programs.users import current_user
from windlass.pocket.recovery import attend
from windlass.pocket.selection import JobName, read_job_names, read_states
from windlass.pocket.signals import read_signal

_GRAMMAR = make_grammar(
    "scancel",
    """account=A batch.b clusters=M ctld. full.f help. hurry.H interactive.i jobname=n me. name= nodelist=w
    partition=p qos=q quiet.Q reservation=R signal=s sibling= state=t usage. user=u verbose.v version.V wckey=""",
    permutes=True,
    bad_usage=1,
)
_FILTERS = ("account", "jobname", "name", "me", "partition", "qos", "reservation", "state", "user")


def run(places: Places, words: list[str]) -> int:
    parsed = parse(_GRAMMAR, words)
    options = dict(parsed.options)
    if show_about(_GRAMMAR, options, "[OPTIONS] [job_id[_array_id][.step_id]]"):
        return 0
    names = _read_names(parsed.operands)
    if not names and not any(name in options for name in _FILTERS):
        raise PocketError("No job identification provided")
    number = _read_number(options.get("signal"))
    states = _read_states(options.get("state"))
    db = open_database(places)
    attend(db, places)
    jobs = [job for job in queue.fetch_active(db) if _is_meant(job, names, options, states)]
    code = 0
    for job in jobs:
        if job.request.uid != os.getuid() and os.getuid() != 0:
            _say(f"Kill job error on job id {job.id}: Access/permission denied")
            code = 1
            continue
        step = next((name.step for name in names if name.step and name.fits(job)), None)
        _send(db, places, job, number, "batch" if "batch" in options else "full" if "full" in options else step or "")
    for job in jobs:
        launch.wake_supervisor(places, job.id)
    launch.ring(places)
    return code


def _read_names(operands: tuple[str, ...]) -> list[JobName]:
    names: list[JobName] = []
    for word in operands:
        try:
            names += read_job_names(word)
        except ValueError as error:
            raise PocketError(f"Invalid job id {error}") from None
    return names


def _read_number(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return read_signal(text)
    except ValueError:
        raise UsageError(f"Unknown job signal: {text}", code=1) from None


def _read_states(text: str | None) -> set[State] | None:
    try:
        return None if text is None else read_states(text)
    except ValueError as error:
        raise PocketError(f"Invalid job state: {error}") from None


def _is_meant(job: Job, names: list[JobName], options: dict[str, str], states: set[State] | None) -> bool:
    if names and not any(name.fits(job) for name in names):
        return False
    user = current_user() if "me" in options else options.get("user")
    wanted = {
        "account": job.request.account,
        "partition": job.request.partition,
        "qos": job.request.qos or "normal",
        "reservation": job.request.reservation,
        "jobname": job.name,
        "name": job.name,
    }
    return (
        user in (None, job.request.user, str(job.request.uid))
        and (states is None or job.state in states)
        and all(options[option] == value for option, value in wanted.items() if option in options)
    )


def _send(db: sqlite3.Connection, places: Places, job: Job, number: int | None, scope: str) -> None:
    """Cancel, or a signal. The state is looked at again inside: the job may just have started."""
    cancels = number in (None, signal.SIGKILL) and scope == ""
    with writing(db):
        current = queue.fetch_job(db, job.id)
        if current is None or current.state.is_final:
            return
        if current.state is State.PENDING:
            if cancels:
                queue.update_job(
                    db, job.id, state=State.CANCELLED, end_at=time.time(), cancelled_by=os.getuid(), is_held=0
                )
                forget_environment(db, places, job)
            else:
                _say(f"Kill job error on job id {job.display_id}: Job is pending execution")
            return
        kind = OrderKind.CANCEL if cancels else OrderKind.SIGNAL
        chosen = int(signal.SIGTERM if number is None else number)
        queue.insert_order(db, job.id, kind, uid=os.getuid(), signal=chosen, scope=scope or "steps")


def _say(text: str) -> None:
    print(f"scancel: error: {text}", file=sys.stderr)
