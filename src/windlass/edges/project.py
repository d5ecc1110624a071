"""Look at a project's folder: what is there, and which script looks like the training. Nothing is run."""

import os
from collections.abc import Iterator
from pathlib import Path

from windlass.core.toml.starter import FRAMEWORKS, ProjectSeen, ScriptSeen

MAX_ENTRIES = 5_000
MAX_SCRIPTS = 200
MAX_BYTES = 65_536
MAX_DEPTH = 4
_SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages", "venv", "env", "build", "dist", "wandb"))
_SAVES = ("torch.save(", "ModelCheckpoint", "save_weights(", "save_checkpoint", "save_pretrained(", "Trainer(")


def look_at_project(folder: Path) -> ProjectSeen:
    """Bounded: a home folder with a million files is looked at as quickly as a small project."""
    files: set[str] = set()
    folders: set[str] = set()
    scripts: list[ScriptSeen] = []
    for entry, depth in _walk(folder):
        is_folder = entry.is_dir(follow_symlinks=False)
        if depth == 0:
            (folders if is_folder else files).add(entry.name)
        if entry.name.endswith(".py") and len(scripts) < MAX_SCRIPTS and entry.is_file(follow_symlinks=False):
            scripts.append(_look_at_script(entry, Path(entry.path).relative_to(folder).as_posix()))
    return ProjectSeen(
        name=folder.absolute().name, files=frozenset(files), folders=frozenset(folders), scripts=tuple(scripts)
    )


def _walk(top: Path) -> Iterator[tuple["os.DirEntry[str]", int]]:
    """Breadth first, by name, so that what is near the top is seen before the limit is reached."""
    waiting = [(str(top), 0)]
    left = MAX_ENTRIES
    for folder, depth in waiting:  # grows while it is read
        try:
            with os.scandir(folder) as found:
                entries = sorted(_take(found, left), key=lambda one: one.name)
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            yield entry, depth
            if depth < MAX_DEPTH and _is_worth_a_look(entry):
                waiting.append((entry.path, depth + 1))
        if left <= 0:
            return


def _take(found: "Iterator[os.DirEntry[str]]", most: int) -> Iterator["os.DirEntry[str]"]:
    for _ in range(most):
        entry = next(found, None)
        if entry is None:
            return
        yield entry


def _is_worth_a_look(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED or not entry.is_dir(follow_symlinks=False):
        return False
    return not Path(entry.path, "pyvenv.cfg").exists()


def _look_at_script(entry: "os.DirEntry[str]", path: str) -> ScriptSeen:
    try:
        with open(entry.path, "rb") as file:
            text = file.read(MAX_BYTES).decode(errors="replace")
    except OSError:
        return ScriptSeen(path=path)
    return ScriptSeen(
        path=path,
        frameworks=frozenset(_find_imports(text)),
        has_main="__main__" in text,
        has_arguments="ArgumentParser(" in text or "sys.argv" in text or "import click" in text,
        saves=any(word in text for word in _SAVES),
    )


def _find_imports(text: str) -> Iterator[str]:
    for line in text.splitlines():
        words = line.replace(",", " ").split()
        if words[:1] == ["from"]:
            words = words[:2]
        elif words[:1] != ["import"]:
            continue
        yield from (root for word in words[1:] if (root := word.partition(".")[0]) in FRAMEWORKS)
