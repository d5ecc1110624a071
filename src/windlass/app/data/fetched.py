"""Which plain files on this laptop were fetched, and are as they came: those may become newer ones."""

import hashlib
import json
import os
from pathlib import Path

from windlass.edges.downloads import Target, Wanted
from windlass.edges.files import save_file

Links = tuple[tuple[str, str], ...]  # names, and what they point to
Version = list[int | float | str]  # size and time of a file; what a link points to


class Fetched:
    """What came from one place of one site into one folder, as a file among the state of Windlass."""

    def __init__(self, state: Path, site: str, base: str, folder: Path) -> None:
        key = f"{site}\0{base}\0{os.path.realpath(folder)}".encode("utf-8", "surrogateescape")
        self._path = state / "fetched" / f"{hashlib.sha256(key).hexdigest()[:32]}.json"
        self._known = self._load()

    def is_ours(self, target: Target, name: str) -> bool:
        """As it came from there: nobody here has changed it since."""
        if (path := target.find(name)).is_symlink():
            return [os.readlink(path)] in self._known.get(name, ())  # noqa: PTH115  # the text, not a path
        files = (version for version in self._known.get(name, ()) if len(version) == 2)
        return any(target.has(Wanted(name=name, size=int(size), mtime=float(mtime))) for size, mtime in files)

    def may_link(self, path: Path, name: str, points_to: str) -> bool:
        """Nothing is there, or this link, or one that came from there."""
        if not os.path.lexists(path):
            return True
        if not path.is_symlink():
            return False
        there = os.readlink(path)  # noqa: PTH115  # the text, not a path
        return there == points_to or [there] in self._known.get(name, ())

    def begin(self, files: list[Wanted], links: Links) -> None:
        """Before the first of them is replaced: after a cut some are as they were, some as they will be."""
        coming = _list_versions(files, links)
        self._save({**self._known, **{name: [*self._known.get(name, ()), one] for name, one in coming.items()}})

    def end(self, files: list[Wanted], links: Links) -> None:
        self._save({**self._known, **{name: [one] for name, one in _list_versions(files, links).items()}})

    def _load(self) -> dict[str, list[Version]]:
        try:
            found = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}  # then files of other content are refused, as anybody's
        return found if isinstance(found, dict) else {}

    def _save(self, known: dict[str, list[Version]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        save_file(self._path, json.dumps(known).encode("ascii"))


def _list_versions(files: list[Wanted], links: Links) -> dict[str, Version]:
    return {**{one.name: [one.size, one.mtime] for one in files}, **{name: [points_to] for name, points_to in links}}
