"""The fields of sacct: heading, width, and where the value comes from. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from windlass.pocket.errors import PocketError
from windlass.pocket.hostlist import fold
from windlass.pocket.lines import Line
from windlass.pocket.model import Job, State, Step
from windlass.pocket.programs.squeue_fields import format_memory
from windlass.pocket.timeforms import format_long, format_moment

DEFAULT = "jobid,jobname,partition,account,alloccpus,state,exitcode"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One line: a job, or one of its steps."""

    line: Line
    now: float
    step: Step | None = None

    @property
    def job(self) -> Job:
        return self.line.job

    @property
    def part(self) -> Job | Step:
        return self.step or self.job


@dataclass(frozen=True, kw_only=True)
class Style:
    parsable: int = 0  # 0 columns, 1 with a delimiter at the end, 2 without
    delimiter: str = "|"
    with_header: bool = True


class Field(NamedTuple):
    heading: str
    width: int
    value: Callable[[Record], object]


class Column(NamedTuple):
    field: Field
    width: int  # negative: to the left


def _suffix(record: Record) -> str:
    return f".{record.step.step}" if record.step else ""


def _state(record: Record) -> str:
    if record.step is None and record.job.state is State.CANCELLED:
        by = record.job.cancelled_by
        return f"CANCELLED by {by}" if by is not None else "CANCELLED"
    return record.part.state.value


def _elapsed_s(record: Record) -> int:
    start = record.part.start_at
    if start is None:
        return 0
    end = record.part.end_at
    return int((record.now if end is None else end) - start)


def _exit(record: Record) -> str:
    return f"{record.part.exit_code}:{record.part.exit_signal}"


def _derived(record: Record) -> str:
    return "" if record.step else f"{record.job.exit_code}:0"


def _end(record: Record) -> str:
    return format_moment(record.part.end_at)


def _nodes(record: Record) -> str:
    if record.step:
        return fold(record.job.node_names[: record.step.nodes])
    return fold(record.job.node_names) if record.job.start_at is not None else "None assigned"


def _is_allocated(record: Record) -> bool:
    return record.step is not None or record.job.start_at is not None


def _alloc_cpus(record: Record) -> int:
    if record.step:
        return record.step.cpus
    return record.job.cpus if _is_allocated(record) else 0


def _alloc_nodes(record: Record) -> int:
    if record.step:
        return record.step.nodes
    return len(record.job.layout) if _is_allocated(record) else 0


def _requested_memory(record: Record) -> str:
    if record.step:
        return ""
    request = record.job.request
    if request.memory_per_cpu_mb:
        return format_memory(request.memory_per_cpu_mb * record.job.cpus)
    return format_memory(record.job.memory_mb)


def _tres(record: Record) -> str:
    job = record.job
    if record.step:
        return f"cpu={record.step.cpus},node={record.step.nodes}"
    words = [f"billing={job.cpus}", f"cpu={job.cpus}"]
    if job.gpu_count:
        words.append(f"gres/gpu={job.gpu_count}")
        if job.request.gpu_type:
            words.append(f"gres/gpu:{job.request.gpu_type}={job.gpu_count}")
    if job.memory_mb:
        words.append(f"mem={format_memory(job.memory_mb)}")
    return ",".join([*words, f"node={len(job.layout)}"])


