"""scontrol: look at jobs and nodes closely, and change jobs."""

import os
import socket
import sqlite3
import sys
import time
from collections.abc import Callable

from windlass.pocket import launch, locks, queue
from windlass.pocket.database import open_database, writing
from windlass.pocket.environment import choose, clean
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import make_grammar, parse
from windlass.pocket.hostlist import expand, fold
from windlass.pocket.kept_environment import save_environment
from windlass.pocket.model import Job, OrderKind, State
from windlass.pocket.places import Places
from windlass.pocket.pretence import Clock
from windlass.pocket.programs import VERSION
from windlass.pocket.programs.scontrol_show import format_config, format_job, format_node, format_partition
from windlass.pocket.programs.usage import show_about
from windlass.pocket.recovery import attend, queue_again
from windlass.pocket.selection import read_job_names
from windlass.pocket.settings import load_settings
from windlass.pocket.submission import read_umask
from windlass.pocket.timeforms import read_duration, read_moment

_GRAMMAR = make_grammar(
    "scontrol",
    """all.a clusters=M cluster= details.d federation.F future. help.h hide. local. oneliner.o quiet.Q sibling.
    uid=u usage. verbose.v version.V""",
    permutes=True,
    bad_usage=1,
)


def run(places: Places, words: list[str]) -> int:
    parsed = parse(_GRAMMAR, words)
    options = dict(parsed.options)
    # Alone, it shows how it is used.
    if show_about(_GRAMMAR, options if parsed.operands else {"help", *options}, "[OPTION] [COMMAND]"):
        return 0
    verb, *rest = parsed.operands
    verbs: dict[str, Callable[[], int]] = {
        "show": lambda: _show(places, rest, is_oneliner="oneliner" in options),
        "ping": lambda: _ping(places),
        "requeue": lambda: _each(places, rest, _requeue),
        "requeuehold": lambda: _each(places, rest, _requeue_and_hold),
        "hold": lambda: _each(places, rest, _hold),
        "uhold": lambda: _each(places, rest, _hold),
        "release": lambda: _each(places, rest, _release),
        "update": lambda: _update(places, rest),
        "version": lambda: _print(VERSION),
        "write": lambda: _write(places, rest),
    }
    fitting = [name for name in verbs if name == verb.lower()] or [n for n in verbs if n.startswith(verb.lower())]
    if not fitting:
        raise PocketError(f"invalid keyword: {verb}", bare=True)
    return verbs[fitting[0]]()


def _print(text: str) -> int:
    print(text)
    return 0


def _show(places: Places, words: list[str], *, is_oneliner: bool) -> int:
    what, _, value = (words[0] if words else "").lower().partition("=")
    value = value or (words[1] if len(words) > 1 else "")
    if not what:
        raise PocketError("too few arguments for keyword:show", bare=True)
    if what.startswith("hostn"):
        return _show_host_names(value or os.environ.get("SLURM_JOB_NODELIST", ""))
    if what.startswith("hostl"):
        return _print(fold(value.split(",")))
    if what.startswith("res"):
        return _print("No reservations in the system")
    settings = load_settings(places)
    if what.startswith(("job", "ste")):
        return _show_jobs(places, value, is_oneliner)
    if what.startswith("par"):
        found = [one for one in settings.partitions if value in ("", one.name)]
        if not found:
            raise PocketError(f"Partition {value} not found", bare=True)
        texts = [format_partition(one, settings) for one in found]
    elif what.startswith("node"):
        db = open_database(places)
        running = queue.fetch_jobs(db, "state = 'RUNNING'")
        names = {"pocket1", socket.gethostname(), *(name for job in running for name in job.node_names)}
        if value and not set(expand(value)) <= names:
            raise PocketError(f"Node {value} not found", bare=True)
        texts = [format_node(name, settings, running) for name in (expand(value) if value else ["pocket1"])]
    elif what.startswith("con"):
        texts = [format_config(settings, str(places.state), socket.gethostname())]
    else:
        raise PocketError(f"invalid entity:{what} for keyword:show", bare=True)
    for text in texts:
        print(_one_line(text) if is_oneliner else text)
    return 0


def _show_jobs(places: Places, value: str, is_oneliner: bool) -> int:
    db = open_database(places)
    attend(db, places)
    jobs = _find(db, value) if value else queue.fetch_active(db)
    if value and not jobs:
        raise PocketError("slurm_load_jobs error: Invalid job id specified", bare=True)
    if not jobs:
        return _print("No jobs in the system")
    for job in jobs:
        text = format_job(job, time.time())
        print(_one_line(text) if is_oneliner else text)
    return 0


def _show_host_names(text: str) -> int:
    try:
        names = expand(text)
    except ValueError as error:
        raise PocketError(str(error), bare=True) from None
    if not names:
        raise PocketError("host list is empty", bare=True)
    print(*names, sep="\n")
    return 0


def _ping(places: Places) -> int:
    # Pocket is up whenever its database opens: a keeper is started when there is work.
    open_database(places)
    pid = locks.holder(places.keeper_lock)
    note = f"keeper {pid}" if pid else "keeper idle, starts when needed"
    return _print(f"Slurmctld(primary) at {socket.gethostname()} is UP ({note})")


