"""The fields of squeue: a letter for -o, words for -O, a heading, and where the value comes from. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from windlass.pocket.errors import PocketError
from windlass.pocket.hostlist import fold
from windlass.pocket.lines import Line
from windlass.pocket.model import Job, State
from windlass.pocket.timeforms import format_long, format_moment, format_short

Value = Callable[[Line, float], object]


class Field(NamedTuple):
    heading: str
    value: Value
    words: str = ""  # for -O, in lower case


def _of_job(value: Callable[[Job], object]) -> Value:
    return lambda line, now: value(line.job)


def _nodes_or_reason(job: Job) -> str:
    return fold(job.node_names) if job.start_at is not None and job.state is not State.PENDING else f"({job.reason})"


def _nodes(job: Job) -> str:
    return "" if job.state is State.PENDING else fold(job.node_names)


def _used_s(line: Line, now: float) -> int:
    job = line.job
    if job.start_at is None or job.state is State.PENDING:
        return 0
    return int((job.end_at if job.end_at is not None else now) - job.start_at)


def _left(line: Line, now: float) -> str:
    limit = line.job.time_limit_s
    return format_short(None if limit is None else limit - _used_s(line, now))


def _end(line: Line, now: float) -> str:
    job = line.job
    if job.end_at is None and job.start_at is not None and job.time_limit_s is not None:
        return format_moment(job.start_at + job.time_limit_s)
    return format_moment(job.end_at, "N/A")


def _start(line: Line, now: float) -> str:
    if line.job.start_at is not None and line.job.state is not State.PENDING:
        return format_moment(line.job.start_at)
    return format_moment(line.start_at if line.job.reason in ("Resources", "Priority", "BeginTime") else None, "N/A")


def _task(line: Line, now: float) -> str:
    if line.indices:
        return line.pending_tasks.strip("[]")
    return "N/A" if line.job.array_index is None else str(line.job.array_index)


def _gres(job: Job) -> str:
    kind = f":{job.request.gpu_type}" if job.request.gpu_type else ""
    return f"gres:gpu{kind}:{job.layout[0].gpus}" if job.gpu_count else "N/A"


def _memory(job: Job) -> str:
    request = job.request
    if request.memory_per_cpu_mb:
        return format_memory(request.memory_per_cpu_mb)
    return format_memory(job.layout[0].memory_mb)


def format_resources(job: Job) -> str:
    """As Slurm counts them for billing."""
    gpus = f",gres/gpu={job.gpu_count}" if job.gpu_count else ""
    memory = f",mem={format_memory(job.memory_mb)}" if job.memory_mb else ""
    return f"cpu={job.cpus}{memory},node={len(job.layout)},billing={job.cpus}{gpus}"


def format_memory(megabytes: int) -> str:
    if megabytes and megabytes % 1024 == 0:
        return f"{megabytes // 1024}G"
    return f"{megabytes}M" if megabytes else "0"


FIELDS: Mapping[str, Field] = {
    "a": Field("ACCOUNT", _of_job(lambda job: job.request.account or "(null)"), "account"),
    "A": Field("JOBID", _of_job(lambda job: job.id), "jobid"),
    "b": Field("TRES_PER_NODE", _of_job(_gres), "tres-per-node gres"),
    "B": Field("EXEC_HOST", _of_job(lambda job: job.node_names[0] if _nodes(job) else "n/a"), "batchhost"),
    "c": Field("MIN_CPUS", _of_job(lambda job: job.request.cpus_per_task or 1), "mincpus cpus-per-task"),
    "C": Field("CPUS", _of_job(lambda job: job.cpus), "numcpus"),
    "d": Field("MIN_TMP_DISK", _of_job(lambda job: 0), "mintmpdisk"),
    "D": Field("NODES", _of_job(lambda job: len(job.layout)), "numnodes"),
    "e": Field("END_TIME", _end, "endtime"),
    "E": Field("DEPENDENCY", _of_job(lambda job: job.request.dependency or "(null)"), "dependency"),
    "f": Field("FEATURES", _of_job(lambda job: job.request.constraint or "(null)"), "feature"),
    "F": Field("ARRAY_JOB_ID", _of_job(lambda job: job.array_id or job.id), "arrayjobid"),
    "g": Field("GROUP", _of_job(lambda job: job.request.uid), "groupname"),
    "G": Field("GROUP", _of_job(lambda job: job.request.uid), "groupid"),
    "h": Field("OVER_SUBSCRIBE", _of_job(lambda job: "NO" if job.request.is_exclusive else "OK"), "oversubscribe"),
    "i": Field("JOBID", lambda line, now: line.display_id, "jobarrayid"),
    "j": Field("NAME", _of_job(lambda job: job.name), "name"),
    "k": Field("COMMENT", _of_job(lambda job: job.comment or "(null)"), "comment"),
    "K": Field("ARRAY_TASK_ID", _task, "arraytaskid"),
    "l": Field("TIME_LIMIT", _of_job(lambda job: format_short(job.time_limit_s)), "timelimit"),
    "L": Field("TIME_LEFT", _left, "timeleft"),
    "m": Field("MIN_MEMORY", _of_job(_memory), "minmemory"),
    "M": Field("TIME", lambda line, now: format_short(_used_s(line, now)), "timeused"),
    "n": Field("REQ_NODES", _of_job(lambda job: ""), "reqnodes"),
    "N": Field("NODELIST", _of_job(_nodes), "nodelist"),
    "o": Field("COMMAND", _of_job(lambda job: job.request.command or "(null)"), "command"),
    "p": Field("PRIORITY", _of_job(lambda job: f"{_priority(job) / 2**32:.14f}"), "priority"),
    "P": Field("PARTITION", _of_job(lambda job: job.request.partition), "partition"),
    "q": Field("QOS", _of_job(lambda job: job.request.qos or "normal"), "qos"),
    "Q": Field("PRIORITY", _of_job(lambda job: _priority(job)), "prioritylong"),
    "r": Field("REASON", _of_job(lambda job: job.reason), "reason"),
    "R": Field("NODELIST(REASON)", _of_job(_nodes_or_reason), "reasonlist"),
    "S": Field("START_TIME", _start, "starttime"),
    "t": Field("ST", _of_job(lambda job: job.state.short), "statecompact"),
    "T": Field("STATE", _of_job(lambda job: job.state.value), "state"),
    "u": Field("USER", _of_job(lambda job: job.request.user), "username"),
    "U": Field("USER", _of_job(lambda job: job.request.uid), "userid"),
    "v": Field("RESERVATION", _of_job(lambda job: job.request.reservation or "(null)"), "reservation"),
    "V": Field("SUBMIT_TIME", _of_job(lambda job: format_moment(job.submit_at)), "submittime"),
    "w": Field("WCKEY", _of_job(lambda job: "(null)"), "wckey"),
    "W": Field("LICENSES", _of_job(lambda job: "(null)"), "licenses"),
    "x": Field("EXC_NODES", _of_job(lambda job: ""), "excnodes"),
    "X": Field("CORE_SPEC", _of_job(lambda job: "N/A"), "corespec"),
    "y": Field("NICE", _of_job(lambda job: 0), "nice"),
    "Y": Field("SCHEDNODES", _of_job(lambda job: "(null)"), "schednodes"),
    "z": Field("S:C:T", _of_job(lambda job: "*:*:*"), "sct"),
    "Z": Field("WORK_DIR", _of_job(lambda job: job.request.chdir), "workdir"),
}
_MORE_WORDS: Mapping[str, Field] = {
    "exit_code": Field("EXIT_CODE", _of_job(lambda job: job.exit_code)),
    "restartcnt": Field("RESTART_COUNT", _of_job(lambda job: job.restarts)),
    "requeue": Field("REQUEUE", _of_job(lambda job: int(job.request.may_requeue))),
    "numtasks": Field("TASKS", _of_job(lambda job: job.tasks)),
    "maxnodes": Field("MAX_NODES", _of_job(lambda job: job.request.max_nodes or 0)),
    "stdout": Field("STDOUT", _of_job(lambda job: job.request.output)),
    "stderr": Field("STDERR", _of_job(lambda job: job.request.error or job.request.output)),
    "cluster": Field("CLUSTER", _of_job(lambda job: "pocket")),
    "tres-alloc": Field("TRES_ALLOC", _of_job(format_resources)),
    "timelimitlong": Field("TIME_LIMIT", _of_job(lambda job: format_long(job.time_limit_s))),
}
LETTERS = tuple(FIELDS)
WORDS: Mapping[str, Field] = {word: field for field in FIELDS.values() for word in field.words.split()} | dict(
    _MORE_WORDS
)


def format_letters(text: str, lines: list[Line], now: float, *, with_header: bool) -> list[str]:
    """-o: `%.18i %j`; a dot means to the right, a number cuts."""

    def make_line(value_of: Callable[[Field], object]) -> str:
        def put(match: re.Match[str]) -> str:
            field = FIELDS.get(match[3])
            return match[0] if field is None else _fit(_one_line(value_of(field)), match[2], bool(match[1]))

        return re.sub(r"%(\.?)(\d*)([A-Za-z])", put, text)

    header = [make_line(lambda field: field.heading)] if with_header else []
    return header + [make_line(lambda field, line=line: field.value(line, now)) for line in lines]  # type: ignore[misc]


def format_words(text: str, lines: list[Line], now: float, *, with_header: bool) -> list[str]:
    """-O: `JobID:10,Name:.20,State`; 20 wide where nothing is said."""
    columns: list[tuple[Field, str, bool, str]] = []
    for item in text.split(","):
        name, _, form = item.strip().partition(":")
        field = WORDS.get(name.lower())
        match = re.fullmatch(r"(\.?)(\d*)(.*)", form, re.DOTALL)
        if field is None or match is None:
            raise PocketError(f"Invalid job format specification: {name}")
        width = match[2] or ("" if match[3] else "20")
        columns.append((field, width, bool(match[1]), match[3]))

    def make_line(value_of: Callable[[Field], object]) -> str:
        return "".join(_fit(_one_line(value_of(field)), width, right) + end for field, width, right, end in columns)

    header = [make_line(lambda field: field.heading)] if with_header else []
    return header + [make_line(lambda field, line=line: field.value(line, now)) for line in lines]  # type: ignore[misc]


def _fit(text: str, width: str, to_right: bool) -> str:
    if not width:
        return text
    size = int(width)
    return text[:size].rjust(size) if to_right else text[:size].ljust(size)


def _one_line(value: object) -> str:
    # A job's name may hold anything; a listing has one line a job.
    return str(value).replace("\n", "\\n").replace("\r", "\\r")


def _priority(job: Job) -> int:
    return 0 if job.is_held else max(1, 4294901760 - job.id)
