"""squeue: the jobs that wait or run."""

import os
import sys
import time
from collections.abc import Callable

from windlass.pocket import queue
from windlass.pocket.database import open_database
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import make_grammar, parse
from windlass.pocket.lines import Line, make_lines
from windlass.pocket.model import Job, State
from windlass.pocket.places import Places
from windlass.pocket.programs.squeue_fields import LETTERS, format_letters, format_words
from windlass.pocket.programs.usage import show_about
from windlass.pocket.programs.users import current_user, is_user
from windlass.pocket.recovery import attend
from windlass.pocket.scheduling import expected_start
from windlass.pocket.selection import read_job_names, read_states, select
from windlass.pocket.settings import load_settings

_GRAMMAR = make_grammar(
    "squeue",
    """account=A all.a array.r array-unique. clusters=M federation. format=o Format=O help. hide. iterate=i jobs?j
    licenses=L local. long.l me. name=n noconvert. nodelist=w noheader.h partition=p priority.P qos=q reservation=R
    sibling. sort=S start. state=t states= steps?s usage. user=u verbose.v version.V""",
    permutes=True,
    bad_usage=1,
)
_DEFAULT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
_LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
_START = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
_KEEPS_S = 300  # MinJobAge: so long squeue still knows a job that is over


def run(places: Places, words: list[str]) -> int:
    parsed = parse(_GRAMMAR, _join_jobs(words))
    options = dict(parsed.options)
    if show_about(_GRAMMAR, options, "[OPTIONS]"):
        return 0
    db = open_database(places)
    attend(db, places)
    now = time.time()
    jobs = queue.fetch_jobs(db, "state IN ('PENDING', 'RUNNING') OR end_at > ?", (now - _KEEPS_S,))
    jobs = _filter(jobs, options)
    running = queue.fetch_jobs(db, "state = 'RUNNING'")
    machine = load_settings(places).machine
    lines = make_lines(jobs, folds="array" not in options)
    lines = [
        Line(job=line.job, indices=line.indices, start_at=expected_start(line.job, running, machine, now))
        for line in lines
    ]
    for text in _format(_sort(lines), options, now):
        print(text)
    return 0


def _join_jobs(words: list[str]) -> list[str]:
    """-j takes its value also as the next word, although getopt would call that an operand."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in ("-j", "--jobs", "-s", "--steps") and not word.startswith("-"):
            joined[-1] += ("=" if joined[-1].startswith("--") else "") + word
        else:
            joined.append(word)
    return joined


def _filter(jobs: list[Job], options: dict[str, str]) -> list[Job]:
    if options.get("jobs"):
        jobs = _by_id(jobs, options["jobs"])
    user = current_user() if "me" in options else options.get("user")
    if user is not None:
        names = user.split(",")
        for name in names:
            if not is_user(name):
                print(f"squeue: error: Invalid user: {name}\n", file=sys.stderr)
        jobs = [job for job in jobs if job.request.user in names or str(job.request.uid) in names]
    tests: dict[str, Callable[[Job], str]] = {
        "name": lambda job: job.name,
        "partition": lambda job: job.request.partition,
        "account": lambda job: job.request.account,
        "qos": lambda job: job.request.qos or "normal",
    }
    for option, value_of in tests.items():
        if option in options:
            wanted = options[option].split(",")
            jobs = [job for job in jobs if value_of(job) in wanted]
    states = _states(options)
    if "start" in options:
        states = {State.PENDING}
    return jobs if states is None else [job for job in jobs if job.state in states]


def _by_id(jobs: list[Job], text: str) -> list[Job]:
    try:
        names = read_job_names(text)
    except ValueError as error:
        raise PocketError(f"Invalid job id: {error}") from None
    chosen = select(jobs, names)
    if len(names) == 1 and not chosen:
        raise PocketError("slurm_load_jobs error: Invalid job id specified", bare=True)
    return chosen


def _states(options: dict[str, str]) -> set[State] | None:
    text = options.get("state") or options.get("states")
    if not text:
        return {State.PENDING, State.RUNNING}
    try:
        return read_states(text)
    except ValueError as error:
        raise PocketError(
            f"Invalid job state specified: {error}",
            "Valid job states include: PENDING,RUNNING,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,OUT_OF_MEMORY",
        ) from None


def _sort(lines: list[Line]) -> list[Line]:
    order = list(State)
    return sorted(lines, key=lambda line: (line.job.request.partition, order.index(line.job.state), line.job.id))


def _format(lines: list[Line], options: dict[str, str], now: float) -> list[str]:
    with_header = "noheader" not in options
    if "Format" in options:
        return format_words(options["Format"], lines, now, with_header=with_header)
    default = _START if "start" in options else _LONG if "long" in options else _DEFAULT
    text = options.get("format") or os.environ.get("SQUEUE_FORMAT") or default
    if "%" not in text:
        raise PocketError(f"Unrecognized format {text!r}: pocket knows %{', %'.join(LETTERS)}")
    return format_letters(text, lines, now, with_header=with_header)
