"""A batch script as a run file: what it asks for, what it sets up, what it starts, and what has no place there."""

from dataclasses import dataclass
from datetime import timedelta

from windlass.core.chain import DEFAULT_NOTICE
from windlass.core.names import read_token
from windlass.core.run import WORDS_OF_A_CENTRE
from windlass.core.sbatch.adopted_body import Body, read_body
from windlass.core.sbatch.request import Request, read_request
from windlass.core.sbatch.script import Option, Script
from windlass.core.sbatch.values import read_signal
from windlass.core.toml.writing import format_string, format_value
from windlass.core.units import format_duration, format_memory

_LARGEST_GPUS = 256
# Options that the run file or the plan speaks for; all others are told.
_CARRIED = frozenset(
    {
        *("array", "cpus-per-gpu", "cpus-per-task", "exclusive", "gpus", "gpus-per-node"),
        *("gpus-per-task", "gres", "job-name", "mem", "mem-per-cpu", "mem-per-gpu", "nodes", "ntasks"),
        *("ntasks-per-node", "signal", "time", *WORDS_OF_A_CENTRE),
    }
)
_WHY_NOT = {
    **dict.fromkeys(("output", "error"), "the log is in the run folder: windlass logs"),
    **dict.fromkeys(("mail-type", "mail-user"), "follow it with windlass ps, or windlass wait"),
    **dict.fromkeys(("requeue", "no-requeue"), "the site's file decides"),
    "comment": "the comment of the job is Windlass's own",
    "open-mode": "logs are always appended",
    "chdir": "the command runs in the project's copy at the site",
    "export": "variables of the command are in [run.env]",
    "ntasks-per-core": "Windlass asks for cores",
}
# What Windlass says itself in every script.
_SAID_ANYWAY = frozenset({"parsable", "verbose", "quiet", "get-user-env", "no-kill"})


@dataclass(frozen=True, kw_only=True)
class Left:
    """What was not carried over, and why."""

    line: int
    text: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Adoption:
    toml: str
    body: str | None  # the text of the script that stays, None where its one command stands in the run file
    body_name: str
    left: tuple[Left, ...]


def adopt_script(script: Script, *, name: str) -> Adoption:
    """`name`: of the file, without its ending."""
    request = read_request(script)
    body = read_body(script, request)
    notice, signal = _read_notice(script)
    left = [*_find_left(script, request), *(Left(line=line, text=text, why=why) for line, text, why in body.left)]
    body_name = f"{name}-body.sh"
    sections = (
        _make_head(script, name, left),
        _make_run(script, body, name, body_name),
        _make_resources(request, body, notice),
        _make_environment(body),
        _make_checkpoint(request, notice, signal),
    )
    text = "\n".join(line for section in sections for line in section)
    return Adoption(
        toml=text.rstrip("\n") + "\n",
        body=body.text,
        body_name=body_name,
        left=tuple(sorted(left, key=lambda one: one.line)),
    )


def _make_head(script: Script, name: str, left: list[Left]) -> list[str]:
    lines = [f"# Made from {_clean(name)} by `windlass adopt`. `windlass plan` shows what would be submitted."]
    if left:
        lines += ["#", "# Not carried over:"]
        lines += [f"#   line {one.line}: {_clean(one.text)}  ({_clean(one.why)})" for one in left]
    if script.components > 1:
        lines.append("#   the other parts of the heterogeneous job")
    return [*lines, ""]


def _make_run(script: Script, body: Body, name: str, body_name: str) -> list[str]:
    named = script.last("job-name")
    title = named.value if named and named.value.strip() else name
    command = body.command if body.text is None else f"bash {body_name}"
    lines = ["[run]", f"name = {format_string(_clean(title)[:100])}", f"command = {format_string(command)}"]
    if body.launcher:
        lines.append(f"launcher = {format_string(body.launcher)}")
    if body.env:
        lines += ["", "[run.env]", *(f"{key} = {format_string(value)}" for key, value in sorted(body.env.items()))]
    if body.secrets:
        lines += ["", "[run.secrets]  # from your own environment, when you submit"]
        lines += [f"{key} = {format_string(f'env:{key}')}" for key in body.secrets]
    return [*lines, ""]


