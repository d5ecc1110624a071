"""Batch scripts on the laptop's disk: which files of a folder are some, and their bytes, whatever lies there."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from windlass.edges.files import explain, save_folder
from windlass.errors import WindlassError

LARGEST = 4 * 1024 * 1024  # Slurm's own default for a script (SchedulerParameters=max_script_size)
ALWAYS = (".sbatch", ".srm", ".slurm")
WITH_DIRECTIVES = (".sh", ".bash", ".job", ".batch")
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages"})
_MAGIC = b"#SBATCH"


class NoScript(Exception):
    """Why a path gives no script, in words."""


class Closed(NoScript):
    """Something is there, and it cannot be read."""


def find_scripts(folder: Path) -> Iterator[Path]:
    """In the folder and below it; links to folders are not followed. Also files and folders that are closed."""
    closed: list[OSError] = []
    for here, folders, names in os.walk(folder, onerror=closed.append):
        yield from _take_closed(closed)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        for name in sorted(names):
            path = Path(here) / name
            ending = path.suffix.lower()
            if ending in ALWAYS or (ending in WITH_DIRECTIVES and _has_directives(path)):
                yield path
    yield from _take_closed(closed)


def load_script(path: Path) -> bytes:
    """Raises NoScript. Never waits: a pipe without a writer is no script."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as problem:
        raise _explain(problem, path) from problem
    with os.fdopen(handle, "rb") as file:
        try:
            return _read(file.fileno())
        except OSError as problem:
            raise _explain(problem, path) from problem


def replace_script(path: Path, before: bytes, after: bytes) -> None:
    """Whole or not at all; owner, group and mode stay. Raises NoScript, or WindlassError where the disk says no."""
    target = Path(os.path.realpath(path))
    if load_script(target) != before:
        raise NoScript("it was changed meanwhile")
    aside = target.with_name(f".{target.name[:200]}.{os.urandom(6).hex()}.new")
    try:
        about = target.stat()
        _check_can_replace(target, about)
        _write_aside(aside, after, about)
        aside.replace(target)
        save_folder(target.parent)
    except OSError as problem:
        raise explain(problem, path, error=WindlassError) from problem
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


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
    try:
        return _MAGIC in load_script(path)
    except Closed:
        return True  # perhaps: whoever asks is told that it cannot be read
    except NoScript:
        return False


def _take_closed(closed: list[OSError]) -> Iterator[Path]:
    while closed:
        yield Path(closed.pop(0).filename)


def _explain(problem: OSError, path: Path) -> NoScript:
    if problem.errno == errno.ENOENT:
        return NoScript("this link points to nothing" if path.is_symlink() else "there is no such file")
    if problem.errno == errno.ELOOP:
        return NoScript("this link points to itself")
    return Closed(f"this cannot be read: {problem.strerror or problem}")


def _check_can_replace(target: Path, about: os.stat_result) -> None:
    if about.st_nlink > 1:
        raise NoScript(f"it has {about.st_nlink} names (hard links), and the others would keep the old text")
    if not about.st_mode & stat.S_IWUSR or not os.access(target, os.W_OK):
        raise NoScript("it is not writable")


def _write_aside(aside: Path, data: bytes, about: os.stat_result) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(aside, flags, 0o600), "wb") as file:
        _give_back(file.fileno(), about)
        os.fchmod(file.fileno(), stat.S_IMODE(about.st_mode))  # after the owner: a change of owner clears some bits
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _give_back(handle: int, about: os.stat_result) -> None:
    """To the owner there was, where we may; else at least to the group."""
    for owner in (about.st_uid, -1):
        with contextlib.suppress(PermissionError):
            os.fchown(handle, owner, about.st_gid)
            return
