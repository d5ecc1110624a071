"""What the code shows of the launcher it is made for, each with where it stands."""

import re
from collections.abc import Iterator

from windlass.core.launch import Sight
from windlass.core.source.reach import ReachedShell
from windlass.core.source.starters import TORCHRUN

_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
# Programs and modules of Python that start the processes of a training.
STARTERS = {
    **dict.fromkeys(TORCHRUN, "torchrun"),
    "accelerate": "accelerate launch",
    "accelerate.commands.launch": "accelerate launch",
    "deepspeed": "deepspeed",
    "horovodrun": "horovodrun",
    "mpirun": "mpirun",
    "mpiexec": "mpiexec",
    "srun": "srun",
    "spark-submit": "spark-submit",
}


def find_sign(sight: Sight, calls: str, *, starter: str | None = None) -> str | None:
    """Why the code is made for a launcher: its program in the command, which counts most, or what the code calls."""
    named = find_starter(sight)
    if named is not None:
        return f"the command begins with {named}" if named == starter else None
    return find_call(sight, calls)


def find_call(sight: Sight, pattern: str) -> str | None:
    """Where something is called whose whole name matches: `train.py:12 calls lightning.Trainer`. Dead code does not
    count.
    """
    expression = re.compile(pattern)
    for file, call in sight.reached.calls():
        if expression.fullmatch(call.name):
            return f"{file.where(call.line)} calls {call.name}"
    return None


def find_starter(sight: Sight) -> str | None:
    """The program the command itself begins with, by its name in STARTERS: `torchrun train.py` -> torchrun."""
    own = next((one for one in sight.reached.shell if one.path == "run.command"), None)
    return _name_starter(own.commands[0].words) if own is not None and len(own.commands) == 1 else None


def find_inner_starter(sight: Sight) -> str | None:
    """A line of a script of the command's, or one of several in the command, that starts processes by itself."""
    for script, line, words in _list_lines(sight):
        if name := _name_starter(words):
            return f"{script.where(line)} starts the processes itself, with {name}"
    return None


def _list_lines(sight: Sight) -> Iterator[tuple[ReachedShell, int, tuple[str, ...]]]:
    for script in sight.reached.shell:
        if script.path == "run.command" and len(script.commands) == 1:
            continue
        for command in script.commands:
            yield script, command.line, command.words


def _name_starter(words: tuple[str, ...]) -> str | None:
    if not words:
        return None
    if _PYTHON.fullmatch(words[0]):
        words = words[words.index("-m") + 1 :] if "-m" in words[:3] else ()
    name = STARTERS.get(words[0].rpartition("/")[2]) if words else None
    return name if name != "accelerate launch" or "launch" in " ".join(words[:2]) else None
