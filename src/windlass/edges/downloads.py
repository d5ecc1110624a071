"""Files on their way to the laptop: kept aside until they are whole and verified, and never outside their folder.

What the site tells is not trusted: a name must stay inside the folder, and nothing is written through a link.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from windlass.edges.files import explain
from windlass.errors import DiskFull, StoreError, UsageError

PARTS = ".windlass-parts"  # beside the results; a part's name tells which version of which file it is


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One file as the site lists it."""

    name: str  # relative
    size: int
    mtime: float


class Part:
    """One file being written; `written` bytes of it are there."""

    def __init__(self, path: Path, file: BinaryIO, written: int) -> None:
        self.path = path
        self.written = written
        self._file = file

    def write(self, payload: bytes) -> None:
        try:
            self._file.write(payload)
        except OSError as error:
            raise self._explain(error) from error
        self.written += len(payload)

    def close(self, *, is_durable: bool = True) -> None:
        try:
            self._file.flush()
            if is_durable:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise self._explain(error) from error
        finally:
            with contextlib.suppress(OSError):  # it flushes once more, in vain
                self._file.close()

    def _explain(self, error: OSError) -> DiskFull:
        words = f"{self.path} cannot be written: {(error.strerror or str(error)).lower()}"
        return DiskFull(words, done="what came so far is kept; the same command goes on from there")


class Target:
    """The folder results go to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        with _told(self.folder):
            (self.folder / PARTS).mkdir(parents=True, exist_ok=True)

    def find(self, name: str) -> Path:
        """Where a file of this name goes: inside the folder, and through no link."""
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in name:
            raise UsageError(f"the site names a file {name[:200]!r}, which would lie outside {self.folder}: refused")
        path = self.folder
        for part in pure.parts[:-1]:
            path = path / part
            if path.is_symlink():
                raise UsageError(f"{path} is a link: nothing is written through it", hint="fetch --to another folder")
        return path / pure.parts[-1]

    def has(self, wanted: Wanted) -> bool:
        """Fetched before and not changed since: size and time agree."""
        try:
            seen = self.find(wanted.name).lstat()
        except OSError:
            return False
        # A file system that keeps whole seconds only cannot tell more; a summary may be rewritten within one.
        is_coarse = seen.st_mtime == int(seen.st_mtime)
        return seen.st_size == wanted.size and abs(seen.st_mtime - wanted.mtime) < (1 if is_coarse else 0.001)

    def open_part(self, wanted: Wanted) -> Part:
        """Goes on where an interrupted fetch of this same version stopped."""
        path = self._find_part(wanted)
        with _told(path):
            written = path.stat().st_size if path.exists() else 0
            written = written if written <= wanted.size else 0
            file = path.open("r+b" if written else "wb")
            file.seek(written)
        return Part(path, file, written)

    def seed_part(self, wanted: Wanted) -> None:
        """Begins with what is here of an earlier version: of a file that only grows the rest is fetched."""
        path, part = self.find(wanted.name), self._find_part(wanted)
        with _told(path):
            if part.exists() or not path.is_file() or path.is_symlink() or path.stat().st_size > wanted.size:
                return
            aside = part.with_name(f"{part.name}.seed")
            shutil.copyfile(path, aside)
            aside.replace(part)

    def hash_part(self, wanted: Wanted) -> str:
        path = self._find_part(wanted)
        with _told(path), path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def drop_part(self, wanted: Wanted) -> None:
        self._find_part(wanted).unlink(missing_ok=True)

    def finish(self, wanted: Wanted) -> None:
        """Whole and verified: it takes its name."""
        path, part = self.find(wanted.name), self._find_part(wanted)
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.utime(part, (wanted.mtime, wanted.mtime))
            part.replace(path)

    def make_link(self, name: str, points_to: str) -> None:
        """A link of the run's that stays inside."""
        path = self.find(name)
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() and os.readlink(path) == points_to:  # noqa: PTH115  # the text, not a path
                return
            aside = self.folder / PARTS / f"link-{os.getpid()}"
            aside.unlink(missing_ok=True)
            aside.symlink_to(points_to)
            aside.replace(path)

    def make_folder(self, name: str) -> None:
        """One with nothing in it."""
        path = self.find(name)
        with _told(path):
            path.mkdir(parents=True, exist_ok=True)

    def clean_up(self) -> None:
        """Parts of versions that are no longer there; those of an interrupted fetch are left by not calling this."""
        with contextlib.suppress(OSError):
            for part in (self.folder / PARTS).iterdir():
                part.unlink()
            (self.folder / PARTS).rmdir()

    def _find_part(self, wanted: Wanted) -> Path:
        version = f"{wanted.name}\0{wanted.size}\0{wanted.mtime!r}"
        return self.folder / PARTS / hashlib.sha256(version.encode("utf-8", "surrogateescape")).hexdigest()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise explain(problem, path, error=StoreError) from problem
