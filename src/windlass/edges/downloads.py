"""Files on their way to the laptop: written aside, continued after a cut, renamed when whole."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from windlass.errors import DiskFull, StoreError


class Download:
    """One file being written; `written` bytes of it are there."""

    def __init__(self, path: Path, aside: Path, file: BinaryIO, written: int) -> None:
        self.path = path
        self.aside = aside
        self.written = written
        self._file = file

    def write(self, payload: bytes) -> None:
        try:
            self._file.write(payload)
        except OSError as error:
            raise DiskFull(
                f"{self.aside} cannot be written: {error.strerror}", done="what came so far is kept"
            ) from error
        self.written += len(payload)

    def close(self) -> None:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise DiskFull(f"{self.aside} cannot be written: {error.strerror}") from error
        finally:
            self._file.close()


def is_same(path: Path, size: int, mtime: float) -> bool:
    """Fetched before and not changed since: size and time agree."""
    try:
        seen = path.stat()
    except OSError:
        return False
    return seen.st_size == size and abs(seen.st_mtime - mtime) < 1


def open_download(path: Path, size: int) -> Download:
    aside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        written = aside.stat().st_size if aside.exists() else 0
        if written > size:
            written = 0
        file = aside.open("r+b" if written else "wb")
        file.seek(written)
    except OSError as error:
        raise StoreError(f"{aside} cannot be written: {error.strerror}", hint=f"ls -ld {path.parent}") from error
    return Download(path, aside, file, written)


def finish_download(download: Download, *, mtime: float) -> None:
    download.aside.replace(download.path)
    os.utime(download.path, (mtime, mtime))


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
