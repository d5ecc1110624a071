"""A session of Windlass on each engine: pocket, real Slurm on this machine, real Slurm through ssh and a jump host."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from windlass.app.session import Session
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site

ENGINES = [
    "here",
    pytest.param("slurm-local", marks=pytest.mark.slurm),
    pytest.param("slurm-ssh", marks=pytest.mark.slurm),
]

_POCKET_TOML = "idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n"


@pytest.fixture
def session(request: pytest.FixtureRequest, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """Parametrize indirectly with a name of ENGINES; the site's name is `session.site_name`."""
    name: str = request.param
    root: Path | None = None
    if name == "here":
        (places.pocket / "pocket.toml").write_text(_POCKET_TOML)
    else:
        slurm: SlurmCluster = request.getfixturevalue("slurm")
        slurm.reset()
        root = _make_root(slurm, name)
        monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
        add_site(name, _make_site(name, root), find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    if name == "here" and (places.pocket / "bin").exists():
        subprocess.run([places.pocket / "bin" / "scancel", "--me"], check=False, capture_output=True)
    if root is not None:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def site_name(request: pytest.FixtureRequest) -> str:
    name: str = request.node.callspec.params["session"]
    return name


def _make_site(name: str, root: Path) -> str:
    login = '[login]\nhost = "login"\n' if name == "slurm-ssh" else ""
    return f'root = "{root}"\n{login}[rules]\npoll_s = 1\n'


def _make_root(slurm: SlurmCluster, name: str) -> Path:
    owner = "alice" if name == "slurm-ssh" else "root"
    root = slurm.root / "home" / f"story-{os.getpid()}"
    root.mkdir(exist_ok=True)
    shutil.chown(root, owner)
    return root
