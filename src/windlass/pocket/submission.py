"""Putting jobs into the queue: the checks a controller makes, then one transaction."""

import getpass
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from windlass.pocket import queue
from windlass.pocket.arrays import ArraySpec
from windlass.pocket.database import save_highest_id, writing
from windlass.pocket.errors import PocketError
from windlass.pocket.kept_environment import save_environment
from windlass.pocket.layout import check_fits, make_layout
from windlass.pocket.model import Job, Request, State
from windlass.pocket.places import Places
from windlass.pocket.request import Options, Submitter
from windlass.pocket.settings import DEFAULT_PARTITION, Settings
from windlass.pocket.signals import read_warning

_CONTROLLER_WORDS = (
    "Requested", "Invalid partition", "Invalid job array", "Job dependency", "Invalid account", "Invalid qos",
    "Node count",
)  # fmt: skip
_TOO_MANY_NODES = "Node count specification invalid"
_TOO_LONG = "Requested time limit is invalid (missing or exceeds some limit)"


def as_refusal(error: PocketError, prefix: str) -> PocketError:
    """A controller's words come after the name of what failed; a program's own words come alone."""
    lines = [prefix + line if line.startswith(_CONTROLLER_WORDS) else line for line in error.lines]
    return PocketError(*lines, code=error.code, bare=error.bare)


def find_submitter() -> Submitter:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    try:
        directory = str(Path.cwd())
    except FileNotFoundError:
        raise PocketError("getcwd failed: No such file or directory") from None
    return Submitter(user=user, uid=os.getuid(), directory=directory, host=socket.gethostname())


def choose_partition(options: Options, settings: Settings) -> str:
    """The first of the partitions asked for; all must be known, unless pocket.toml names none.

    A stranger's script names the partitions of its own cluster: on one machine they all mean this machine.
    """
    named = options.text("partition", settings.default_partition)
    if len(settings.partitions) == 1 and settings.partition(DEFAULT_PARTITION) and settings.partition(named) is None:
        return DEFAULT_PARTITION
    for name in named.split(","):
        if settings.partition(name) is None:
            raise PocketError(f"invalid partition specified: {name}", "Invalid partition name specified")
    return named.split(",")[0]


def make_job(request: Request, options: Options, settings: Settings, now: float) -> Job:
    """A job without id; refuses what could never run."""
    partition = settings.partition(request.partition)
    limit = options.get("time", int)
    most = partition.max_time_s if partition else None
    if most is not None and ("time" in options and (limit is None or limit > most)):
        raise PocketError(_TOO_LONG)
    settings.pretence.refuse_strangers(request.account, request.qos)
    if partition and partition.max_nodes is not None and (request.min_nodes or 1) > partition.max_nodes:
        raise PocketError(_TOO_MANY_NODES)
    layout = make_layout(request, settings.machine)
    check_fits(request, layout, settings.machine)
    array = options.get("array", ArraySpec)
    is_held = "hold" in options or options.text("priority") == "0"
    return Job(
        id=0,
        array_limit=array.limit if array else None,
        name=request.name,
        request=replace(request, node_pattern=settings.pretence.node),
        layout=layout,
        reason="JobHeldUser" if is_held else "None",
        is_held=is_held,
        comment=options.text("comment"),
        submit_at=now,
        begin_at=options.get("begin", float),
        time_limit_s=settings.pretence.clock.shrink_limit(limit if "time" in options else most, _find_lead_s(request)),
    )


def _find_lead_s(request: Request) -> int:
    return read_warning(request.signal).lead_s if request.signal else 0


def submit(
    db: sqlite3.Connection,
    places: Places,
    job: Job,
    *,
    script: tuple[bytes, Mapping[str, str]] | None = None,
    before_commit: Callable[[int], None] = lambda job_id: None,
) -> Job:
    """Queue a job, or all tasks of an array; returns it with its id. script: with the environment it shall have."""
    indices = job.request.array_indices
    with writing(db):
        first = queue.take_ids(db, max(1, len(indices)))
        if script is not None:
            queue.insert_script(db, first, script[0])
            save_environment(places, first, script[1])
        if not indices:
            queue.insert_job(db, replace(job, id=first))
        for position, index in enumerate(indices, 1):
            # As in Slurm: tasks get new ids as they are split off, and the last keeps the array's own.
            task_id = first + position if position < len(indices) else first
            queue.insert_job(db, replace(job, id=task_id, array_id=first, array_index=index))
        before_commit(first)
    save_highest_id(places, first + max(1, len(indices)) - 1)
    return replace(job, id=first)


def wait_for_end(db: sqlite3.Connection, job_id: int) -> int:
    """The highest exit code, once the job and all tasks of its array are over."""
    while True:
        jobs = queue.fetch_named(db, [job_id])
        if all(job.state.is_final for job in jobs):
            return max((_exit_status(job) for job in jobs), default=0)
        time.sleep(0.1)


def _exit_status(job: Job) -> int:
    if job.exit_code or job.state is State.COMPLETED:
        return job.exit_code
    return 128 + job.exit_signal if 0 < job.exit_signal < 65 else 1


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise PocketError(f"Unable to open file {path}") from None


def read_umask() -> dict[str, str]:
    mask = os.umask(0)
    os.umask(mask)
    return {"SLURM_UMASK": f"{mask:04o}"}
