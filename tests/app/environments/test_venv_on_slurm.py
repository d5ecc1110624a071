"""A module and a venv from a wheelhouse on the test cluster, through ssh: built without any network, trained in."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.environments.houses import serve_index
from tests.environments.uv_locks import lock_with_uv
from tests.environments.wheelhouse import make_wheel
from windlass import api
from windlass.app.environments.building import build_environment
from windlass.app.environments.registry import find_environment, load_log
from windlass.app.environments.seen import load_recipe
from windlass.app.planning import Wanted
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.edges.site_files import add_site

pytestmark = [pytest.mark.slurm, pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)]

SETTINGS = """
[run]
command = "python train.py"
[resources]
time = "2m"
cpus = 1
memory = "500M"
[environment]
venv = "requirements.txt"
modules = ["python/3.11"]
python = "3.11"
"""


@pytest.fixture
def house(session: Session) -> Path:
    """`venvs`: the cluster as a site with modules and a wheelhouse. The house is returned."""
    root = Path(session.site("slurm-ssh").root)
    make_wheel(root / "house", "greet", "1.5", needs=["words"])
    make_wheel(root / "house", "words", "2.0")
    offline = root / "python-without-network"
    offline.write_text('#!/bin/sh\nexec unshare --map-root-user --net python3 "$@"\n')
    offline.chmod(0o755)
    for one in (root / "house", *(root / "house").iterdir(), offline):
        shutil.chown(one, "alice")
    text = f'root = "{root}"\n[login]\nhost = "login"\n[rules]\npoll_s = 1\n[software]\nmodules = "lmod"\n'
    add_site("venvs", f'{text}wheelhouse = "{root}/house"\n', session.folders)
    return root / "house"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("greet\n")
    (folder / "windlass.toml").write_text(SETTINGS)
    (folder / "train.py").write_text(
        "import greet, os, sys\nprint('trained with', greet.VERSION, sys.prefix, os.environ['LOADEDMODULES'], "
        "os.environ['SLURMD_NODENAME'], flush=True)\n"
    )
    return folder


def test_module_and_venv_from_a_wheelhouse_without_network(session: Session, house: Path, project: Path) -> None:
    site = session.site("venvs")
    recipe = load_recipe(session, Wanted(project=project, site="venvs"))
    session.host(site)  # with a network; only the build has none
    offline = replace(site, software=replace(site.software, python=f"{house.parent}/python-without-network"))

    built = build_environment(session, offline, recipe)
    record = api.wait(api.run(project, on="venvs", session=session), session=session)

    said = api.logs(record, session=session).decode()
    assert record.state is RunState.DONE, said
    assert f"trained with 1.5 {built.path} python/3.11" in said
    assert find_environment(session, site, recipe.id).made == built.made
    assert built.modules == ("python/3.11",)
    assert b"Looking in links" in load_log(session, site, recipe.id)


def test_a_lock_of_uv_is_what_is_trained_in(session: Session, house: Path, project: Path, tmp_path: Path) -> None:
    """By uv itself. The newer one in the house is not taken."""
    for wheel in house.glob("*.whl"):
        folder = tmp_path / "index" / wheel.name.partition("-")[0]
        folder.mkdir(parents=True)
        shutil.copy(wheel, folder)
    with serve_index(tmp_path / "index") as index:
        lock_with_uv(project, index, ["greet"])
    shutil.chown(make_wheel(house, "words", "3.0"), "alice")
    (project / "windlass.toml").write_text(SETTINGS.replace("requirements.txt", "uv.lock"))
    (project / "train.py").write_text("import greet, words\nprint('trained with', greet.VERSION, words.VERSION)\n")
    wanted = Wanted(project=project, site="venvs")

    build_environment(session, session.site("venvs"), load_recipe(session, wanted))
    record = api.wait(api.run(project, on="venvs", session=session), session=session)

    said = api.logs(record, session=session).decode()
    assert record.state is RunState.DONE, said
    assert "trained with 1.5 2.0" in said


def test_every_node_makes_a_venv_of_its_own(session: Session, house: Path, project: Path) -> None:
    (project / "windlass.toml").write_text(SETTINGS + 'build = "node"\n')

    record = api.wait(
        api.run(project, on="venvs", nodes=2, launcher="srun", session=session),
        session=session,
    )

    said = api.logs(record, session=session).decode()
    assert record.state is RunState.DONE, said
    trained = [line.split() for line in said.splitlines() if line.startswith("trained with 1.5")]
    assert len({line[-1] for line in trained}) == 2
    assert len({line[3] for line in trained}) == 1
    assert not (house.parent / "envs").exists()
    _check_nodes_are_clean(session, project, made=trained[0][3])


def _check_nodes_are_clean(session: Session, project: Path, made: str) -> None:
    """The folder of that job is gone from both."""
    (project / "look.sh").write_text(f"[ -e {Path(made).parent} ] || echo clean: $SLURMD_NODENAME\n")

    record = api.run(project, on="venvs", nodes=2, launcher="srun", command="bash look.sh", session=session)

    said = api.logs(api.wait(record, session=session), session=session).decode()
    assert len({line for line in said.splitlines() if line.startswith("clean: ")}) == 2, said
