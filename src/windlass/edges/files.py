"""Writing a file on the laptop so that it is there whole, or not at all."""

import contextlib
import errno
import os
from pathlib import Path

from windlass.errors import DiskFull, StoreError, WindlassError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def save_file(
    path: Path,
    data: bytes,
    *,
    mode: int | None = 0o600,
    error: type[WindlassError] = StoreError,
    is_durable: bool = True,
) -> None:
    """Write aside in the same folder, then rename. A link is followed: its target is replaced, the link stays.

    `mode` None keeps that of the file there was (0644 for a new one). Not durable: no fsync, for what can be rebuilt.
    """
    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{target.name[:200]}.{os.urandom(6).hex()}.new")
    try:
        _write_aside(aside, data, mode=_find_mode(target) if mode is None else mode, is_durable=is_durable)
        aside.replace(target)
        if is_durable:
            save_folder(target.parent)
    except OSError as problem:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise explain(problem, path, error=error) from problem
    except BaseException:  # Ctrl-C between the two: nothing half-written is left
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


def save_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power cut; a filesystem that cannot is left in peace."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def make_private_folder(folder: Path, *, error: type[WindlassError] = StoreError) -> None:
    """Make the folder and those above it that are missing, for the user alone."""
    try:
        for one in [*reversed(folder.parents), folder]:
            if not one.is_dir():
                one.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise explain(problem, folder, error=error) from problem


def explain(problem: OSError, path: Path, *, error: type[WindlassError] = StoreError) -> WindlassError:
    """The words for a write that failed."""
    said = problem.strerror or str(problem)
    if problem.errno in FULL:
        return DiskFull(f"{path} could not be written: {said}", hint=f"df -h {path.parent}")
    hint = f"ls -ld {path.parent}" if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else None
    return error(f"{path} could not be written: {said}", hint=hint)


def put_in_words(problem: OSError) -> WindlassError:
    """Where nobody knows which of many steps it was: the file that it names, and why."""
    said = problem.strerror or str(problem) or type(problem).__name__
    where = f"{problem.filename}: " if problem.filename is not None else ""
    return (DiskFull if problem.errno in FULL else WindlassError)(f"{where}{said}")


def _find_mode(target: Path) -> int:
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o644


def _write_aside(aside: Path, data: bytes, *, mode: int, is_durable: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(aside, flags, 0o600), "wb") as file:
        os.fchmod(file.fileno(), mode)  # open's mode is cut by the umask
        file.write(data)
        file.flush()
        if is_durable:
            os.fsync(file.fileno())
