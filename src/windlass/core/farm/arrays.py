"""An array script that somebody has already: each index is a task, with the variables that Slurm would set."""

import re
import shlex
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.farm.rows import Task
from windlass.core.sbatch.request import Request, read_request
from windlass.core.sbatch.script import Script
from windlass.core.sbatch.values import find_array_refusal
from windlass.core.shell import quote, quote_all
from windlass.core.source.shell_commands import read_commands
from windlass.core.toml.layers import Flag
from windlass.errors import TasksInvalid

_ITEM = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_MOST = 4_000_001  # Slurm's own
_SHELL = ("bash",)


@dataclass(frozen=True, kw_only=True)
class ArrayScript:
    tasks: tuple[Task, ...]
    flags: tuple[Flag, ...]  # what its directives ask for, as settings
    left: tuple[str, ...] = ()  # what has no meaning here, in words


def read_array(script: Script, path: str) -> ArrayScript:
    """path: of the script, from the folder where tasks run."""
    option = script.last("array")
    if script.troubles:
        trouble = script.troubles[0]
        raise TasksInvalid(f"{path}:{trouble.line}: sbatch refuses it: {trouble.said}", hint=f"windlass lint {path}")
    if option is None:
        raise TasksInvalid(
            f"{path} is no array: it has no #SBATCH --array=",
            hint=f"windlass adopt {path}",
            done="nothing was sent",
        )
    indexes = read_indexes(option.value, f"{path}:{option.line}")
    request = read_request(script)
    line = quote_all((*_find_shell(script), path))
    shared = (
        f"SLURM_ARRAY_JOB_ID=$SLURM_JOB_ID SLURM_ARRAY_TASK_COUNT={len(indexes)} "
        f"SLURM_ARRAY_TASK_MIN={indexes[0]} SLURM_ARRAY_TASK_MAX={indexes[-1]} "
        f"SLURM_ARRAY_TASK_STEP={_find_stride(indexes)}{_count_processes(request)}"
    )
    tasks = tuple(
        Task(command=f"SLURM_ARRAY_TASK_ID={index} {shared} {line}", values={"index": str(index)}) for index in indexes
    )
    return ArrayScript(
        tasks=tasks, flags=tuple(_list_flags(request)), left=tuple(_list_left(script, path, option.value))
    )


def read_indexes(text: str, where: str) -> list[int]:
    """As `--array` says them: 0-9, 1,3,5-7, 1-100:2; what is behind % is no index."""
    if find_array_refusal(text) is not None:
        raise TasksInvalid(f"{where}: {text!r} is no array", done="nothing was sent")
    found: set[int] = set()
    for item in text.partition("%")[0].split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise TasksInvalid(f"{where}: {item!r} is no range of an array", done="nothing was sent")
        first = int(match[1])
        last, step = int(match[2] or first), int(match[3] or 1)
        if last > _MOST:
            raise TasksInvalid(f"{where}: {last} is above what Slurm takes for an index", done="nothing was sent")
        found.update(range(first, last + 1, step))
    return sorted(found)


def _find_stride(indexes: list[int]) -> int:
    return indexes[1] - indexes[0] if len(indexes) > 1 else 1


def _count_processes(request: Request) -> str:
    """Where it starts several itself: the CPUs of a task are those of all of them."""
    count = request.tasks_per_node or 1
    return f" SLURM_NTASKS={count} SLURM_CPUS_PER_TASK={request.cpus_per_task or 1}" if count > 1 else ""


def _find_shell(script: Script) -> tuple[str, ...]:
    """As its first line says."""
    first = script.lines[0].rstrip()
    words = shlex.split(first[2:]) if first.startswith("#!") else []
    return tuple(words) or _SHELL


def _list_flags(request: Request) -> list[Flag]:
    per_task = (request.cpus_per_task or 1) * (request.tasks_per_node or 1)
    told: dict[str, object] = {
        "farm.cpus": per_task if per_task > 1 else None,
        "farm.gpus": request.gpus_per_node,
        "farm.memory": f"{request.memory_mb}M" if request.memory_mb else None,
        "farm.limit": _format_time(request.time),
        "resources.gpu": request.gpu_kind,
        "resources.account": request.account,
        "resources.partition": request.partition,
        "resources.qos": request.qos,
        "resources.constraint": request.constraint,
        "resources.reservation": request.reservation,
        "resources.exclude": request.exclude,
    }
    return [Flag(key=key, value=str(value), option="--array") for key, value in told.items() if value is not None]


def _format_time(time: timedelta | None) -> str | None:
    return None if time is None else f"{int(time.total_seconds())}s"


def _list_left(script: Script, path: str, array: str) -> list[str]:
    words = []
    if "%" in array:
        words.append(f"{quote(array)}: how many run at once is for the pilots to say (--pilots)")
    request = read_request(script)
    if (request.nodes or 1) > 1:
        words.append(f"--nodes={request.nodes}: a task has at most one node")
    folder = script.last("chdir")
    if folder is not None:
        words.append(f"--chdir={folder.value}: tasks run in the project's copy at the site")
    if line := _find_step_line(script):
        words.append(
            f"{path}:{line}: srun: a task is no job of its own, and srun would start it on all that its pilot has, or"
            " wait for that; run the command without it"
        )
    if script.last("output") is not None or script.last("error") is not None:
        words.append("--output: what a task prints is shown by windlass logs FARM --task N")
    return words


def _find_step_line(script: Script) -> int | None:
    """The first that starts one, as far as can be seen."""
    return next((one.line for one in read_commands(script.text) if one.words and one.words[0] == "srun"), None)
