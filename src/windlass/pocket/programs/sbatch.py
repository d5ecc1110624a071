"""sbatch: queue a batch script."""

import os
import sys
import time
from pathlib import Path

from windlass.pocket import launch
from windlass.pocket.database import open_database, writing
from windlass.pocket.directives import check_script, read_directives
from windlass.pocket.environment import choose, clean
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import parse
from windlass.pocket.hostlist import fold
from windlass.pocket.model import Job, Kind
from windlass.pocket.options import SBATCH, SBATCH_ENV, read_environment
from windlass.pocket.places import Places
from windlass.pocket.programs import ensure_bin
from windlass.pocket.programs.usage import show_about
from windlass.pocket.queue import fetch_active, take_ids
from windlass.pocket.request import Options, make_request, merge
from windlass.pocket.scheduling import expected_start
from windlass.pocket.settings import Settings, load_settings
from windlass.pocket.submission import (
    as_refusal,
    choose_partition,
    find_submitter,
    make_job,
    read_file,
    read_umask,
    submit,
    wait_for_end,
)
from windlass.pocket.timeforms import format_moment


def run(places: Places, words: list[str]) -> int:
    parsed = parse(SBATCH, words)
    typed = dict(parsed.options)
    if show_about(SBATCH, typed, "[OPTIONS(0)...] script [args(0)...]"):
        return 0
    script, file_name = _read_script(typed.get("wrap"), parsed.operands)
    check_script(script)
    directives = () if "wrap" in typed else read_directives(script, file_name)
    environment = read_environment(SBATCH_ENV, dict(os.environ), SBATCH)
    settings = load_settings(places)
    try:
        options = merge(directives, environment, parsed.options)
        _check_clusters(options)
        job = _make_job(options, settings, file_name, parsed.operands[1:])
    except PocketError as error:
        raise as_refusal(error, "Batch job submission failed: ") from None
    _talk(job, options)
    if "test-only" in options:
        return _test_only(places, settings, job)
    ensure_bin(places.state)
    db = open_database(places)
    kept = choose(job.request.export, clean(os.environ)) | read_umask()
    job = submit(db, places, job, script=(script, kept))
    launch.wake_keeper(places)
    if "parsable" in options:
        print(job.id)
    elif "quiet" not in options:
        print(f"Submitted batch job {job.id}")
    sys.stdout.flush()
    return wait_for_end(db, job.id) if "wait" in options else 0


def _read_script(wrap: str | None, operands: tuple[str, ...]) -> tuple[bytes, str]:
    if wrap is not None:
        if operands:
            raise PocketError("Script arguments not permitted with --wrap option")
        text = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{wrap}\n"
        return text.encode("utf-8", "surrogateescape"), "wrap"
    if not operands:
        return sys.stdin.buffer.read(), "sbatch"
    return read_file(_find(operands[0])), operands[0]


def _find(name: str) -> Path:
    """A name without a slash is looked for here first, then on PATH, as sbatch does."""
    here = Path(name)
    if "/" in name or here.exists():
        return here
    on_path = (Path(folder) / name for folder in os.environ.get("PATH", "").split(":") if folder)
    return next((path for path in on_path if os.access(path, os.R_OK | os.X_OK)), here)


def _make_job(options: Options, settings: Settings, file_name: str, args: tuple[str, ...]) -> Job:
    submitter = find_submitter()
    command = file_name if file_name in ("wrap", "sbatch") else str(Path(submitter.directory) / file_name)
    request = make_request(
        options,
        submitter,
        kind=Kind.BATCH,
        partition=choose_partition(options, settings),
        command=command,
        script_args=args,
    )
    return make_job(request, options, settings, time.time())


def _check_clusters(options: Options) -> None:
    name = options.text("clusters")
    if name not in ("", "pocket", "all"):
        raise PocketError(
            f"No cluster '{name}' known by database.",
            f"'{name}' can't be reached now, or it is an invalid entry for --cluster.  "
            "Use 'sacctmgr list clusters' to see available clusters.",
        )


def _talk(job: Job, options: Options) -> None:
    if "quiet" in options:
        return
    if len(job.layout) > 1:
        names = ", ".join(job.node_names[:2]) + (", …" if len(job.layout) > 2 else "")
        print(f"sbatch: pocket is one machine: the nodes {names} are pretended", file=sys.stderr)
    if options.text("partition", job.request.partition) != job.request.partition:
        print(f"sbatch: pocket is one machine: it runs in partition {job.request.partition}", file=sys.stderr)
    asked = job.request.min_nodes or 1
    if asked > len(job.layout):
        print(
            f"sbatch: Warning: can't run {job.tasks} processes on {asked} nodes, setting nnodes to {len(job.layout)}",
            file=sys.stderr,
        )
    if "mail-type" in options or "mail-user" in options:
        print("sbatch: pocket sends no mail: --mail-type and --mail-user are ignored", file=sys.stderr)


def _test_only(places: Places, settings: Settings, job: Job) -> int:
    db = open_database(places)
    active = fetch_active(db)
    start = expected_start(job, [one for one in active if one.start_at], settings.machine, time.time())
    with writing(db):
        number = take_ids(db, 1)  # as in Slurm, a test uses up an id
    when = format_moment(time.time() + 365 * 86400 if start is None else start)
    print(
        f"sbatch: Job {number} to start at {when} using {job.cpus} processors on nodes {fold(job.node_names)} "
        f"in partition {job.request.partition}",
        file=sys.stderr,
    )
    return 0
