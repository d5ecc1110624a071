"""sacct: what became of jobs and their steps."""

import sqlite3
import time

from windlass.pocket import queue
from windlass.pocket.database import open_database
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import make_grammar, parse
from windlass.pocket.lines import Line, make_lines
from windlass.pocket.model import Job, State
from windlass.pocket.places import Places
from windlass.pocket.programs.sacct_fields import DEFAULT, FIELDS, Record, Style, format_records, read_columns
from windlass.pocket.programs.usage import show_about
from windlass.pocket.programs.users import current_user
from windlass.pocket.recovery import attend
from windlass.pocket.selection import JobName, read_job_names, read_states
from windlass.pocket.timeforms import read_moment

_GRAMMAR = make_grammar(
    "sacct",
    """account=A accounts= allclusters.L allocations.X allusers.a array. batch-script.B brief.b cluster= clusters=M
    completion.c constraints=C delimiter= duplicates.D endtime=E env-vars. federation. file=f flags=F format=o
    gid=g group= helpformat.e help.h jobs=j local. long.l me. name= ncpus=I nnodes=i nodelist=N noconvert.
    noheader.n parsable.p parsable2.P partition=r qos=q reason=R starttime=S state=s timelimit-max=K
    timelimit-min=k truncate.T uid= units= usage. user=u verbose.v version.V wckeys=W whole-hetjob?
    x-uid= job>jobs jobname>name""",
    permutes=True,
    bad_usage=1,
)
_BRIEF = "jobid,state,exitcode"
_LONG = "jobid,jobname,partition,maxrss,ntasks,alloccpus,elapsed,state,exitcode,alloctres"


def run(places: Places, words: list[str]) -> int:
    options = dict(parse(_GRAMMAR, words).options)
    if show_about(_GRAMMAR, options, "[OPTION]"):
        return 0
    if "helpformat" in options:
        print(*(field.heading for field in FIELDS.values()), sep="\n")
        return 0
    db = open_database(places)
    attend(db, places)
    now = time.time()
    jobs = _filter(queue.fetch_jobs(db), options, now)
    if "batch-script" in options:
        return _show_scripts(jobs, db)
    records: list[Record] = []
    names = _names(options)
    for line in sorted(make_lines(jobs, folds="array" not in options), key=lambda line: _order(line.job)):
        earlier = queue.fetch_history(db, line.job.id) if "duplicates" in options else []
        for job in [*earlier, line.job]:
            shown = Line(job=job, indices=line.indices)
            steps = [] if "allocations" in options else queue.fetch_steps(db, job)
            records += [Record(line=shown, now=now), *(Record(line=shown, now=now, step=step) for step in steps)]
    wanted = {name.step for name in names if name.step}
    if wanted:
        records = [record for record in records if record.step and record.step.step in wanted]
    default = _BRIEF if "brief" in options else _LONG if "long" in options else DEFAULT
    columns = read_columns(options.get("format") or default)
    style = Style(
        parsable=1 if "parsable" in options else 2 if "parsable2" in options else 0,
        delimiter=options.get("delimiter", "|"),
        with_header="noheader" not in options,
    )
    for text in format_records(records, columns, style):
        print(text)
    return 0


def _order(job: Job) -> tuple[int, int]:
    return job.array_id or job.id, job.array_index or 0


def _names(options: dict[str, str]) -> list[JobName]:
    try:
        return read_job_names(options.get("jobs", ""))
    except ValueError as error:
        raise PocketError(f"Invalid job id: {error}") from None


def _filter(jobs: list[Job], options: dict[str, str], now: float) -> list[Job]:
    names = _names(options)
    if names:
        jobs = [job for job in jobs if any(name.fits(job) for name in names)]
    since, until = _window(options, now)
    jobs = [job for job in jobs if (job.end_at is None or job.end_at >= since) and job.submit_at <= until]
    user = current_user() if "me" in options else options.get("user") or options.get("uid")
    if user:
        users = user.split(",")
        jobs = [job for job in jobs if job.request.user in users or str(job.request.uid) in users]
    if "name" in options:
        jobs = [job for job in jobs if job.name in options["name"].split(",")]
    if "partition" in options:
        jobs = [job for job in jobs if job.request.partition in options["partition"].split(",")]
    if "account" in options or "accounts" in options:
        accounts = (options.get("account") or options.get("accounts") or "").split(",")
        jobs = [job for job in jobs if job.request.account in accounts]
    return _by_state(jobs, options)


def _by_state(jobs: list[Job], options: dict[str, str]) -> list[Job]:
    if "state" not in options:
        return jobs
    try:
        states = read_states(options["state"])
    except ValueError as error:
        raise PocketError(f"fatal: unrecognized job state value {error}") from None
    return [job for job in jobs if states is None or job.state in states or _was_requeued(job, states)]


def _was_requeued(job: Job, states: set[State]) -> bool:
    return State.REQUEUED in states and job.restarts > 0


def _window(options: dict[str, str], now: float) -> tuple[float, float]:
    """Today, unless a time or a job is named."""
    try:
        if "starttime" in options:
            since = read_moment(options["starttime"], now)
            # "15:00" means the last one, where --begin means the next.
            since = since - 86400 if since > now and ":" in options["starttime"][:3] else since
        else:
            since = 0.0 if "jobs" in options or "state" in options else read_moment("today", now)
        until = read_moment(options["endtime"], now) if "endtime" in options else float("inf")
    except ValueError as error:
        raise PocketError(f"Invalid time specification (pos=0): {error}", bare=True) from None
    return since, until


def _show_scripts(jobs: list[Job], db: sqlite3.Connection) -> int:
    for job in jobs:
        stored = queue.fetch_script(db, job)
        heading = f"Batch Script for {job.id}"
        print(heading, "-" * 80, stored.decode("utf-8", "replace") if stored else "NONE", sep="\n")
    return 0
