"""A batch script as a run file: what it asks for, what it sets up, what it starts, and what has no place there."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from windlass.core.chain import DEFAULT_NOTICE
from windlass.core.names import read_token
from windlass.core.run import WORDS_OF_A_CENTRE, RunSpec
from windlass.core.sbatch.adopted_body import Body, read_body
from windlass.core.sbatch.request import Request, read_request
from windlass.core.sbatch.script import Option, Script
from windlass.core.sbatch.secret_variables import replace_secrets
from windlass.core.sbatch.shell_secrets import find_secret_spans, hide_in_shell
from windlass.core.sbatch.values import MEMORY_OPTIONS, read_signal
from windlass.core.shell import quote
from windlass.core.toml.run_file import read_run
from windlass.core.toml.writing import format_string, format_value
from windlass.core.units import format_duration, format_memory

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
# Keys that the reader of run files may refuse: which fields of the request they come from, and which options.
_MADE_OF = {
    "nodes": (("nodes",), ("nodes",)),
    "gpus_per_node": (("gpus_per_node", "gpu_kind"), ("gres", "gpus-per-node", "gpus", "gpus-per-task")),
    "gpu": (("gpu_kind",), ("gres", "gpus-per-node", "gpus", "gpus-per-task")),
    "cpus": (("cpus_per_task", "tasks_per_node"), ("cpus-per-task", "cpus-per-gpu", "ntasks-per-node", "ntasks")),
    "memory": (("memory_mb",), MEMORY_OPTIONS),
    "time": (("time",), ("time", "array")),
    "link_time": (("time",), ("time", "array")),
    "signal": ((), ("signal",)),
    "notice": ((), ("signal",)),
    **{key: ((key,), (key,)) for key in WORDS_OF_A_CENTRE},
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
    refused: dict[str, str] = {}
    while True:
        adoption = _adopt(script, request, refused, name)
        spec = read_run(tomllib.loads(adoption.toml))
        problems = () if isinstance(spec, RunSpec) else spec
        told = {str(one.path[-1]): one.message for one in problems if one.path[0] in {"resources", "checkpoint"}}
        new = {key: why for key, why in told.items() if key in _MADE_OF and key not in refused}
        if not new:
            return adoption
        refused |= new
        unset: dict[str, Any] = dict.fromkeys(field for key in new for field in _MADE_OF[key][0])
        request = replace(request, **unset)


def _adopt(script: Script, request: Request, refused: Mapping[str, str], name: str) -> Adoption:
    body = read_body(script, request)
    text, secrets, changed = replace_secrets(body)
    notice, signal = _read_notice(script, request, is_refused=bool({"signal", "notice"} & set(refused)))
    found = [*_find_left(script, request, refused), *_find_refused(script, refused)]
    found += [Left(line=line, text=text, why=why) for line, text, why in (*body.left, *changed)]
    left = sorted((replace(one, text=hide_in_shell(one.text)) for one in found), key=lambda one: one.line)
    unwanted = [[key] for key in refused]
    body_name = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:80] or "run"
    body_name = f"{body_name}-body.sh"
    sections = (
        _make_head(script, name, left),
        _make_run(script, replace(body, secrets=secrets), name, body_name),
        [hide_in_shell(line) for line in _make_resources(request, body, notice) if line.split()[:1] not in unwanted],
        _make_environment(body),
        _make_checkpoint(request, notice, signal),
    )
    toml = "\n".join(line for section in sections for line in section)
    return Adoption(
        toml=toml.rstrip("\n") + "\n",
        body=text,
        body_name=body_name,
        left=tuple(left),
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
    title = _clean(named.value if named else "") or _clean(name) or "run"
    command = body.command if body.text is None else f"bash {quote(body_name)}"
    lines = ["[run]", f"name = {format_string(title[:100])}", f"command = {format_string(command)}"]
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
    if request.gpus_per_node:
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


def _read_notice(script: Script, request: Request, *, is_refused: bool) -> tuple[timedelta, str | None]:
    option = script.last("signal")
    found = read_signal(option.value) if option and not is_refused else None
    most = request.time / 2 if request.time else DEFAULT_NOTICE
    if found is None or found[1].isdecimal():
        # The script asked for none: as little of its time as can be is given up.
        return max(timedelta(seconds=10), min(DEFAULT_NOTICE, most / 5)), None
    return min(timedelta(seconds=max(1, found[2])), most), found[1]


def _find_left(script: Script, request: Request, refused: Mapping[str, str]) -> list[Left]:
    left = []
    told = {name for key in refused for name in _MADE_OF[key][1]}
    for option in script.options:
        if option.name in _SAID_ANYWAY or option.name in told or option is not script.last(option.name):
            continue
        if option.name == "comment" and read_token(option.value):
            continue
        why = _why_left(option, request)
        if why is not None:
            text = f"--{option.name}={option.value}" if option.value else f"--{option.name}"
            left.append(Left(line=option.line, text=text, why=why))
    return left


def _find_refused(script: Script, refused: Mapping[str, str]) -> list[Left]:
    """What a run file cannot hold, such as a million nodes."""
    found: dict[str, Left] = {}
    for key, why in refused.items():
        for name in _MADE_OF[key][1]:
            if option := script.last(name):
                found[name] = Left(line=option.line, text=f"--{name}={option.value}"[:200], why=f"{key} {why}")
    return list(found.values())


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
    is_one = bool(value) and value.isprintable() and not any(char.isspace() for char in value)
    return is_one and value[0] != "-" and not find_secret_spans(value)


def _clean(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in hide_in_shell(text)).strip()


def _format_lines(text: str) -> str:
    if "\n" not in text:
        return format_string(text)
    if "'''" in text or any(not (char.isprintable() or char in "\n\t") for char in text):
        return format_string(text)
    return f"'''\n{text}'''"
