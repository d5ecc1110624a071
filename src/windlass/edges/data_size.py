"""How large the data of a run is, where it lies on this machine: a walk that gives up when it takes too long."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from windlass.core.case import DataSeen
from windlass.core.run import Data

MOST_FILES = 2_000_000
LONGEST_S = 3.0


def measure_data(
    project: Path,
    data: Mapping[str, Data],
    home: Path | None,
    *,
    most_files: int = MOST_FILES,
    longest_s: float = LONGEST_S,
) -> tuple[DataSeen, ...]:
    """What lies elsewhere (a variable of the site's, an address, nothing here) is passed over."""
    deadline = time.monotonic() + longest_s
    found = ((name, _find(project, one.source, home)) for name, one in data.items())
    return tuple(_measure(name, path, most_files, deadline) for name, path in found if path is not None)


def _find(project: Path, source: str, home: Path | None) -> Path | None:
    if "$" in source or "://" in source or "\0" in source:
        return None
    if source.startswith("~"):
        if home is None or not source.startswith("~/"):
            return None
        source = str(home / source[2:])
    path = project / source
    try:
        return path if path.exists() else None
    except OSError:
        return None


def _measure(name: str, path: Path, most_files: int, deadline: float) -> DataSeen:
    size, files, folders = 0, 0, [str(path)]
    if not path.is_dir():
        return DataSeen(name=name, bytes=path.stat().st_size, files=1)
    while folders:
        try:
            entries = os.scandir(folders.pop())
        except OSError:
            continue  # a folder that cannot be read is not counted
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                files += 1
                size += _read_size(entry)
                if files >= most_files or (files % 1000 == 0 and time.monotonic() > deadline):
                    return DataSeen(name=name, bytes=size, files=files, is_partial=True)
    return DataSeen(name=name, bytes=size, files=files)


def _read_size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
