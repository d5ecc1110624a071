"""Environments built for real: venvs from a wheelhouse, by `run` and over ssh; a build that breaks or is stopped."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.environments.builds import ID, is_alive
from tests.app.transfers import make_ssh_site, open_site
from tests.conftest import Places
from tests.edges.sshd import run_sshd
from tests.environments.wheelhouse import make_wheel
from tests.waiting import wait_until
from windlass import api
from windlass.app.environments.building import build_environment
from windlass.app.environments.ensuring import ensure_environment
from windlass.app.environments.registry import find_environment, list_environments, load_log, remove_environments
from windlass.app.environments.seen import read_recipe
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.app.working import LongWork, follow_there
from windlass.core.environment import Recipe
from windlass.core.run import Environment
from windlass.core.site import Site
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import CheckFailed, EnvironmentFailed, EnvironmentInUse, EnvironmentNotFound, Interrupted
from windlass_job import wire


@pytest.fixture
def house(tmp_path: Path) -> Path:
    make_wheel(tmp_path / "house" / "generic", "greet", "1.5", needs=["words"])
    make_wheel(tmp_path / "house", "words", "2.0")
    return tmp_path / "house"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("greet==1.5\n")
    (folder / "windlass.toml").write_text(
        '[run]\ncommand = "python train.py"\n[resources]\ntime = "2m"\n[environment]\nvenv = "requirements.txt"\n'
        'activate = "export INSIDE=$VIRTUAL_ENV"\n'
    )
    (folder / "train.py").write_text(
        "import greet, os, sys, time\nassert os.environ['INSIDE'] == sys.prefix\n"
        "print('trained with', greet.VERSION, sys.prefix, flush=True)\n"
        "time.sleep(float(sys.argv[1]) if sys.argv[1:] else 0)\n"
    )
    return folder


@pytest.fixture
def session(tmp_path: Path, places: Places, house: Path) -> Iterator[Session]:
    """`lab`: pocket as a site of its own, so that a run builds what it wants."""
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    text = (
        f'root = "{tmp_path}/root"\n[software]\nslurm_path = "@pocket"\nwheelhouse = "{house}"\n[rules]\npoll_s = 1\n'
    )
    add_site("lab", text, find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    subprocess.run([places.pocket / "bin" / "scancel", "--me"], check=False, capture_output=True)


def test_a_run_builds_its_environment_once_and_trains_in_it(
    session: Session, project: Path, tmp_path: Path, house: Path
) -> None:
    missing = plan_run(session, Wanted(project=project, site="lab")).environment
    with pytest.raises(CheckFailed, match="C301"):
        run_without_building(session, project)
    first = api.wait(api.run(project, on="lab", session=session), session=session)
    (built,) = list_environments(session, session.site("lab"))
    second = api.run(project, on="lab", command="python train.py 60", session=session)

    prefix = tmp_path / "root" / wire.ENVS / built.id / "build-1"
    assert f"trained with 1.5 {prefix}" in api.logs(first, session=session).decode()
    assert (built.packages["greet"], built.packages["words"], built.path) == ("1.5", "2.0", str(prefix))
    assert built.python is not None
    assert built.python.startswith("3.")
    assert missing is not None
    assert built.files >= missing.needs_files > 1000
    assert [one.id for one in list_environments(session, session.site("lab"))] == [built.id]

    with pytest.raises(EnvironmentInUse, match=second.run_id):
        remove_environments(session, session.site("lab"), [built])
    api.cancel(second, session=session)
    _check_a_wheel_that_is_gone(session, house, built.id, prefix)
    _check_another_python(prefix)
    remove_environments(session, session.site("lab"), [built])
    assert not prefix.exists()
    with pytest.raises(EnvironmentNotFound):
        find_environment(session, session.site("lab"), built.id)


def run_without_building(session: Session, project: Path) -> None:
    wanted = Wanted(project=project, site="lab", may_build=False)
    start_run(session, ensure_environment(session, wanted, plan_run(session, wanted)))


def _check_a_wheel_that_is_gone(session: Session, house: Path, env_id: str, prefix: Path) -> None:
    """Built again without it: the first failing line, and the old one still works."""
    (house / "words-2.0-py3-none-any.whl").unlink()
    recipe = make_recipe(session.site("lab"), prefix)
    assert recipe.id == env_id

    with pytest.raises(
        EnvironmentFailed, match=r"Could not find a version that satisfies the requirement words"
    ) as told:
        build_environment(session, session.site("lab"), recipe, again=True)

    assert "windlass wheels check --on lab" in str(told.value.hint)
    assert b"words" in load_log(session, session.site("lab"), env_id)
    assert sorted(one.name for one in prefix.parent.glob("build-*")) == ["build-1"]
    done = subprocess.run([prefix.parent / "current" / "bin" / "greet"], capture_output=True, text=True, check=True)
    assert done.stdout == "greet 1.5\n"


def make_recipe(site: Site, prefix: Path) -> Recipe:
    recipe = read_recipe(Environment(venv="requirements.txt"), site, prefix.parents[3] / "project")
    assert recipe is not None
    return recipe


def _check_another_python(prefix: Path) -> None:
    """As after an upgrade of the system, or with another module: the job says so and does not start."""
    check = prefix / "windlass-check"
    subprocess.run(["bash", check], check=True)
    check.write_text(check.read_text().replace("built=3", "built=2"))

    done = subprocess.run(["bash", check], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "windlass: the environment was built for Python 2." in done.stderr
    assert ", and this job has Python 3." in done.stderr


def test_a_job_builds_it_where_that_is_wanted(
    session: Session, project: Path, tmp_path: Path, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the root is named by a variable that is another one in jobs: the login node's counts."""
    monkeypatch.setenv("LAB_SCRATCH", str(tmp_path))
    text = (
        f'root = "$LAB_SCRATCH/far"\n[software]\nslurm_path = "@pocket"\nmodules = "lmod"\n'
        f'wheelhouse = "{house}"\n[rules]\npoll_s = 1\n'
    )
    Path.home().joinpath(".bash_profile").write_text(
        f'[ -z "$SLURM_JOB_ID" ] || export LAB_SCRATCH={tmp_path}/elsewhere\n'
    )
    add_site("far", text, find_folders(os.environ))
    text = (project / "windlass.toml").read_text()
    (project / "windlass.toml").write_text(f'{text}build = "job"\n')

    record = api.wait(api.run(project, on="far", session=session), session=session)

    assert "trained with 1.5" in api.logs(record, session=session).decode()
    assert sorted(one.name for one in api.ps(session=session)) == ["build-venv", "project"]
    assert not (tmp_path / "elsewhere").exists()


