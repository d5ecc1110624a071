"""Passwords of private indexes: they stay on the laptop, or nothing is sent."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.transfers import make_local_site
from tests.conftest import Places
from tests.environments.houses import make_wheel, serve_index
from windlass.app.environments.building import prepare_request
from windlass.app.environments.prefetching import PrefetchOptions, prefetch
from windlass.app.environments.seen import read_recipe
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import refuse_passwords, start_run
from windlass.app.session import Session
from windlass.core.facts import Facts
from windlass.core.run import Environment, Wheels
from windlass.edges.folders import find_folders
from windlass.errors import CheckFailed

_WORD = "hunter22hunter"
_RUN_FILE = (
    '[run]\ncommand = "python3 train.py"\n[resources]\ntime = "2m"\n'
    '[environment]\nvenv = "requirements.txt"\nwheels = "laptop"\n'
)


@pytest.fixture(autouse=True)
def _no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip knows of none but those that a test names."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "deps").mkdir(parents=True)
    (folder / "windlass.toml").write_text(_RUN_FILE)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "requirements.txt").write_text("-r deps/base.in\n")
    (folder / "deps" / "base.in").write_text(f"net\n-i https://ada:{_WORD}@pypi.lab.org/all\n")
    return folder


@pytest.fixture
def session(places: Places) -> Iterator[Session]:
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


def plan(session: Session, project: Path) -> Planned:
    return plan_run(session, Wanted(project=project, site="narval"), known=Facts(root="/scratch/ada/windlass"))


def test_a_file_with_one_is_named_before_anything_is_sent(session: Session, project: Path) -> None:
    planned = plan(session, project)

    for send in (
        lambda: start_run(session, planned),
        lambda: prefetch(session, planned, PrefetchOptions()),
        lambda: refuse_passwords(planned.site, planned.spec, planned.snapshot),  # resume --update-code
    ):
        with pytest.raises(CheckFailed) as refused:
            send()
        said = " ".join(refused.value.details)
        assert "C533  deps/base.in:2 holds a password for pypi.lab.org" in said
        assert 'exclude = ["deps/base.in"]' in said
        assert _WORD not in said
        assert refused.value.done == "nothing was sent"


def test_what_stays_at_home_is_no_concern(session: Session, project: Path) -> None:
    (project / ".windlassignore").write_text("/deps\n")

    planned = plan(session, project)

    assert "C533" not in [one.code for one in planned.findings]
    assert planned.environment is not None
    assert planned.environment.recipe.files["requirements.txt"] == "net\n"


def test_by_reference_packages_come_and_nothing_that_is_sent_has_it(
    session: Session, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(tmp_path / "index" / "net", "net", "2.1")
    monkeypatch.setenv("INDEX_USER", "ada")
    monkeypatch.setenv("INDEX_TOKEN", _WORD)
    site = make_local_site(tmp_path / "root")
    with serve_index(tmp_path / "index", login=f"ada:{_WORD}") as address:
        by_name = address.replace("://", "://${INDEX_USER}:${INDEX_TOKEN}@")
        (project / "deps" / "base.in").write_text(f"net\n-i {by_name}\n")
        recipe = read_recipe(Environment(venv="requirements.txt", wheels=Wheels.LAPTOP), site, project)
        assert recipe is not None
        request = prepare_request(session, site, recipe)

    assert _WORD not in str(request)
    assert not any(_WORD in base64.b64decode(one).decode() for one in request["files"].values())
    files = [path for path in (tmp_path / "root").rglob("*") if path.is_file()]
    assert "net-2.1-py3-none-any.whl" in [path.name for path in files]
    assert [path for path in files if _WORD.encode() in path.read_bytes()] == []
