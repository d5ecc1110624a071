"""What Slurm still knows of one job, for `windlass explain`: its end, its use, its files, and who ranks before it."""

import re
import shlex
from collections.abc import Mapping, Sequence

from windlass.core.ending.symptoms import JobFacts, WaitingKind
from windlass.core.jobs import JobState
from windlass.schedulers.slurm.fields import (
    SEPARATOR,
    Fields,
    make_fields,
    read_count,
    read_pairs,
    read_rows,
    read_seconds,
    read_text,
    read_time,
)
from windlass.schedulers.slurm.history import read_exit
from windlass.schedulers.slurm.job_ids import count_tasks, is_job_id, read_base_id
from windlass.schedulers.slurm.reasons import read_waiting
from windlass.schedulers.slurm.words import read_state

USAGE_FIELDS = make_fields(
    id="JobID",
    state="State",
    exit="ExitCode",
    start="Start",
    asked="ReqMem",
    used="MaxRSS",
    elapsed_s="ElapsedRaw",
    limit_minutes="TimelimitRaw",
    nodes="NNodes",
    hosts="NodeList",
    tasks="NTasks",
    reason="Reason",
    name="JobName",
    workdir="WorkDir",
    output="StdOut",  # since 24.05
    submitted_by="SubmitLine",  # last: it may hold any character
)
RANK_FIELDS = make_fields(id="%i", priority="%Q", nodes="%D", reason="%r")

_UNITS = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3, "": 1 / 1024**2}
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGTP]?)(?P<per>[nc]?)", re.ASCII)
# A path may hold blanks; what follows it is one of Slurm's own words.
_NEXT = r"(?:Std(?:Err|In|Out)|Power|TresPer\w+|TresBind|Command|WorkDir|MailUser|NtasksPerTRES\S*)="
_PATH = rf"(?:^|\s){{}}=(?P<path>.*?)\s+{_NEXT}"
_SOFT_ENDS = ("extern",)
_DIRECTIVE = re.compile(
    r"^#SBATCH(?:[ \t][^\n#]*?)?[ \t](?:-o[ \t]*|--output[= \t][ \t]*)(?P<path>[^\s#]+)", re.MULTILINE
)
_FLAGS = frozenset({"--parsable", "--exclusive", "--requeue", "--no-requeue", "--hold", "--contiguous", "--overcommit"})
_FLAGS |= frozenset(
    {"--spread-job", "--use-min-nodes", "--wait", "--quiet", "--verbose", "--test-only", "-H", "-W", "-s"}
)
_FLAGS |= frozenset({"-O", "-Q", "-v", "-k"})


def make_usage_command(job_id: str, fields: Fields = USAGE_FIELDS) -> list[str]:
    """Without -X: the steps know how much memory was used, and which of them was killed."""
    asked = ",".join(field.asked for field in fields)
    return ["sacct", "-n", "-P", "-D", f"--delimiter={SEPARATOR}", f"--format={asked}", f"--jobs={job_id}"]


def make_rank_command(partition: str, fields: Fields = RANK_FIELDS) -> list[str]:
    """All that wait in a partition, as far as the site shows others' jobs."""
    form = SEPARATOR.join(field.asked for field in fields)
    return ["squeue", "--noheader", "--states=PENDING", f"--partition={partition}", f"--format={form}"]


def read_usage(text: str, fields: Fields = USAGE_FIELDS) -> JobFacts | None:
    """Of the job, or the task of an array, that started last."""
    groups: dict[str, list[Mapping[str, str]]] = {}
    for row in read_rows(text, fields):
        job, _, step = row.get("id", "").partition(".")
        if is_job_id(job):
            if not step and job in groups:
                groups[job] = []  # a later life of the same job
            groups.setdefault(job, []).append(row)
    if not groups:
        return None
    rows = max(groups.values(), key=lambda rows: read_time(rows[0].get("start")) or 0.0)
    return _read_group(rows)


def read_job_facts(text: str) -> JobFacts | None:
    """`scontrol --oneliner show job`: also the files, which sacct mostly does not keep. The last record counts."""
    records = [line for line in text.splitlines() if re.match(r"JobId=\d+ ", line, re.ASCII)]
    if not records:
        return None
    record = records[-1] + " Power="
    values = read_pairs(record)
    state = read_state(values.get("JobState", ""))
    exit_code, signal = read_exit(values.get("ExitCode")) if state.is_final else (None, None)
    nodes = read_count(values.get("NumNodes")) or 1
    output, error = _read_path(record, "StdOut"), _read_path(record, "StdErr")
    memory = re.search(r"(?:^|[,=])mem=([\d.]+[KMGTP]?)", values.get("TRES", "") + "," + values.get("ReqTRES", ""))
    total = _read_mb(memory[1]) if memory else None
    return JobFacts(
        state=state,
        reason=read_text(values.get("Reason")),
        exit_code=exit_code,
        signal=signal,
        asked_memory_mb=None if total is None else round(total / nodes),
        elapsed_s=read_seconds(values.get("RunTime")),
        limit_s=read_seconds(values.get("TimeLimit")),
        tasks=read_count(values.get("NumTasks")),
        restarts=read_count(values.get("Restarts")) or 0,
        submitted=read_time(values.get("SubmitTime")),
        partition=read_text(values.get("Partition")),
        nodes=nodes,
        hosts=read_text(values.get("NodeList")),
        output=output,
        error=error if error != output else None,
        workdir=_read_path(record, "WorkDir"),
    )


