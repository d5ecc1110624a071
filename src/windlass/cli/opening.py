"""Opening a session for a command: the user's folders, environment and terminal."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.app.session import Session
from windlass.cli.output import Output
from windlass.edges.folders import find_folders

if TYPE_CHECKING:
    from windlass.app.planning import Wanted
    from windlass.core.toml.layers import Flag

HERE = "here"


def open_session(output: Output) -> Session:
    return Session(folders=find_folders(os.environ), environ=os.environ, tell=output.tell, ring=output.ring)


def read_site_name(site_name: str | None) -> str:
    """As given, or as the project here says."""
    from windlass.app.projects import find_project_folder
    from windlass.edges.settings import load_site_name

    return site_name or load_site_name(find_project_folder(Path.cwd(), os.environ), os.environ) or HERE


def read_wanted(site_name: str | None, flags: "tuple[Flag, ...]") -> "Wanted":
    from windlass.app.planning import Wanted
    from windlass.app.projects import find_project_folder
    from windlass.edges.settings import load_site_name

    project = find_project_folder(Path.cwd(), os.environ)
    site = site_name or load_site_name(project, os.environ) or HERE
    return Wanted(project=project, site=site, flags=flags)
