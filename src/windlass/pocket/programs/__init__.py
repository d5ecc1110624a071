"""Pocket's programs: found by name, run, and put into a folder for PATH."""

import importlib
import os
import shlex
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from windlass.pocket.database import set_aside
from windlass.pocket.errors import PocketError
from windlass.pocket.launch import command
from windlass.pocket.places import Places, find_places

PROGRAMS = ("sbatch", "srun", "salloc", "squeue", "sacct", "scancel", "scontrol", "sinfo")
# Slurm's that pocket lacks: a real one on the PATH would answer for another cluster.
ABSENT = ("sacctmgr", "sattach", "sbcast", "scrontab", "sdiag", "sprio", "sreport", "sshare", "sstat", "strigger")
_NOT_FOUND = 127  # as a shell says of a program that is not there
_INNER = ("keeper", "supervisor", "world")
VERSION = "slurm-pocket 22.05.0"


def main(program: str, words: Sequence[str] | None = None) -> int:
    """Run one program; whatever a user can cause ends in a sentence, not in a traceback."""
    words = list(sys.argv[1:] if words is None else words)
    if program not in (*PROGRAMS, *_INNER):
        print(f"pocket has no program {program!r}", file=sys.stderr)
        return 2
    places = find_places()
    try:
        if program in PROGRAMS and words and words[0] in ("--version", "-V"):
            print(VERSION)
            return 0
        module = importlib.import_module(f"windlass.pocket.programs.{program}")
        return int(module.run(places, words))
    except PocketError as error:
        _tell(program, error)
        return error.code
    except sqlite3.Error as error:
        return _tell_database(program, places, error)
    except BrokenPipeError:
        # `squeue | head -1`: nobody reads on, and the interpreter must not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{program}: error: {where}{error.strerror or error}", file=sys.stderr)
        return 1


def ensure_bin(state_dir: Path) -> Path:
    """Write the launchers into STATE/bin where they are not there yet; returns that folder."""
    folder = Places(Path(state_dir).absolute()).bin
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    launchers = {program: _launcher(program, folder.parent) for program in PROGRAMS}
    launchers |= {program: _refuser(program) for program in ABSENT}
    for program, launcher in launchers.items():
        text = os.fsencode(launcher)
        path = folder / program
        if not path.exists() or path.read_bytes() != text:
            draft = folder / f".{program}.{os.getpid()}"
            draft.write_bytes(text)
            draft.chmod(0o755)
            draft.replace(path)
    return folder


def _launcher(program: str, state: Path) -> str:
    # A shell line instead of `#!python`: that one breaks on blanks and on long paths.
    words = " ".join(shlex.quote(word) for word in command(program))
    return f'#!/bin/sh\nWINDLASS_POCKET_DIR={shlex.quote(str(state))} exec {words} "$@"\n'


def _refuser(program: str) -> str:
    return f"#!/bin/sh\necho '{program}: pocket has no such program' >&2\nexit {_NOT_FOUND}\n"


def _tell(program: str, error: PocketError) -> None:
    for line in error.lines:
        if error.bare:
            print(line, file=sys.stderr)
        elif line.startswith("fatal: "):
            print(f"{program}: {line}", file=sys.stderr)
        else:
            print(f"{program}: error: {line}", file=sys.stderr)


def _tell_database(program: str, places: Places, error: sqlite3.Error) -> int:
    if isinstance(error, sqlite3.OperationalError):
        print(f"{program}: error: pocket cannot use {places.database}: {error}", file=sys.stderr)
        return 1
    set_aside(places, str(error))
    print(f"{program}: error: please try again", file=sys.stderr)
    return 1
