"""Who is submitting a run at this moment: a lock on this laptop that ends with its process, however that ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from windlass.edges.files import make_private_folder


@contextmanager
def hold_run(folder: Path, run_id: str) -> Iterator[None]:
    """As long as it is held, nobody else says what became of the submission."""
    make_private_folder(folder)
    path = _find(folder, run_id)
    with open(path, "w") as file:
        with suppress(OSError):  # a file system without locks: the deputy's own care must do
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def is_held(folder: Path, run_id: str) -> bool:
    path = _find(folder, run_id)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    path.unlink(missing_ok=True)  # its holder was killed
    return False


def _find(folder: Path, run_id: str) -> Path:
    return folder / f"{run_id}.lock"
