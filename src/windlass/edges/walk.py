"""The files of a folder without git: a walk that honours .gitignore, and one for what `include` brings back."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from windlass.core.ignore import Patterns, read_ignore_file
from windlass.core.selection import JUNK_FOLDERS, NEVER
from windlass.core.snapshot import LeftOut, LeftOutReason

WALK_LIMIT = 500_000  # files; beyond it the project is refused anyway

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(kw_only=True)
class Walked:
    paths: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    is_cut: bool = False


@dataclass(frozen=True)
class _Scope:
    """A .gitignore counts for the folder it lies in (`base`, ending in "/", or empty) and below.

    Where it lies above the project, `way_down` leads from there to the project.
    """

    base: str
    patterns: Patterns
    way_down: str = ""


def walk_project(project: Path, *, git_root: Path | None = None, exclude: Patterns | None = None) -> Walked:
    """All files that the project's .gitignore files do not name; `git_root`: where the outermost of them may lie.

    What `exclude` names is not even looked into.
    """
    scopes = tuple(_load_outer_scopes(project, git_root))
    return _walk(project, "", scopes, exclude or Patterns(()))


def find_included(project: Path, include: Patterns) -> Walked:
    """What `include` names, ignored or not; only folders that a pattern can reach are looked into."""
    found = Walked()
    seen: set[str] = set()
    for base in sorted({one.literal_base for one in include.patterns if not one.is_negated}):
        start = project / base
        if start.is_dir() and not start.is_symlink():
            walked = _walk(project, base + "/" if base else "", None, Patterns(()))
        else:
            walked = Walked(paths=[base] if os.path.lexists(start) else [])
        for path in walked.paths:
            if path not in seen and include.matches(path):
                seen.add(path)
                found.paths.append(path)
        found.left_out += [one for one in walked.left_out if include.matches(one.path)]
        found.unreadable += walked.unreadable
        found.is_cut |= walked.is_cut
    return found


def describe_kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "")


def _walk(project: Path, start: str, scopes: tuple[_Scope, ...] | None, exclude: Patterns) -> Walked:
    """`scopes` None: no .gitignore counts."""
    walked = Walked()
    waiting = [(start, scopes)]
    while waiting and not walked.is_cut:
        folder, scopes = waiting.pop()
        try:
            with os.scandir(project / folder) as scan:
                entries = list(scan)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            walked.unreadable.append(folder)
            continue
        if folder and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        if scopes is not None and any(entry.name == ".gitignore" for entry in entries):
            scopes = (*scopes, _Scope(folder, _load_ignore_file(project / folder / ".gitignore")))
        for entry in entries:
            _take_entry(entry, folder, scopes, exclude, walked, waiting)
        walked.is_cut = len(walked.paths) > WALK_LIMIT
    return walked


def _take_entry(
    entry: os.DirEntry[str],
    folder: str,
    scopes: tuple[_Scope, ...] | None,
    exclude: Patterns,
    walked: Walked,
    waiting: list[tuple[str, tuple[_Scope, ...] | None]],
) -> None:
    path = folder + entry.name
    is_folder = entry.is_dir(follow_symlinks=False)
    if entry.name in NEVER or (is_folder and entry.name in JUNK_FOLDERS):
        return
    if _is_ignored(path, scopes or (), is_folder=is_folder) or exclude.decide(path, is_folder=is_folder):
        return
    if is_folder:
        waiting.append((path + "/", scopes))
    elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
        walked.paths.append(path)
    else:
        try:
            note = describe_kind(entry.stat(follow_symlinks=False).st_mode)
        except OSError:
            note = ""
        walked.left_out.append(LeftOut(path=path, reason=LeftOutReason.SPECIAL, note=note))


def _is_ignored(path: str, scopes: tuple[_Scope, ...], *, is_folder: bool) -> bool:
    """The innermost .gitignore that says something decides."""
    for scope in reversed(scopes):
        verdict = scope.patterns.decide(scope.way_down + path[len(scope.base) :], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def _load_outer_scopes(project: Path, git_root: Path | None) -> Iterator[_Scope]:
    """Those between the repository's root and the project."""
    if git_root is None or git_root == project:
        return
    between = project.relative_to(git_root).parts
    for depth in range(len(between)):
        file = git_root.joinpath(*between[:depth], ".gitignore")
        if file.is_file():
            yield _Scope("", _load_ignore_file(file), "/".join(between[depth:]) + "/")


def _load_ignore_file(path: Path) -> Patterns:
    try:
        if not path.is_file():
            return Patterns(())
        return read_ignore_file(path.read_bytes().decode("utf-8", "surrogateescape"))
    except OSError:
        return Patterns(())
