"""What lies here as another kind of thing than at the site: a file where a folder is to be, a folder, a link."""

import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from windlass.app.data.fetched import Fetched
from windlass.app.data.getting_source import Listing
from windlass.core.shell import quote
from windlass.edges.downloads import Target
from windlass.errors import UsageError


class InTheWay:
    """Found before anything is written; what came from the site and is unchanged here may go."""

    def __init__(self, names: Iterable[str], listing: Listing, target: Target, fetched: Fetched) -> None:
        """names: of the files as they will be here."""
        self._target = target
        self._fetched = fetched
        self._found: dict[str, Path] = {}
        self._seen: set[PurePosixPath] = set()
        if not target.folder.is_dir():
            return
        for name in names:
            self._look(name, as_folder=False)
        for name, _ in listing.links:
            self._look(name, as_folder=False)
        for name in listing.folders:
            self._look(name, as_folder=True)

    def covers(self, name: str) -> bool:
        """Something stands where this is to be, or one of its folders."""
        pure = PurePosixPath(name)
        return bool(self._found) and any(str(one) in self._found for one in (pure, *pure.parents))

    def list_foreign(self) -> list[str]:
        return [name for name, path in self._found.items() if not self._is_ours(name, path)]

    def check_folders(self) -> None:
        """Not even by force: a folder may hold anything."""
        for name in self.list_foreign():
            path = self._found[name]
            if _is_folder(path) and any(path.iterdir()):
                raise UsageError(
                    f"{path} is a folder with files in it, and no folder at the site: it is not replaced",
                    hint=f"mv {quote(str(path))} {quote(f'{path}.mine')}",
                    done="nothing was written",
                )

    def clear(self) -> None:
        for path in self._found.values():
            shutil.rmtree(path) if _is_folder(path) else path.unlink(missing_ok=True)

    def _look(self, name: str, *, as_folder: bool) -> None:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\0" in name:
            return  # refused by whoever writes
        if self._look_above(pure):
            return
        path = self._target.folder / name
        is_other = _is_no_folder(path) if as_folder else _is_folder(path)
        if is_other:
            self._found[name] = path

    def _look_above(self, pure: PurePosixPath) -> bool:
        """Whether one of its folders is none here."""
        for parent in reversed(pure.parents[:-1]):
            if parent not in self._seen:
                self._seen.add(parent)
                path = self._target.folder / parent
                if _is_no_folder(path):
                    self._found[str(parent)] = path
            if str(parent) in self._found:
                return True
        return False

    def _is_ours(self, name: str, path: Path) -> bool:
        if not _is_folder(path):
            return self._fetched.is_ours(self._target, name)
        inside = (one for one in path.rglob("*") if not _is_folder(one))
        names = (one.relative_to(self._target.folder).as_posix() for one in inside)
        return all(self._fetched.is_ours(self._target, one) for one in names)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_no_folder(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())
