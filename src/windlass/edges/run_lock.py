"""Who is submitting a run at this moment: a lock on this laptop that ends with its process, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from windlass.edges.files import make_private_folder


class HeldAlready(Exception):
    """Another process has it."""


@contextmanager
def hold_run(folder: Path, run_id: str, *, waits: bool = True) -> Iterator[None]:
    """As long as it is held, nobody else says what became of the submission. HeldAlready where nobody waits for it."""
    make_private_folder(folder)
    path = _find(folder, run_id)
    handle = _lock(path, waits=waits)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is locked: those who wait see that it is gone, and make a new one
        os.close(handle)


def is_held(folder: Path, run_id: str) -> bool:
    path = _find(folder, run_id)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(path, handle):
            return is_held(folder, run_id)  # it was let go, and perhaps taken again
        path.unlink()  # its holder was killed
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def _lock(path: Path, *, waits: bool) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise HeldAlready from None
        except OSError:  # a file system without locks: the deputy's own care must do
            return handle
        if _is_at(path, handle):
            return handle
        os.close(handle)


def _is_at(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


def _find(folder: Path, run_id: str) -> Path:
    return folder / f"{run_id}.lock"
