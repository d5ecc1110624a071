"""A run that is resumed finds its environment, or it is built again first; a job never waits to find nothing."""

import shutil
from pathlib import Path

import pytest

from tests.app.environments.labs import session
from windlass import api
from windlass.app.environments.registry import find_environment, remove_environments
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.errors import EnvironmentNotFound

__all__ = ["session"]
RUN_FILE = """
[run]
command = "python -c 'import greet, sys; sys.exit(3)'"
[resources]
time = "2m"
[environment]
venv = "requirements.txt"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("greet\n")
    (folder / "windlass.toml").write_text(RUN_FILE)
    return folder


@pytest.fixture
def failed(session: Session, project: Path) -> RunRecord:
    """A run whose environment was removed after it had failed."""
    record = api.wait(api.run(project, on="lab", session=session), session=session)
    assert (record.state, record.exit_code) == (RunState.FAILED, 3)
    site = session.site("lab")
    remove_environments(session, site, [find_environment(session, site, "venv-")])
    return record


def test_an_environment_that_was_removed_is_built_before_the_job_waits(session: Session, failed: RunRecord) -> None:
    said: list[str] = []
    session.tell = said.append

    again = api.wait(api.resume(failed, session=session), session=session)

    assert any(line.startswith("building   venv-") for line in said)
    assert again.exit_code == 3  # of the training itself, which found its package


def test_a_project_that_asks_for_another_is_told_and_nothing_is_sent(
    session: Session, failed: RunRecord, project: Path
) -> None:
    (project / "requirements.txt").write_text("greet==1.5\n")

    with pytest.raises(EnvironmentNotFound, match=r"not at lab any more, and .*project asks for venv-") as told:
        api.resume(failed, session=session)

    assert "nothing was submitted" in str(told.value.done)
    assert session.store.load(failed.run_id) == failed


def test_without_its_project_it_says_where_it_can_be_built(session: Session, failed: RunRecord, project: Path) -> None:
    shutil.rmtree(project)

    with pytest.raises(EnvironmentNotFound, match="its project is not on this machine"):
        api.resume(failed, session=session)
