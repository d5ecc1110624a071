"""The body of a batch script, taken apart: what sets up, what is started, and what has to stay a script."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from windlass.core.sbatch.request import Request
from windlass.core.sbatch.script import Script
from windlass.core.sbatch.shell_secrets import find_secret_spans
from windlass.core.shell import format_export, format_module
from windlass.core.source.shell_commands import ShellCommand, read_commands
from windlass.errors import PlanError

# Windlass sets these itself, for its launchers.
_SET_ANYWAY = frozenset({"SRUN_CPUS_PER_TASK", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "PYTHONUNBUFFERED"})
_EXPORT = re.compile(r"export\s+([A-Za-z_]\w*)=(.*)", re.DOTALL | re.ASCII)
_LITERAL = re.compile(r"'([^']*)'|\"([^\"$`\\]*)\"|([\w./:@%+,=-]*)")
_MODULE = re.compile(r"(?:module\s+(?:load|add)|ml(?:\s+load)?)\s+([\w./+@ =:-]+)")
_SETUP_PROGRAMS = frozenset(
    {
        *("source", ".", "eval", "conda", "mamba", "micromamba", "module", "ml"),
        *("virtualenv", "pip", "pip3", "ulimit", "export"),
    }
)
_DROPPED = re.compile(
    r"set\s+[-+][^|<>&;$`]*|env|pwd|(?:echo|printf|date|hostname|nvidia-smi)"
    r"(?:\s(?:[^|<>&;`$]|\$(?!\()|\$\((?:date|hostname|pwd)\b)*)?"
)
_CONTROL = re.compile(r"^(?:if|for|while|until|case|function|select|\{|\()\b|<<|\(\)\s*\{|(?<![&>|])&\s*$")
_RANKED = frozenset({"mpirun", "mpiexec", "horovodrun", "jsrun", "ibrun", "aprun", "deepspeed", "accelerate"})
# Options of srun whose value is the next word.
_SRUN_VALUES = frozenset({*(f"-{letter}" for letter in "AcCdDeGiJLmMnNopqrtTwx"), "--mpi", "--ntasks", "--nodes"})
_TORCHRUN_OURS = re.compile(
    r"--(?:standalone|nnodes|nproc[-_]per[-_]node|node[-_]rank|master[-_](?:addr|port)|rdzv[-_]\w+)(?:[=\s]+(?!-)\S+)?"
)


@dataclass(frozen=True, kw_only=True)
class Body:
    command: str  # one line for bash; "" where the script stays
    text: str | None = None  # the script that stays, with all that is in it
    head: tuple[str, ...] = ()  # lines before it
    first: int = 1  # the line of the script that it begins with
    launcher: str | None = None
    modules: tuple[str, ...] = ()
    purges: bool = False
    activate: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # name and value
    keeps_tasks: bool = False  # the script that stays starts the tasks of a node itself
    left: tuple[tuple[int, str, str], ...] = ()  # line, text, why


@dataclass
class _Setup:
    modules: list[str] = field(default_factory=list)
    purges: bool = False
    activate: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    sets: list[str] = field(default_factory=list)  # set -e and its kin, for a script that stays
    left: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Line:
    """One logical line: a command with all its continuations."""

    number: int
    text: str


def read_body(script: Script, request: Request) -> Body:
    """The lines at the beginning that only set up go into the run file; what is left is one command, or a script."""
    lines = _split(script)
    setup = _Setup()
    while len(lines) > 1 and _take_setup(lines[0], setup):
        lines.pop(0)
    printing: list[_Line] = []  # echo done
    while len(lines) > 1 and _DROPPED.fullmatch(lines[-1].text.strip()):
        printing.append(lines.pop())
    only = lines[0].text.strip() if len(lines) == 1 else ""
    is_plain = bool(only) and _is_plain(only) and not _CONTROL.search(only) and not find_secret_spans(only)
    started = _read_start(only, request) if is_plain else None
    if started is not None:
        command, launcher, notes = started
        number = lines[0].number
        setup.left += [(number, text, why) for text, why in notes]
        setup.left += [(one.number, one.text.strip(), "it only prints") for one in printing]
        return _finish(setup, command=command, launcher=launcher)
    return _keep(script, request, lines, setup)


def can_name(name: str) -> bool:
    """Whether a variable of the run file may have this name."""
    try:
        format_export(name, "")
    except PlanError:
        return False
    return not name.startswith("SLURM_")


def _finish(setup: _Setup, *, command: str = "", text: str | None = None, launcher: str | None = None) -> Body:
    return Body(
        command=command,
        text=text,
        launcher=launcher,
        modules=tuple(setup.modules),
        purges=setup.purges,
        activate="\n".join(setup.activate),
        env=setup.env,
        secrets=setup.secrets,
        left=tuple(setup.left),
    )


def _keep(script: Script, request: Request, lines: list[_Line], setup: _Setup) -> Body:
    """As a script of its own, run once on the first node; its own srun finds the tasks it was written for."""
    tasks, cpus = request.tasks_per_node or 1, request.cpus_per_task or 1
    first = lines[0].number if lines else len(script.lines) + 1
    head = [script.lines[0].strip("\ufeff\r") if script.lines[0].lstrip("\ufeff").startswith("#!") else "#!/bin/bash"]
    if tasks > 1:
        nodes = request.nodes or 1
        head.append("# the tasks that the script asked for; Windlass asks for one with the cores of all")
        head.append(f"export SLURM_NTASKS={nodes * tasks} SLURM_NTASKS_PER_NODE={tasks}")
        head.append(f"export SLURM_CPUS_PER_TASK={cpus} SRUN_CPUS_PER_TASK={cpus}")
    head += setup.sets
    text = "\n".join(script.lines[first - 1 :]).replace("\r\n", "\n").rstrip("\r\n")
    body = _finish(setup, text=text, launcher="single")
    return replace(body, head=tuple(head), first=first, keeps_tasks=tasks > 1)


def _split(script: Script) -> list[_Line]:
    """Logical lines of the body, without comments and blank lines."""
    found: list[_Line] = []
    waiting: list[str] = []
    begin = script.body
    for number in range(script.body, len(script.lines) + 1):
        line = script.lines[number - 1].rstrip("\r")
        if not waiting:
            begin = number
            if not line.strip() or line.lstrip().startswith("#"):
                continue
        waiting.append(line)
        joined = "\n".join(waiting)
        if line.endswith("\\") or _is_open(joined):
            continue
        found.append(_Line(begin, joined))
        waiting = []
    if waiting:
        found.append(_Line(begin, "\n".join(waiting)))
    return found


def _is_open(text: str) -> bool:
    """A quote is not closed yet."""
    bare = re.sub(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", "", text, flags=re.DOTALL)
    bare = re.sub(r"(?:^|\s)#[^\n]*", "", bare)
    return "'" in bare or '"' in bare


def _take_setup(line: _Line, setup: _Setup) -> bool:
    """Whether the line only sets up; what it does is noted."""
    text = line.text.strip()
    if not _is_plain(text):
        return False
    if _CONTROL.search(text) or "\n" in text or re.search("[|;&]", re.sub(r">&|&>", "", _without_quotes(text))):
        return False
    if _DROPPED.fullmatch(text):
        if text.startswith("set "):
            setup.sets.append(text)
        else:
            setup.left.append((line.number, text, "it only prints"))
        return True
    if re.fullmatch(r"module\s+(?:--force\s+)?purge|ml\s+purge", text):
        setup.purges = True
        return True
    if match := _EXPORT.fullmatch(text):
        return _take_export(line, match[1], match[2].strip(), setup)
    # What activates runs before secrets are there.
    if find_secret_spans(text) or _needs_secret(text, setup):
        return False
    if match := _MODULE.fullmatch(text):
        return _take_modules(match[1].split(), setup)
    commands = read_commands(text)
    return len(commands) > 0 and _take_activation(text, commands, setup)


def _needs_secret(text: str, setup: _Setup) -> bool:
    return any(re.search(rf"\$\{{?{name}\b", text) for name in setup.secrets)


def _take_modules(names: list[str], setup: _Setup) -> bool:
    try:
        setup.modules += [format_module(name) for name in names]
    except PlanError:
        return False
    return True


def _take_export(line: _Line, name: str, value: str, setup: _Setup) -> bool:
    match = None if re.match(r"\w+=", value) else _LITERAL.fullmatch(value)
    if name.startswith(("SLURM_", "WINDLASS_")) or _needs_secret(value, setup):
        return False
    if find_secret_spans(line.text):
        if match is None or not can_name(name):
            return False
        setup.env.pop(name, None)
        setup.secrets[name] = next((part for part in match.groups() if part is not None), "")
        setup.left.append((line.number, f"the value of {name}", "a secret: it comes from your own environment"))
        return True
    if name in setup.secrets:
        return False
    if name in _SET_ANYWAY:
        setup.left.append((line.number, line.text.strip(), "Windlass sets it"))
    elif match and can_name(name):
        setup.env[name] = next((part for part in match.groups() if part is not None), "")
    else:
        setup.activate.append(line.text.strip())
    return True


def _take_activation(text: str, commands: tuple[ShellCommand, ...], setup: _Setup) -> bool:
    first = commands[-1].words[:1]
    is_venv = re.match(r"python[\d.]*\s+-m\s+(?:venv|virtualenv|pip)\b", text)
    if (first and first[0] in _SETUP_PROGRAMS) or is_venv:
        setup.activate.append(text)
        return True
    return False


def _read_start(text: str, request: Request) -> tuple[str, str, list[tuple[str, str]]] | None:
    """The command without its launcher, and Windlass's name for that; None where the line must stay as it is."""
    notes: list[tuple[str, str]] = []
    rest = re.sub(r"\\\n\s*", " ", text)
    rest = rest.removeprefix("exec ").strip()
    by_srun = rest.startswith("srun ")
    if by_srun:
        options, rest = _drop_options(rest[5:].lstrip())
        notes += [
            (f"srun {one}", "Windlass starts srun itself")
            for one in options
            if not re.match(r"-c|--cpus-per-task", one)
        ]
        if any(re.match(r"-n|-N|--ntasks|--nodes|--het|--multi", one) for one in options):
            return None
    name = (rest.split() or [""])[0].rpartition("/")[2]
    gpus, tasks, nodes = request.gpus_per_node or 0, request.tasks_per_node or 1, request.nodes or 1
    if name == "torchrun" or re.match(r"(?:\S*/)?python[\d.]*\s+-m\s+torch\.distributed\.(?:run|launch)\s", rest):
        plain = re.sub(r"^(?:\S*torchrun|\S+\s+-m\s+torch\.distributed\.\w+)\s+", "", rest)
        script = _TORCHRUN_OURS.sub("", plain).strip()
        if tasks != 1 or not gpus or not re.match(r"(?:-m\s+)?[\w./$\"{}-]+", script) or script.startswith("--"):
            return None
        return f"python {script}", "torchrun", notes
    if name in _RANKED:
        return None
    if by_srun:
        # Our srun starts one task for each GPU, or one for each node without.
        return (rest, "srun", notes) if tasks == max(1, gpus) else None
    return (rest, "single", notes) if tasks == 1 and nodes == 1 else None


def _drop_options(text: str) -> tuple[list[str], str]:
    """The options of srun, and what it starts."""
    options: list[str] = []
    while match := re.match(r"(-\S+)\s+", text):
        word, text = match[1], text[match.end() :]
        if word in _SRUN_VALUES and (value := re.match(r"(\S+)\s+", text)):
            word, text = f"{word} {value[1]}", text[value.end() :]
        options.append(word)
    return options, text


def _is_plain(text: str) -> bool:
    """Of letters that a run file can carry."""
    return all(char.isprintable() or char in "\n\t" for char in text)


def _without_quotes(text: str) -> str:
    return re.sub(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^)]*\)", "", text)
