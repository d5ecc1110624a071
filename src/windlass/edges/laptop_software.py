"""Where the software of this laptop lies that a command may need: Python environments and folders of PATH."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from windlass.core.seen.areas import is_under

# What every machine has of its own; everything else at the top is hidden in a rehearsal.
SYSTEM = (
    "bin", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "snap", "usr", "var",
)  # fmt: skip
_ASK_PYTHON = "import sys; print('\\n'.join([sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)]))"
_PROGRAM_FOLDERS = ("bin", "sbin", "condabin", "shims")
_TIMEOUT_S = 20


def find_software(environ: Mapping[str, str], home: Path | None) -> tuple[Path, ...]:
    """Folders outside of the system's own, none inside another, and never home as a whole."""
    found = [Path(__file__).resolve().parents[2], *_list_prefixes(sys.executable)]
    for name in ("python3", "python"):
        found += _list_prefixes(name)
    found += [_widen(Path(one), home) for one in environ.get("PATH", "").split(":") if one.startswith("/")]
    if home is not None:
        found.append(home / ".local" / "lib")
    return _without_inner(path for path in found if _is_worth_showing(path, home))


def _list_prefixes(python: str) -> list[Path]:
    try:
        done = subprocess.run(
            [python, "-c", _ASK_PYTHON], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = [Path(line) for line in done.stdout.splitlines() if line.startswith("/")]
    # An environment's python is a link: what it leads to must be there, too.
    return [*lines, *(path.resolve() for path in lines)]


def _widen(folder: Path, home: Path | None) -> Path:
    """The whole environment around a folder of programs."""
    parent = folder.parent
    is_lonely = folder.name not in _PROGRAM_FOLDERS or parent == home or parent.name == ".local"
    return folder if is_lonely else parent


def _is_worth_showing(path: Path, home: Path | None) -> bool:
    # Asked first: is_dir raises where a folder above may not be entered.
    if (
        not os.access(path, os.X_OK)
        or not path.is_dir()
        or path == Path("/")
        or (home is not None and is_under(str(home), str(path)))
    ):
        return False
    return not any(is_under(str(path), f"/{name}") for name in (*SYSTEM, "proc", "sys", "dev", "tmp/.X11-unix"))


def _without_inner(paths: Iterable[Path]) -> tuple[Path, ...]:
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda one: len(os.fspath(one))):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return tuple(kept)
