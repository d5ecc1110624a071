"""`init` and finding the project a command is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windlass.core.toml.starter import make_starter
from windlass.edges.files import save_file
from windlass.edges.project import look_at_project
from windlass.edges.settings import RUN_FILE, find_project
from windlass.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Started:
    path: Path
    text: str


def start_project(folder: Path, *, replace: bool = False) -> Started:
    """Writes windlass.toml from what is seen; never over one that is there, unless told to."""
    path = folder / RUN_FILE
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already", hint="windlass init --replace", done="it was left as it is")
    text = make_starter(look_at_project(folder))
    save_file(path, text.encode(), mode=0o644)
    return Started(path=path, text=text)


def find_project_folder(start: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the nearest windlass.toml, else `start`: flags alone may describe a run."""
    return find_project(start, environ) or start
