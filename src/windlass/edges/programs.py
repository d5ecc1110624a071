"""Programs of the user's own on this laptop."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

_LIMIT_S = 3600
_MOST_LINES = 5


def find_program(words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Where the program of a command lies; None: it is not installed. `env NAME=value PROGRAM` is seen through."""
    rest = [word for word in words[1:] if "=" not in word] if words[0] == "env" else list(words)
    return shutil.which(rest[0], path=environ.get("PATH")) if rest else None


def run_program(words: Sequence[str], environ: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Its exit code, and the last lines that it said. 124: it took too long."""
    try:
        done = subprocess.run(
            list(words),
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, (f"it took longer than {_LIMIT_S} s, and was ended",)
    lines = [line.strip() for line in done.stdout.decode(errors="replace").splitlines() if line.strip()]
    return done.returncode, tuple(lines[-_MOST_LINES:])
