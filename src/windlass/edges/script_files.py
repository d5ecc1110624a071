"""Batch scripts on the laptop's disk: which files of a folder are some, and their bytes, whatever lies there."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

LARGEST = 4 * 1024 * 1024  # Slurm's own default for a script (SchedulerParameters=max_script_size)
ALWAYS = (".sbatch", ".srm", ".slurm")
WITH_DIRECTIVES = (".sh", ".bash", ".job", ".batch")
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages"})
_MAGIC = b"#SBATCH"


class NoScript(Exception):
    """Why a path gives no script, in words."""


def find_scripts(folder: Path) -> Iterator[Path]:
    """In the folder and below it; links to folders are not followed."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        for name in sorted(names):
            path = Path(here) / name
            ending = path.suffix.lower()
            if ending in ALWAYS or (ending in WITH_DIRECTIVES and _has_directives(path)):
                yield path


def load_script(path: Path) -> bytes:
    """Raises NoScript. Never waits: a pipe without a writer is no script."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as problem:
        raise NoScript(_explain(problem, path)) from problem
    with os.fdopen(handle, "rb") as file:
        try:
            return _read(file.fileno())
        except OSError as problem:
            raise NoScript(_explain(problem, path)) from problem


def judge_bytes(data: bytes) -> bytes:
    """The same, when it can be a script at all. Raises NoScript."""
    if len(data) > LARGEST:
        raise NoScript(_too_large(len(data)))
    if b"\0" in data[:8192] and not data.startswith(b"#!"):
        raise NoScript("this is no text")
    return data


def _read(handle: int) -> bytes:
    about = os.fstat(handle)
    if stat.S_ISDIR(about.st_mode):
        raise NoScript("this is a folder")
    if not stat.S_ISREG(about.st_mode):
        raise NoScript("this is no file: a pipe, a socket or a device")
    if about.st_size > LARGEST:
        raise NoScript(_too_large(about.st_size))
    parts: list[bytes] = []
    left = LARGEST + 1
    while left > 0 and (part := os.read(handle, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return judge_bytes(b"".join(parts))


def _too_large(size: int) -> str:
    return f"this is {size / 1e6:.0f} MB; Slurm takes scripts of at most 4 MB"


def _has_directives(path: Path) -> bool:
    with contextlib.suppress(NoScript):
        return _MAGIC in load_script(path)
    return False


def _explain(problem: OSError, path: Path) -> str:
    if problem.errno == errno.ENOENT:
        return "this link points to nothing" if path.is_symlink() else "there is no such file"
    if problem.errno == errno.ELOOP:
        return "this link points to itself"
    return f"this cannot be read: {problem.strerror or problem}"
