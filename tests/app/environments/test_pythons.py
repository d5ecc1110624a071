"""requires-python of a project: a site's Python that it does not admit is told before anything is built."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Places
from windlass.app.environments.building import build_environment
from windlass.app.environments.locking import lock_resolved
from windlass.app.environments.seen import read_recipe
from windlass.app.planning import Wanted, plan_run
from windlass.app.session import Session
from windlass.core.run import Environment
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import EnvironmentFailed, PlanError

_RUN_FILE = '[run]\ncommand = "python train.py"\n[resources]\ntime = "1m"\n[environment]\nvenv = "pyproject.toml"\n'
_SAYS = "pyproject.toml:3 requires Python >=3.98"
# Environment Modules as far as they are asked; this machine may have an Lmod of its own.
_MODULES = """unset LMOD_VERSION BASH_ENV
module() { [ "$1" = avail ] && printf '%s\\n' python/3.9.1 python/3.99.4 python/3.97; return 0; }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "mine"\nrequires-python = ">=3.98"\ndependencies = []\n')
    (folder / "windlass.toml").write_text(_RUN_FILE)
    (folder / "train.py").write_text("print(1)\n")
    return folder


@pytest.fixture
def session(places: Places, tmp_path: Path) -> Iterator[Session]:
    software = f'[software]\nslurm_path = "@pocket"\nmodules = "tcl"\nwheelhouse = "{tmp_path}"\n'
    add_site("lab", f'root = "{tmp_path}/root"\n{software}', find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


def refuse(session: Session, project: Path) -> EnvironmentFailed:
    site = session.site("lab")
    recipe = read_recipe(Environment(venv="pyproject.toml"), site, project)
    assert recipe is not None
    with pytest.raises(EnvironmentFailed, match=f"{_SAYS}, and /.* at lab is 3") as told:
        build_environment(session, site, recipe)
    assert not Path(site.root, "envs").exists()
    return told.value


def test_a_build_is_refused_and_a_python_on_the_path_is_named(session: Session, project: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("python3.97", "python3.99", "python3.98", "python3-config"):
        (tmp_path / "bin" / name).touch(mode=0o755)
    (Path.home() / ".bash_profile").write_text(f'export PATH="$PATH:{tmp_path}/bin"\n')

    told = refuse(session, project)

    assert told.hint == '[environment]\npython = "3.99"   # python3.99 is on the PATH at lab'
    assert told.done == "nothing was built or sent"
    with pytest.raises(EnvironmentFailed, match=_SAYS):
        lock_resolved(session, session.site("lab"), Environment(venv="pyproject.toml"), project, project / "lock")


def test_so_is_a_module_and_a_plan_says_the_same(session: Session, project: Path) -> None:
    (Path.home() / ".bash_profile").write_text(_MODULES)

    told = refuse(session, project)
    planned = plan_run(session, Wanted(project=project, site="lab"))

    assert told.hint == '[environment]\nmodules = ["python/3.99.4"]'
    (finding,) = [one for one in planned.errors if one.code == "C327"]
    assert finding.message.startswith(f"{_SAYS}; at lab it would be built with 3.")
    assert finding.hint == told.hint


def test_on_ones_own_machine_the_one_that_comes_along_counts(session: Session, project: Path) -> None:
    """Nothing is built there by itself, and the run would go on with a Python that the project does not admit."""
    refused = plan_run(session, Wanted(project=project, site="here"))
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nrequires-python = ">=3.8"\ndependencies = []\n')
    taken = plan_run(session, Wanted(project=project, site="here"))

    (finding,) = [one for one in refused.errors if one.code == "C327"]
    assert finding.message.startswith(f"{_SAYS}; the environment you are in, which comes along, has 3.")
    assert not [one for one in taken.findings if one.code == "C327"]


def test_without_either_the_search_is_named(session: Session, project: Path) -> None:
    assert refuse(session, project).hint == "windlass modules find Python --on lab"


def test_a_python_of_the_run_file_that_is_not_admitted_needs_no_site(session: Session, project: Path) -> None:
    with pytest.raises(PlanError, match=f"python = '3.11', and {_SAYS}"):
        read_recipe(Environment(venv="pyproject.toml", python="3.11"), session.site("lab"), project)


def test_an_environment_that_is_there_already_is_looked_at_too(session: Session, project: Path, tmp_path: Path) -> None:
    """One whose Python was replaced has all its packages in a folder that this Python does not look into."""
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    run_file = _RUN_FILE.replace('"pyproject.toml"', f'"{tmp_path}/env"')

    def judge(python: str, made_for: str) -> list[str]:
        (project / "windlass.toml").write_text(f'{run_file}python = "{python}"\n')
        (tmp_path / "env" / "pyvenv.cfg").write_text(f"home = /usr/bin\n{made_for}\n")
        planned = plan_run(session, Wanted(project=project, site="lab"))
        return [one.message for one in planned.errors if one.code == "C321"]

    now = ".".join(map(str, sys.version_info[:3]))
    name = f"the environment {tmp_path}/env at lab"
    assert judge("3", f"version = {now}") == judge(now, f"version_info = {now}.final.0") == []
    assert judge("3.6", f"version = {now}") == [f"{name} has Python {now}; environment.python is 3.6"]
    assert judge("3", "version_info = 3.6.8") == [f"{name} was made for Python 3.6.8, and its bin/python is {now} now"]
