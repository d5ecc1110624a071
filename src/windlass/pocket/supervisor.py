"""The supervisor of one batch job, as slurmstepd: it starts the script, watches it, and writes its end."""

import io
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from windlass.pocket import launch, namespaces, patterns, processes, queue
from windlass.pocket.database import open_database, writing
from windlass.pocket.endings import Ending, batch_ending, job_ending
from windlass.pocket.environment import Ground, make_batch_environment
from windlass.pocket.kept_environment import forget_environment, load_environment
from windlass.pocket.locks import Lock
from windlass.pocket.model import Job, State, Step
from windlass.pocket.outputs import output_pattern, output_values
from windlass.pocket.places import Places
from windlass.pocket.recovery import queue_again, remove_traces
from windlass.pocket.settings import Settings, load_settings
from windlass.pocket.watch import Outcome, Watch

_LAUNCH_FAILED = 53  # SLURM_COMMUNICATIONS…: what sacct shows as 0:53 when the output cannot be opened
_WRITE_PATIENCE_S = 600


def run_supervisor(places: Places, job_id: int, token: str) -> int:
    launch.be_wakeable()
    lock = Lock(places.job_lock(job_id))
    if not lock.take():
        return 1
    db = open_database(places)
    job = claim(db, job_id, token)
    if job is None:
        return 1
    settings = load_settings(places)
    processes.become_subreaper()
    ending, outcome = _run(db, places, settings, job)
    remove_traces(places, job.id)
    finish(db, places, settings, job, ending, outcome)
    lock.let_go()
    launch.wake_keeper(places)
    return 0


def claim(db: sqlite3.Connection, job_id: int, token: str) -> Job | None:
    """Become the supervisor of this launch; None when it was taken back meanwhile."""
    with writing(db):
        claimed = db.execute(
            "UPDATE jobs SET supervisor_pid = ? WHERE id = ? AND token = ? AND state = 'RUNNING' "
            "AND supervisor_pid IS NULL",
            (os.getpid(), job_id, token),
        )
    return queue.fetch_job(db, job_id) if claimed.rowcount else None


def finish(
    db: sqlite3.Connection, places: Places, settings: Settings, job: Job, ending: Ending, outcome: Outcome
) -> None:
    """Write the end of this run. A full disk is waited for: the record must not be lost."""
    deadline = time.monotonic() + _WRITE_PATIENCE_S
    while True:
        try:
            with writing(db):
                _write_end(db, settings, job, ending, outcome)
                if ending.state is not State.REQUEUED:
                    forget_environment(db, places, job)
            return
        except sqlite3.OperationalError as error:
            if time.monotonic() > deadline:
                raise
            print(f"job {job.id}: cannot write its end yet: {error}", file=sys.stderr)
            time.sleep(1)


def make_ground(places: Places, settings: Settings, job: Job) -> Ground:
    return Ground(
        state=str(places.state),
        bin=str(places.bin),
        node_tmp={node: str(places.node_tmp(job.id, node)) for node in job.node_names},
        has_gpus=settings.machine.gpus > 0,
        cluster=settings.pretence.cluster,
        modules=settings.pretence.modules,
    )


def make_nodes(places: Places, settings: Settings, job: Job) -> None:
    """A folder for each pretended node, and names that resolve where the system allows it."""
    for node in job.node_names:
        local = places.node_tmp(job.id, node)
        local.mkdir(mode=0o700, parents=True, exist_ok=True)
        for target in settings.pretence.node_folders:
            Path(f"{local}{target}").mkdir(mode=0o700, parents=True, exist_ok=True)
    places.spool(job.id).mkdir(mode=0o700, parents=True, exist_ok=True)
    if settings.names_nodes and namespaces.is_possible():
        namespaces.save_hosts(places.hosts(job.id), job.node_names, settings.pretence.host_suffix)


def before_exec(places: Places, settings: Settings, job: Job, node: str) -> Callable[[], None]:
    """What a process of a job does first of all."""
    hosts = places.hosts(job.id)
    has_names = hosts.exists()
    local = str(places.node_tmp(job.id, node))
    covers = [(f"{local}{target}", target) for target in settings.pretence.node_folders]

    def prepare() -> None:
        if has_names:
            namespaces.enter(hosts, node, covers)
        # After the namespace: a change of credentials would switch this off again.
        processes.die_with_parent()

    return prepare