def _make_resources(request: Request, body: Body, notice: timedelta) -> list[str]:
    tasks = request.tasks_per_node or 1
    # One task a node holds the cores of all: the script's own srun divides them.
    cpus = (request.cpus_per_task or 1) * (tasks if body.keeps_tasks else 1)
    lines = ["[resources]", f"nodes = {max(1, request.nodes or 1)}"]
    if request.gpus_per_node and request.gpus_per_node <= _LARGEST_GPUS:
        lines.append(f"gpus_per_node = {request.gpus_per_node}")
    if request.gpu_kind:
        lines.append(f"gpu = {format_string(request.gpu_kind)}")
    lines.append(f"cpus = {cpus}  # of each task")
    if request.memory_mb:
        lines.append(f"memory = {format_string(format_memory(request.memory_mb))}  # of each node")
    if request.time is not None:
        lines += _make_time(request, notice)
    if request.exclusive:
        lines.append("exclusive = true")
    for key in WORDS_OF_A_CENTRE:
        value = getattr(request, key)
        if value and _is_word(value):
            lines.append(f"{key} = {format_string(value)}")
    return [*lines, ""]


def _make_time(request: Request, notice: timedelta) -> list[str]:
    time = request.time or timedelta(hours=1)
    if request.links == 1:
        return [f"time = {format_string(format_duration(time))}"]
    # Each link gives up its notice for saving; so many links of this length hold so much training.
    total = request.links * (time - min(notice, time / 2))
    return [
        f"time = {format_string(format_duration(total))}  # {request.links} jobs one after another",
        f"link_time = {format_string(format_duration(time))}",
    ]


def _make_environment(body: Body) -> list[str]:
    if not (body.modules or body.purges or body.activate):
        return []
    lines = ["[environment]"]
    if body.modules:
        lines.append(f"modules = {format_value(body.modules)}")
    if body.purges:
        lines.append("purge_modules = true")
    if body.activate:
        lines.append(f"activate = {_format_lines(body.activate)}")
    return [*lines, ""]


def _make_checkpoint(request: Request, notice: timedelta, signal: str | None) -> list[str]:
    lines = ["[checkpoint]"]
    if signal is None:
        lines.append("# So long before the end of a job the command gets TERM; the script asked for no signal.")
    else:
        lines.append(f"signal = {format_string(signal)}")
    lines.append(f"notice = {format_string(format_duration(notice))}")
    if request.links > 1:
        lines.append('# folder = "checkpoints"  # where the training saves, and goes on from')
    return lines


def _read_notice(script: Script) -> tuple[timedelta, str | None]:
    option = script.last("signal")
    found = read_signal(option.value) if option else None
    request = read_request(script)
    most = request.time / 2 if request.time else DEFAULT_NOTICE
    if found is None or found[1].isdecimal():
        # The script asked for none: as little of its time as can be is given up.
        return max(timedelta(seconds=10), min(DEFAULT_NOTICE, most / 5)), None
    return min(timedelta(seconds=max(1, found[2])), most), found[1]


def _find_left(script: Script, request: Request) -> list[Left]:
    left = []
    for option in script.options:
        if option.name in _SAID_ANYWAY or option is not script.last(option.name):
            continue
        if option.name == "comment" and read_token(option.value):
            continue
        why = _why_left(option, request)
        if why is not None:
            text = f"--{option.name}={option.value}" if option.value else f"--{option.name}"
            left.append(Left(line=option.line, text=text, why=why))
    return left


def _why_left(option: Option, request: Request) -> str | None:
    if option.name == "array" and request.array is not None:
        return "an array of independent tasks: submit one run for each"
    if option.name == "mem" and not request.memory_mb:
        return "all memory of a node comes with exclusive = true"
    if option.name == "time" and request.time is None:
        return "a time without limit: Windlass takes the partition's default"
    if option.name in WORDS_OF_A_CENTRE and not _is_word(option.value):
        return "this is no name"
    if option.name in _CARRIED:
        return None
    return _WHY_NOT.get(option.name, "the run file has no key for it")


def _is_word(value: str) -> bool:
    return bool(value) and value.isprintable() and not any(char.isspace() for char in value) and value[0] != "-"


def _clean(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text).strip()


def _format_lines(text: str) -> str:
    if "\n" not in text:
        return format_string(text)
    if "'''" in text or any(not (char.isprintable() or char in "\n\t") for char in text):
        return format_string(text)
    return f"'''\n{text}'''"
