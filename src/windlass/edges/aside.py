"""A file or folder of any size that is written aside: it is there whole under its name, or not at all.

What a killed process left is cleared by the next that writes the same; two at once are kept apart by a lock.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from windlass.edges.files import save_folder
from windlass.errors import ConvertError

PART = ".windlass-part"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """In the folder of the target, so that renaming is enough."""

    out: Path  # nothing is there yet; what is written there becomes the target
    scratch: Path  # an empty folder


@contextmanager
def write_aside(target: Path) -> Iterator[Workspace]:
    """What was written to `out` when the block ends without an error takes the place of the target."""
    folder = target.with_name(f".{target.name[:200]}{PART}")
    handle = _lock(folder, target)
    try:
        _clear(folder)
        workspace = Workspace(out=folder / "out", scratch=folder / "scratch")
        workspace.scratch.mkdir()
        yield workspace
        _save_tree(workspace.out)
        _rename(workspace.out, target, folder / "old")
        save_folder(target.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _lock(folder: Path, target: Path) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise ConvertError(f"another process is writing {target}", hint="wait until it has ended") from error
        except OSError:
            return handle  # a file system without locks
        if _is_at(folder, handle):
            return handle
        os.close(handle)  # whoever held it has just removed it


def _is_at(folder: Path, handle: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _clear(folder: Path) -> None:
    for left in folder.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()


def _save_tree(path: Path) -> None:
    """Flushed to the disk, file by file, then their folder."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    for file in files:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    if path.is_dir():
        save_folder(path)


def _rename(out: Path, target: Path, old: Path) -> None:
    if target.is_dir():
        target.rename(old)  # a folder with something in it cannot be renamed over
    out.rename(target)