def _find(db: sqlite3.Connection, text: str) -> list[Job]:
    try:
        names = read_job_names(text)
    except ValueError:
        return []
    return [job for job in queue.fetch_jobs(db) if any(name.fits(job) for name in names)]


def _each(places: Places, words: list[str], act: Callable[[sqlite3.Connection, Places, Job], None]) -> int:
    if not words:
        raise PocketError("too few arguments for keyword", bare=True)
    db = open_database(places)
    attend(db, places)
    code = 0
    for word in ",".join(words).lower().replace("jobid=", "").replace("job=", "").split(","):
        jobs = _find(db, word)
        if not jobs:
            print(f"Invalid job id specified for job {word}", file=sys.stderr)
            code = 1
        for job in jobs:
            with writing(db):
                act(db, places, queue.fetch_job(db, job.id) or job)
            launch.wake_supervisor(places, job.id)
    launch.wake_keeper(places)
    return code


def _requeue(db: sqlite3.Connection, places: Places, job: Job) -> None:
    if not job.request.may_requeue:
        raise PocketError(f"Requested operation is presently disabled for job {job.display_id}", bare=True)
    if job.state is State.RUNNING:
        queue.insert_order(db, job.id, OrderKind.REQUEUE, uid=os.getuid())
    elif job.state.is_final:
        if queue.fetch_script(db, job) is None:
            raise PocketError(f"Invalid job id specified for job {job.display_id}", bare=True)
        # The one it was submitted with went when it was over.
        again = choose(job.request.export, clean(os.environ)) | read_umask()
        save_environment(places, job.array_id or job.id, again)
        delay = load_settings(places).requeue_delay_s
        queue_again(db, job, as_state=State.REQUEUED, delay_s=delay, now=time.time())
    else:
        raise PocketError(f"Job is pending execution for job {job.display_id}", bare=True)


def _requeue_and_hold(db: sqlite3.Connection, places: Places, job: Job) -> None:
    _requeue(db, places, job)
    queue.update_job(db, job.id, is_held=1)


def _hold(db: sqlite3.Connection, places: Places, job: Job) -> None:
    if job.state is State.PENDING:
        queue.update_job(db, job.id, is_held=1, reason="JobHeldUser")


def _release(db: sqlite3.Connection, places: Places, job: Job) -> None:
    if job.state is State.PENDING:
        queue.update_job(db, job.id, is_held=0, reason="None")


def _update(places: Places, words: list[str]) -> int:
    pairs = [word.partition("=") for word in words]
    values = {key.lower(): value for key, _, value in pairs}
    names = values.pop("jobid", None) or values.pop("job", None)
    if names is None:
        raise PocketError("pocket updates jobs only: scontrol update jobid=N …", bare=True)
    db = open_database(places)
    jobs = _find(db, names)
    if not jobs:
        raise PocketError(f"Invalid job id specified for job {names}", bare=True)
    clock = load_settings(places).pretence.clock
    for job in jobs:
        changes: dict[str, object] = {}
        for key, value in values.items():
            changes |= _read_change(key, value, job, clock)
        if job.state.is_final:
            raise PocketError(f"Job/step already completing or completed for job {job.display_id}", bare=True)
        with writing(db):
            queue.update_job(db, job.id, **changes)
        launch.wake_supervisor(places, job.id)
    launch.wake_keeper(places)
    return 0


def _read_change(key: str, value: str, job: Job, clock: Clock) -> dict[str, object]:
    try:
        if key == "timelimit":
            return {"time_limit_s": clock.shrink_change(_read_limit(value, job), job.time_limit_s)}
        if key in ("starttime", "eligibletime"):
            return {"begin_at": read_moment(value, time.time())}
        if key == "arraytaskthrottle":
            return {"array_limit": int(value) or None}
    except ValueError:
        raise PocketError(f"Invalid {key} value {value!r} for job {job.display_id}", bare=True) from None
    if key in ("comment", "name", "jobname"):
        return {"comment" if key == "comment" else "name": value}
    if key == "priority":
        return {"is_held": int(value == "0")}
    raise PocketError(f"Update of this parameter is not supported: {key}={value}", "Request aborted", bare=True)


def _read_limit(value: str, job: Job) -> int | None:
    """`+10` and `-10` are minutes more or less."""
    if value[:1] in ("+", "-") and value != "-1":
        change = read_duration(value[1:]) or 0
        return max(1, (job.time_limit_s or 0) + (change if value[0] == "+" else -change))
    return read_duration(value)


def _write(places: Places, words: list[str]) -> int:
    if len(words) < 2 or words[0].lower() != "batch_script":
        raise PocketError("invalid keyword: write", bare=True)
    db = open_database(places)
    jobs = _find(db, words[1])
    stored = queue.fetch_script(db, jobs[0]) if jobs else None
    if stored is None:
        raise PocketError("job script retrieval failed: Invalid job id specified", bare=True)
    target = words[2] if len(words) > 2 else f"slurm-{words[1]}.sh"
    if target == "-":
        sys.stdout.buffer.write(stored)
        return 0
    with open(target, "wb") as file:
        file.write(stored)
    return _print(f"batch script for job {words[1]} written to {target}")


def _one_line(text: str) -> str:
    return " ".join(text.split())