def find_script(submit_line: str) -> str | None:
    """The file in `sbatch -p gpu --time 5 train.sh 0.1`: the first word that is no option nor an option's value."""
    try:
        words = shlex.split(submit_line)
    except ValueError:
        return None
    if not words or not words[0].endswith("sbatch") or any(word.startswith("--wrap") for word in words):
        return None
    is_value = False
    for word in words[1:]:
        if word.startswith("-"):
            is_value = "=" not in word and (len(word) == 2 or word.startswith("--")) and word not in _FLAGS
        elif is_value:
            is_value = False
        else:
            return word
    return None


def find_output(script: str, facts: JobFacts, *, job_id: str, name: str) -> str | None:
    """Where the output goes by the script's own directives, its patterns filled in."""
    found = [match["path"].strip("\"'") for match in _DIRECTIVE.finditer(script)]
    if not found or not facts.workdir:
        return None
    path = _fill(found[-1], {"id": job_id, "name": name})
    return path if path.startswith("/") else f"{facts.workdir}/{path}"


def _fill(pattern: str, row: Mapping[str, str]) -> str:
    """`%j`, `%A_%a`, `%x`: what Slurm puts in their place."""
    job, _, task = row.get("id", "").partition("_")
    parts = {"%j": job, "%A": job, "%a": task or "4294967294", "%J": job, "%x": row.get("name", ""), "%%": "%"}
    return re.sub(r"%\d*([%AJajx])", lambda match: parts[f"%{match[1]}"], pattern)


def read_ranks_before(text: str, job_id: str, fields: Fields = RANK_FIELDS) -> int | None:
    """How many jobs that wait for their turn rank before this one; None when it, or ranks, cannot be seen."""
    rows = [row for row in read_rows(text, fields) if is_job_id(row.get("id", ""))]
    own = [row for row in rows if read_base_id(row["id"]) == read_base_id(job_id)]
    mine = max((read_count(row.get("priority")) or 0 for row in own), default=0)
    if not mine:
        return None
    others = [row for row in rows if row not in own and _waits_for_its_turn(row)]
    return sum(count_tasks(row["id"]) for row in others if _order(row) < (-mine, _number(job_id)))


def _order(row: Mapping[str, str]) -> tuple[int, int]:
    return -(read_count(row.get("priority")) or 0), _number(row["id"])


def _number(job_id: str) -> int:
    return int(read_base_id(job_id) or 0)


def _waits_for_its_turn(row: Mapping[str, str]) -> bool:
    """Jobs that are held, or wait for others, take no place before ours."""
    reason = row.get("reason", "")
    return read_waiting(reason).kind is WaitingKind.TURN and reason not in ("Dependency", "BeginTime")


def _read_group(rows: Sequence[Mapping[str, str]]) -> JobFacts:
    job, steps = rows[0], [row for row in rows[1:] if not row["id"].endswith(_SOFT_ENDS)]
    state, steps_state = read_state(job.get("state", "")), [read_state(row.get("state", "")) for row in steps]
    if JobState.OUT_OF_MEMORY in steps_state and state is JobState.FAILED:
        state = JobState.OUT_OF_MEMORY  # the step died of it, and its script took the exit code
    exit_code, signal = read_exit(job.get("exit")) if state.is_final else (None, None)
    used = [mb for row in rows if (mb := _read_mb(row.get("used"))) is not None]
    tasks = [count for row in steps if (count := read_count(row.get("tasks"))) is not None]
    minutes = read_count(job.get("limit_minutes"))
    return JobFacts(
        state=state,
        reason=read_text(job.get("reason")),
        exit_code=exit_code,
        signal=signal,
        asked_memory_mb=_read_asked(job),
        used_memory_mb=round(max(used)) if used else None,
        elapsed_s=read_count(job.get("elapsed_s")),
        limit_s=None if minutes is None else minutes * 60,
        tasks=max(tasks, default=None),
        hosts=read_text(job.get("hosts")),
        output=_fill(read_text(job.get("output")) or "", job) or None,
        workdir=read_text(job.get("workdir")),
        script=find_script(job.get("submitted_by", "")),
    )


def _read_asked(row: Mapping[str, str]) -> int | None:
    """On each node. Before 21.08 it said which it was (`4Gn`); since then it is the whole job's."""
    match = _SIZE.fullmatch(row.get("asked", ""))
    total = _read_mb(row.get("asked"))
    if match is None or total is None or match["per"] == "c":
        return None
    return round(total if match["per"] else total / (read_count(row.get("nodes")) or 1))


def _read_mb(word: str | None) -> float | None:
    match = _SIZE.fullmatch(word or "")
    return float(match["number"]) * _UNITS[match["unit"]] if match else None


def _read_path(record: str, name: str) -> str | None:
    match = re.search(_PATH.format(name), record)
    path = read_text(match["path"]) if match else None
    return path if path and path.startswith("/") and path != "/dev/null" else None
