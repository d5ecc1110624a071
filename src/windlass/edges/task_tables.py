"""Tables of tasks on the laptop's disk or at standard input."""

import stat
import sys
from pathlib import Path

from windlass.errors import TasksInvalid

STDIN = "standard input"


def load_table(path: Path) -> bytes:
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise TasksInvalid(f"{path} is a folder", hint="name a file with one command a line")
        return path.read_bytes()
    except OSError as problem:
        raise TasksInvalid(f"{path} cannot be read: {problem.strerror}", done="nothing was sent") from problem


def load_stdin() -> bytes:
    """Nobody is kept waiting at a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        raise TasksInvalid(
            "there are no values: nothing is piped in, and there is no :::",
            hint='windlass farm run "python3 train.py --seed {}" ::: 1 2 3',
            done="nothing was sent",
        )
    return sys.stdin.buffer.read()
