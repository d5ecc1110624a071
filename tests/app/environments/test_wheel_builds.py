"""Environments from wheels alone: a wheelhouse without any network, and wheels that came by way of the laptop."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.environments.houses import make_wheel, serve_index
from tests.environments.uv_locks import lock_with_uv
from tests.waiting import wait_until
from windlass import api
from windlass.app.environments.building import build_environment
from windlass.app.environments.locking import lock_built
from windlass.app.environments.seen import read_recipe
from windlass.app.session import Session
from windlass.core.environment import Built
from windlass.core.run import Environment, Wheels
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import UsageError, WheelsMissing

_NO_NETWORK = ("unshare", "--net")
_RUN_FILE = '[run]\ncommand = "python train.py"\n[environment]\nvenv = "requirements.txt"\n'


@pytest.fixture(autouse=True)
def _no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip knows of none but those that a test names."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def project(places: Places, tmp_path: Path) -> Path:
    text = f'root = "{places.home}/root"\n[software]\nslurm_path = "@pocket"\nwheelhouse = "{places.home}/wheelhouse"\n'
    add_site("house", text, find_folders(os.environ))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text(_RUN_FILE)
    return folder


@pytest.fixture
def session(project: Path) -> Iterator[Session]:
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


def run(words: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    """A command of ours where nothing outside of this machine, and no index, can be reached."""
    argv = [*_NO_NETWORK, sys.executable, "-m", "windlass", *words, "--on", "house"]
    return subprocess.run(argv, cwd=project, capture_output=True, text=True, check=False)


@pytest.mark.skipif(
    subprocess.run([*_NO_NETWORK, "true"], capture_output=True, check=False).returncode != 0,
    reason="network namespaces are not allowed here",
)
def test_without_a_network_it_comes_from_the_wheelhouse_and_a_wheel_that_is_gone_breaks_nothing(
    project: Path, places: Places
) -> None:
    house = places.home / "wheelhouse"
    make_wheel(house / "generic", "tree", "0.2")
    make_wheel(house / "gentoo", "net", "2.1+cc", needs=("tree",))
    (project / "requirements.txt").write_text("net==2.1\n")

    before = run(["wheels", "check"], project)
    first = run(["env", "build"], project)
    next(house.rglob("tree-*.whl")).unlink()
    after = run(["wheels", "check"], project)
    second = run(["env", "build", "--again"], project)
    (python,) = (places.home / "root" / "envs").glob("venv-*/current/bin/python")
    used = subprocess.run([python, "-c", "import net, tree; print(net.version)"], capture_output=True, text=True)

    assert (before.returncode, first.returncode) == (0, 0), before.stderr + first.stderr
    assert (after.returncode, second.returncode) == (1, 1), second.stderr
    assert "tree" in after.stdout
    assert "distribution found for tree" in second.stderr
    assert "windlass wheels check --on house" in second.stderr
    assert used.stdout == "2.1+cc\n", used.stderr


def build(session: Session, project: Path, venv: str) -> Built:
    site = session.site("house")
    environment = Environment(venv=venv, wheels=Wheels.LAPTOP)
    recipe = read_recipe(environment, site, project)
    assert recipe is not None
    return build_environment(session, site, recipe)


def test_pins_of_a_lock_are_downloaded_here_sent_and_installed_by_their_sums(
    session: Session, project: Path, places: Places, tmp_path: Path
) -> None:
    wheel = make_wheel(tmp_path / "index" / "net", "net", "2.1", needs=("tree>=0.1",))
    make_wheel(tmp_path / "index" / "tree", "tree", "0.2")
    site = session.site("house")

    with serve_index(tmp_path / "index") as address:
        lock_with_uv(project, address, ["net"])
        built = build(session, project, "uv.lock")
    environment = Environment(venv="uv.lock", wheels=Wheels.LAPTOP)
    locked = lock_built(session, site, environment, project, project / "requirements.lock")

    assert {name: built.packages[name] for name in ("net", "tree")} == {"net": "2.1", "tree": "0.2"}
    assert (places.home / "root" / "wheels" / built.id / wheel.name).is_file()
    assert [(pin.name, pin.version) for pin in locked.packages] == [("net", "2.1"), ("tree", "0.2")]


def test_a_lock_of_what_was_built_has_only_what_it_holds_itself(
    session: Session, project: Path, places: Places, tmp_path: Path
) -> None:
    """And none is made of what pip could not build again."""
    make_wheel(places.home / "wheelhouse", "net", "2.1")
    (project / "requirements.txt").write_text("net\n")
    site, environment = session.site("house"), Environment(venv="requirements.txt", system_packages=True)
    recipe = read_recipe(environment, site, project)
    assert recipe is not None

    built = build_environment(session, site, recipe)
    locked = lock_built(session, site, environment, project, project / "requirements.lock")

    assert [(pin.name, pin.version) for pin in locked.packages] == [("net", "2.1")]
    assert "net" not in built.outer
    with pytest.raises(UsageError, match="pins of a container"):
        lock_built(session, site, Environment(container="docker://net"), project, tmp_path / "other.lock")


def test_nodes_that_reach_no_index_make_it_from_wheels_that_the_laptop_sends(
    session: Session, project: Path, places: Places, tmp_path: Path
) -> None:
    make_wheel(tmp_path / "index" / "net", "net", "2.1")
    local = tmp_path / "node"
    local.mkdir()
    text = f'root = "{places.home}/root"\nlocal_scratch = "{local}"\n[software]\nslurm_path = "@pocket"\n'
    add_site("nodes", f"{text}[rules]\npoll_s = 1\ncompute_internet = false\n", find_folders(os.environ))
    (project / "windlass.toml").write_text(f'{_RUN_FILE}build = "node"\n[resources]\ntime = "2m"\n')
    (project / "train.py").write_text("import net, sys\nprint('trained with', net.version, sys.prefix)\n")

    with serve_index(tmp_path / "index") as address:
        (project / "requirements.txt").write_text(f"-i {address}\nnet==2.1\n")
        record = api.run(project, on="nodes", session=session)
    said = api.logs(api.wait(record, session=session), session=session).decode()

    assert f"trained with 2.1 {local}/windlass-{record.job_id}/windlass-venv-" in said
    # Nobody else cleans the disks of these nodes; the job does it when its last word is written.
    wait_until(lambda: not list(local.iterdir()), "the folder on the node is gone")


def test_a_job_that_reaches_no_index_builds_it_from_wheels_that_the_laptop_sends(
    session: Session, project: Path, places: Places, tmp_path: Path
) -> None:
    """Though the login node reaches one."""
    make_wheel(tmp_path / "index" / "net", "net", "2.1")
    text = f'root = "{places.home}/root"\n[software]\nslurm_path = "@pocket"\n'
    rules = "[rules]\npoll_s = 1\nlogin_internet = true\ncompute_internet = false\n"
    add_site("behind", f"{text}{rules}", find_folders(os.environ))
    (project / "windlass.toml").write_text(f'{_RUN_FILE}build = "job"\n[resources]\ntime = "2m"\n')
    (project / "train.py").write_text("import net\nprint('trained with', net.version)\n")

    with serve_index(tmp_path / "index") as address:
        (project / "requirements.txt").write_text(f"-i {address}\nnet==2.1\n")
        planned = api.plan(project, on="behind", session=session)
        record = api.run(project, on="behind", session=session)
    said = api.logs(api.wait(record, session=session), session=session).decode()

    assert "trained with 2.1" in said
    assert planned.environment is not None
    assert [(one.value, one.why) for one in planned.environment.reasons] == [
        ("laptop", "compute nodes of behind are not known to have internet")
    ]


def test_a_wheel_that_is_not_what_was_locked_is_not_sent(session: Session, project: Path, tmp_path: Path) -> None:
    make_wheel(tmp_path / "index" / "net", "net", "2.1")
    with serve_index(tmp_path / "index") as address:
        lock_with_uv(project, address, ["net"])
        make_wheel(tmp_path / "index" / "net", "net", "2.1", body="# by somebody else")

        with pytest.raises(WheelsMissing, match="not what the list of packages names") as caught:
            build(session, project, "uv.lock")

    assert "nothing was sent" in str(caught.value.done)
