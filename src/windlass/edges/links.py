"""Symbolic links of a project: where they lead, and how they are written at the site."""

import os
import posixpath
from pathlib import Path


def read_inner_link(project: Path, path: str) -> str | None:
    """The link's text, relative, as it holds wherever the project lies; None when it leads outside."""
    file = project / path
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(project):
        return None
    target = str(file.readlink())
    lexical = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if target.startswith("/") or lexical == ".." or lexical.startswith("../"):
        return os.path.relpath(real, os.path.realpath(file.parent))
    return target


def find_unsent(project: Path, links: list[str], sent: set[str]) -> list[tuple[str, str]]:
    """Links whose target is there but not among the `sent` paths, each with that target."""
    folders = {folder for path in sent for folder in _list_folders(path)}
    unsent = []
    for path in links:
        real = os.path.realpath(project / path)
        target = os.path.relpath(real, project)
        if target not in folders and target not in sent and os.path.lexists(real):
            unsent.append((path, target))
    return unsent


def _list_folders(path: str) -> list[str]:
    parts = path.split("/")
    return [".", *("/".join(parts[:depth]) for depth in range(1, len(parts)))]
