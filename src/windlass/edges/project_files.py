"""The files that make up a project: asked of git, or found by a walk where git cannot tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from windlass.core.ignore import Patterns
from windlass.core.snapshot import LeftOut
from windlass.edges.git import GitFailed, GitFiles, find_git_root, list_git_files
from windlass.edges.walk import find_included, walk_project


@dataclass(frozen=True, kw_only=True)
class Found:
    """Paths relative to the project, each with whether git tracks it."""

    paths: Mapping[str, bool]
    is_git: bool
    notices: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    unreadable: tuple[str, ...] = field(default=())
    is_cut: bool = False  # there are more


def find_project_files(project: Path, *, include: Patterns, exclude: Patterns) -> Found:
    """Before secrets and junk are weighed; what `include` brings back is among them."""
    root = find_git_root(project)
    listed, notices = _ask_git(project, root) if root else (None, ())
    if listed is not None:
        found = Found(paths=listed.paths, is_git=True, notices=listed.notices)
    else:
        # A folder that the repository around it ignores as a whole is a project of its own.
        outer = root if root and notices != (_make_ignored_notice(root),) else None
        walked = walk_project(project, git_root=outer, exclude=exclude)
        found = Found(
            paths=dict.fromkeys(walked.paths, False),
            is_git=False,
            notices=notices,
            left_out=tuple(walked.left_out),
            unreadable=tuple(walked.unreadable),
            is_cut=walked.is_cut,
        )
    return _add_included(found, project, include) if include else found


def _ask_git(project: Path, root: Path) -> tuple[GitFiles | None, tuple[str, ...]]:
    try:
        listed = list_git_files(project)
    except GitFailed as error:
        told = f"git could not list the files ({error}): all were taken that no .gitignore names"
        return None, (told,)
    if not listed.paths and project != root:
        return None, (_make_ignored_notice(root),)
    return listed, ()


def _make_ignored_notice(root: Path) -> str:
    return f"the git repository at {root} ignores this folder: it was taken as a project without git"


def _add_included(found: Found, project: Path, include: Patterns) -> Found:
    walked = find_included(project, include)
    known = {one.path for one in found.left_out}
    return Found(
        paths={**dict.fromkeys(walked.paths, False), **found.paths},
        is_git=found.is_git,
        notices=found.notices,
        left_out=(*found.left_out, *(one for one in walked.left_out if one.path not in known)),
        unreadable=tuple(dict.fromkeys((*found.unreadable, *walked.unreadable))),
        is_cut=found.is_cut or walked.is_cut,
    )
