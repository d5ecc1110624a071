"""What this laptop has that Windlass needs: programs, folders, permissions. Looks, changes nothing."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PATIENCE_S = 10.0
MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Program:
    name: str
    path: str | None = None  # None: not on the PATH
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder of ours, or the nearest one above that is there."""

    path: Path
    is_writable: bool
    free_mb: int | None = None


def find_program(name: str, arguments: Sequence[str], environ: Mapping[str, str]) -> Program:
    """With the first line it says about itself."""
    path = shutil.which(name, path=environ.get("PATH"))
    if path is None:
        return Program(name=name)
    try:
        done = subprocess.run(
            [path, *arguments], capture_output=True, timeout=_PATIENCE_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return Program(name=name, path=path)
    said = (done.stdout + done.stderr).decode(errors="replace").strip()
    return Program(name=name, path=path, version=said.splitlines()[0].strip() if said else None)


def look_at_place(folder: Path) -> Place:
    there = next((one for one in (folder, *folder.parents) if one.is_dir()), Path("/"))
    try:
        free = shutil.disk_usage(there).free // MB
    except OSError:
        free = None
    return Place(path=folder, is_writable=os.access(there, os.W_OK | os.X_OK), free_mb=free)


def find_open_keys(home: Path | None) -> tuple[str, ...]:
    """Private keys that others can read: ssh refuses to use them."""
    if home is None:
        return ()
    try:
        files = [one for one in (home / ".ssh").iterdir() if one.name.startswith("id_") and one.suffix != ".pub"]
        return tuple(str(one) for one in files if stat.S_IMODE(one.stat().st_mode) & 0o077)
    except OSError:
        return ()


def describe_python() -> str:
    return f"{sys.version.split()[0]} at {sys.executable}"


def find_outer_job(environ: Mapping[str, str]) -> str | None:
    """The number of the allocation this shell sits in."""
    return environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID")