def test_over_ssh_it_is_built_behind_the_connection(
    tmp_path: Path, places: Places, house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_text("greet\n")
    with run_sshd(tmp_path / "sshd") as server:
        monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(server.config))
        site = make_ssh_site(tmp_path / "root")
        site = replace(site, software=replace(site.software, wheelhouse=str(house)))
        recipe = read_recipe(Environment(venv="requirements.txt"), site, tmp_path)
        assert recipe is not None
        said: list[str] = []
        with open_site(site) as session:
            built = build_environment(session, site, recipe, progress=lambda lines, words: said.append(words))

    assert built.packages["greet"] == "1.5"
    assert any(said)


def test_a_build_that_is_stopped_is_ended_there_too(session: Session, project: Path, tmp_path: Path) -> None:
    script = 'echo "going on"; echo $$ > "$WINDLASS_PREFIX/pid"; sleep 300'
    request = {"verb": "build-env", "root": str(tmp_path / "root"), "id": ID, "script": script}
    pid = tmp_path / "root" / wire.ENVS / ID / "build-1" / "pid"
    seen: list[int] = []

    def show(look: object) -> None:
        if pid.exists() and pid.read_text().endswith("\n"):
            seen.append(int(pid.read_text()))
            raise KeyboardInterrupt

    site = session.site("lab")
    long = LongWork(host=session.host(site), request=request, show=show, killed=EnvironmentFailed, hint="")
    with pytest.raises(Interrupted):
        follow_there(session, site, long)

    wait_until(lambda: not is_alive(seen[0]) and not pid.parent.exists(), what="the build to end", timeout_s=20)