def _limit_raw(record: Record) -> object:
    limit = record.job.time_limit_s
    return "UNLIMITED" if limit is None else -(-limit // 60)


def _memory_used(record: Record) -> str:
    return f"{record.step.max_rss_kb}K" if record.step and record.step.end_at is not None else ""


def _job_only(value: Callable[[Job], object]) -> Callable[[Record], object]:
    return lambda record: "" if record.step else value(record.job)


def _start_of(record: Record) -> str:
    return format_moment(record.part.start_at)


_ALL: tuple[Field, ...] = (
    Field("Account", 10, lambda record: record.job.request.account),
    Field("AdminComment", 19, lambda record: ""),
    Field("AllocCPUS", 10, _alloc_cpus),
    Field("AllocNodes", 10, _alloc_nodes),
    Field("AllocTRES", 10, lambda record: _tres(record) if _is_allocated(record) else ""),
    Field("AveRSS", 10, _memory_used),
    Field("BlockID", 16, lambda record: ""),
    Field("Cluster", 10, lambda record: "pocket"),
    Field("Comment", 14, _job_only(lambda job: job.comment)),
    Field("Constraints", 19, _job_only(lambda job: job.request.constraint)),
    Field("CPUTime", 10, lambda record: format_long(_elapsed_s(record) * _alloc_cpus(record))),
    Field("CPUTimeRAW", 10, lambda record: _elapsed_s(record) * _alloc_cpus(record)),
    Field("DerivedExitCode", 15, _derived),
    Field("Elapsed", 10, lambda record: format_long(_elapsed_s(record))),
    Field("ElapsedRaw", 10, _elapsed_s),
    Field("Eligible", 19, lambda record: format_moment(record.job.begin_at or record.job.submit_at)),
    Field("End", 19, _end),
    Field("ExitCode", 8, _exit),
    Field("GID", 6, _job_only(lambda job: job.request.uid)),
    Field("Group", 9, _job_only(lambda job: job.request.uid)),
    Field("JobID", -12, lambda record: record.line.display_id + _suffix(record)),
    Field("JobIDRaw", -12, lambda record: f"{record.job.id}{_suffix(record)}"),
    Field("JobName", 10, lambda record: record.step.name if record.step else record.job.name),
    Field("Layout", 9, lambda record: "Block" if record.step else ""),
    Field("MaxRSS", 10, _memory_used),
    Field("MaxVMSize", 10, _memory_used),
    Field("NCPUS", 10, lambda record: _alloc_cpus(record) or record.job.cpus),
    Field("NNodes", 8, lambda record: _alloc_nodes(record) or len(record.job.layout)),
    Field("NodeList", 15, _nodes),
    Field("NTasks", 8, lambda record: record.step.tasks if record.step else ""),
    Field("Partition", 10, _job_only(lambda job: job.request.partition)),
    Field("Priority", 10, _job_only(lambda job: 0 if job.is_held else 1)),
    Field("QOS", 10, _job_only(lambda job: job.request.qos or "normal")),
    Field("Reason", 22, _job_only(lambda job: job.reason)),
    Field("ReqCPUS", 8, lambda record: record.job.cpus),
    Field("ReqMem", 10, _requested_memory),
    Field("ReqNodes", 8, lambda record: len(record.job.layout)),
    Field("ReqTRES", 10, lambda record: "" if record.step else _tres(record)),
    Field("Reservation", 20, _job_only(lambda job: job.request.reservation)),
    Field("Restarts", 8, _job_only(lambda job: job.restarts)),
    Field("Start", 19, _start_of),
    Field("State", 10, _state),
    Field("Submit", 19, lambda record: format_moment(record.job.submit_at)),
    Field("SubmitLine", 20, _job_only(lambda job: f"sbatch {job.request.command}")),
    Field("Timelimit", 10, _job_only(lambda job: format_long(job.time_limit_s))),
    Field("TimelimitRaw", 12, lambda record: "" if record.step else _limit_raw(record)),
    Field("TotalCPU", 10, lambda record: "00:00:00"),
    Field("UID", 6, _job_only(lambda job: job.request.uid)),
    Field("User", 9, _job_only(lambda job: job.request.user)),
    Field("WorkDir", 20, _job_only(lambda job: job.request.chdir)),
)
FIELDS = {field.heading.lower(): field for field in _ALL}


def read_columns(text: str) -> list[Column]:
    columns: list[Column] = []
    for word in text.split(","):
        name, _, width = word.strip().partition("%")
        fitting = [field for key, field in FIELDS.items() if key.startswith(name.lower())]
        field = FIELDS.get(name.lower()) or (fitting[0] if name and fitting else None)
        if field is None:
            raise PocketError(f'Invalid field requested: "{name}"')
        columns.append(Column(field, int(width) if re.fullmatch(r"-?\d+", width) else field.width))
    return columns


def format_records(records: Iterable[Record], columns: list[Column], style: Style) -> list[str]:
    rows = [[_one_line(column.field.value(record)) for column in columns] for record in records]
    headings = [column.field.heading for column in columns]
    if style.parsable:
        end = style.delimiter if style.parsable == 1 else ""
        return [style.delimiter.join(row) + end for row in ([headings] if style.with_header else []) + rows]
    widths = [column.width for column in columns]
    lines = [_format_row(row, widths) for row in rows]
    if not style.with_header:
        return lines
    return [_format_row(headings, widths), _format_row(["-" * abs(width) for width in widths], widths), *lines]


def _format_row(cells: list[str], widths: list[int]) -> str:
    return "".join(_fit(cell, width) + " " for cell, width in zip(cells, widths, strict=True))


def _fit(text: str, width: int) -> str:
    size = abs(width)
    # sacct marks what it cut: CANCELLED+
    cut = text if len(text) <= size else text[: size - 1] + "+"
    return cut.ljust(size) if width < 0 else cut.rjust(size)


def _one_line(value: object) -> str:
    return str(value).replace("\n", "\\n").replace("\r", "\\r")