def _write_end(db: sqlite3.Connection, settings: Settings, job: Job, ending: Ending, outcome: Outcome) -> None:
    now = time.time()
    current = queue.fetch_job(db, job.id) or job
    queue.delete_orders(db, job.id)
    ended = replace(current, max_rss_kb=outcome.max_rss_kb)
    if ending.state is State.REQUEUED:
        queue_again(db, ended, as_state=State.REQUEUED, delay_s=settings.requeue_delay_s, now=now)
        return
    queue.update_job(
        db,
        job.id,
        state=ending.state,
        reason=ending.reason,
        exit_code=ending.exit_code,
        exit_signal=ending.exit_signal,
        end_at=now,
        cancelled_by=outcome.by_uid,
        max_rss_kb=outcome.max_rss_kb,
    )


def _run(db: sqlite3.Connection, places: Places, settings: Settings, job: Job) -> tuple[Ending, Outcome]:
    failed = Ending(state=State.FAILED, exit_signal=_LAUNCH_FAILED, reason="JobLaunchFailure")
    text, submitted = queue.fetch_script(db, job), load_environment(places, job)
    if text is None or submitted is None:
        print(f"job {job.id}: its script or its environment is gone", file=sys.stderr)
        return failed, Outcome()
    with ExitStack() as stack:
        try:
            script = _save_script(places, job, text)
            make_nodes(places, settings, job)
            output, error, source = _open_files(job, stack)
        except OSError as problem:
            print(f"job {job.id}: {problem}", file=sys.stderr)
            return failed, Outcome()
        environment = make_batch_environment(job, submitted, make_ground(places, settings, job))
        return _run_script(
            Watch(db, places, settings, job, _writer(error)), script, environment, (source, output, error)
        )


def _run_script(
    watch: Watch, script: Path, environment: dict[str, str], files: tuple[BinaryIO, BinaryIO, BinaryIO]
) -> tuple[Ending, Outcome]:
    job = watch.job
    step = Step(
        job_id=job.id, restarts=job.restarts, step="batch", name="batch", start_at=time.time(), cpus=job.layout[0].cpus
    )
    try:
        child = subprocess.Popen(
            [*_interpreter(script), str(script), *job.request.script_args],
            stdin=files[0],
            stdout=files[1],
            stderr=files[2],
            cwd=_folder(job, watch),
            env=environment,
            start_new_session=True,
            preexec_fn=before_exec(watch.places, watch.settings, job, job.node_names[0]),
            umask=int(environment.get("SLURM_UMASK", "22"), 8),
        )
    except OSError as error:
        watch.say(f"slurmstepd: error: execve(): {script.name}: {error.strerror}")
        return Ending(state=State.FAILED, exit_code=2, reason="NonZeroExitCode"), watch.outcome
    with writing(watch.db):
        queue.insert_step(watch.db, replace(step, pid=child.pid))
    outcome = watch.run(child)
    batch = batch_ending(child.returncode, outcome)
    with writing(watch.db):
        queue.update_step(
            watch.db,
            step,
            state=batch.state,
            end_at=time.time(),
            exit_code=batch.exit_code,
            exit_signal=batch.exit_signal,
            max_rss_kb=max(outcome.max_rss_kb, processes.children_max_rss_kb()),
        )
    return job_ending(child.returncode, outcome), outcome


def _save_script(places: Places, job: Job, script: bytes) -> Path:
    folder = places.spool(job.id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "slurm_script"
    path.write_bytes(script)
    path.chmod(0o700)
    return path


def _interpreter(script: Path) -> list[str]:
    """What the kernel makes of the first line; done here, because state folders may be mounted noexec."""
    with open(script, "rb") as file:
        line = file.readline()[2:].decode("utf-8", "surrogateescape").strip()
    program, _, argument = line.partition(" ")
    return [program, argument.strip()] if argument.strip() else [program]


def _folder(job: Job, watch: Watch) -> str:
    if os.access(job.request.chdir, os.X_OK) and Path(job.request.chdir).is_dir():
        return job.request.chdir
    watch.say(
        f"slurmstepd: error: couldn't chdir to `{job.request.chdir}': No such file or directory: going to /tmp instead"
    )
    return "/tmp"


def _open_files(job: Job, stack: ExitStack) -> tuple[BinaryIO, BinaryIO, BinaryIO]:
    request, values = job.request, output_values(job)
    folder = Path(request.chdir)

    def open_one(pattern: str, mode: str) -> BinaryIO:
        path = folder / patterns.expand(pattern, values)
        return stack.enter_context(io.FileIO(path, mode))

    mode = "a" if request.open_mode == "append" else "w"
    output = open_one(output_pattern(job), mode)
    same = not request.error or request.error == output_pattern(job)
    error = output if same else open_one(request.error, mode)
    return output, error, open_one(request.input or "/dev/null", "r")


def _writer(file: BinaryIO) -> Callable[[str], None]:
    def say(line: str) -> None:
        try:
            file.write(line.encode("utf-8", "surrogateescape") + b"\n")
        except OSError as error:
            print(f"cannot write to the job's output: {error}", file=sys.stderr)

    return say
