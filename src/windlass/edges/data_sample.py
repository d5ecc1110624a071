"""A sample of a folder: some files of each folder in it, until it is enough. Of a packed data set: one packed again."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from windlass_job.shards.card import is_packed
from windlass_job.shards.folder import Folder
from windlass_job.shards.sampling import sample

MOST_FILES = 200
MOST_BYTES = 64_000_000
_MOST_SEEN = 50_000


@dataclass(frozen=True, kw_only=True)
class Copied:
    files: int
    bytes: int
    is_whole: bool


def copy_sample(source: Path, target: Path, *, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> Copied:
    """The first file of every folder, then the second: data with a folder for each class keeps all its classes."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        return Copied(files=1, bytes=target.stat().st_size, is_whole=True)
    if is_packed(os.fsencode(source)):
        return _sample_packed(source, target, most_files)
    target.mkdir(parents=True, exist_ok=True)
    found = sorted(_walk(source), key=lambda one: (one[0], str(one[1])))
    files = size = 0
    for _, path in found:
        length = path.stat().st_size if path.exists() else None
        if length is None or (files and size + length > most_bytes):
            continue
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        files, size = files + 1, size + length
        if files >= most_files:
            break
    return Copied(files=files, bytes=size, is_whole=files == len(found) < _MOST_SEEN)


def _sample_packed(source: Path, target: Path, most_files: int) -> Copied:
    """Of each class the same number, and of every class one."""
    with Folder(os.fsencode(source)) as folder:
        files, classes = len(folder), max(1, len(folder.card.classes))
    target.parent.mkdir(parents=True, exist_ok=True)
    per_class = max(1, most_files // classes)
    chosen, size = sample(os.fsencode(source), os.fsencode(target), per_class, 0, packed=True)
    return Copied(files=chosen, bytes=size, is_whole=chosen == files)


def _walk(source: Path) -> Iterator[tuple[int, Path]]:
    """Files, each with its place in its own folder."""
    seen = 0
    for folder, folders, names in os.walk(source):
        folders.sort()
        for place, name in enumerate(sorted(names)):
            yield place, Path(folder) / name
            seen += 1
            if seen >= _MOST_SEEN:
                return
