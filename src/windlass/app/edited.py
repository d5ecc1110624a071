"""Results that were changed here since they were fetched: they keep what they say, under another name.

By the rule of `data get`: as it came is what has the size and time that were noted when it came.
"""

import hashlib
import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from windlass.app.data.fetched import Fetched, Links
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.downloads import Target, Wanted
from windlass.edges.files import explain
from windlass.errors import StoreError


class Edited:
    """Of one run's results in one folder."""

    def __init__(self, session: Session, record: RunRecord, base: str, target: Target) -> None:
        self.kept: list[str] = []  # the names they have now
        self._session = session
        self._place = (session.folders.state, record.site, base, target.folder)
        self._target = target
        self._notes = Fetched(*self._place)

    def begin(self, files: Sequence[Wanted], links: Links = ()) -> None:
        """Before the first of them is replaced."""
        if files or links:
            Fetched(*self._place).begin(list(files), links)

    def end(self, files: Sequence[Wanted], links: Links = ()) -> None:
        """All that is here now, also what an earlier fetch brought."""
        there = [one for one in files if self._target.has(one)]
        if there or links:
            Fetched(*self._place).end(there, links)

    def make_way(self, wanted: Wanted) -> None:
        """For a file that is here as a whole, and takes its name now."""
        path = self._target.find(wanted.name)
        if not os.path.lexists(path) or self._notes.is_ours(self._target, wanted.name):
            return
        if _is_folder(path) or _hash(path) == self._target.hash_part(wanted):
            return
        self._keep(path, wanted.name)

    def make_way_for_link(self, name: str, points_to: str) -> None:
        path = self._target.find(name)
        if not self._notes.may_link(path, name, points_to) and not _is_folder(path):
            self._keep(path, name)

    def _keep(self, path: Path, name: str) -> None:
        names = (f"{path.name}.mine{'' if number == 1 else f'-{number}'}" for number in count(1))
        aside = next(one for one in map(path.with_name, names) if not os.path.lexists(one))
        try:
            path.rename(aside)
        except OSError as problem:
            raise explain(problem, path, error=StoreError) from problem
        self.kept.append(str(Path(name).with_name(aside.name)))
        self._session.tell(f"{name!r} was changed here since it was fetched: what it said is now in {str(aside)!r}")


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _hash(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
