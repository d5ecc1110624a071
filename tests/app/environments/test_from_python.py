"""The environments of a site by the functions of `windlass.env`."""

from pathlib import Path

import pytest

import windlass
from tests.app.environments.labs import session
from windlass.app.session import Session
from windlass.errors import EnvironmentNotFound, UsageError

__all__ = ["session"]
_RUN_FILE = '[run]\ncommand = "python train.py"\n[resources]\ntime = "2m"\n[environment]\nvenv = "requirements.txt"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("greet==1.5\n")
    (folder / "windlass.toml").write_text(_RUN_FILE)
    return folder


def test_one_is_built_shown_packed_locked_and_removed(session: Session, project: Path, tmp_path: Path) -> None:
    env = windlass.env
    built = env.build(project, on="lab", session=session)

    assert built.packages["greet"] == "1.5"
    assert env.build(project, on="lab", session=session) == built  # what is there is not built anew
    assert env.show(project=project, on="lab", session=session) == env.show(built.id[:8], on="lab", session=session)
    assert b"greet" in env.log(built.id, on="lab", session=session)
    assert [one.id for one in env.ls("lab", session=session).environments] == [built.id]
    assert env.pack(on="lab", project=project, session=session).id == built.id
    locked = env.lock(on="lab", built=True, to=tmp_path / "lock.txt", project=project, session=session)
    assert [(one.name, one.version) for one in locked.packages] == [("greet", "1.5")]
    with pytest.raises(UsageError, match="did not write it"):
        env.lock(on="lab", to=project / "requirements.txt", project=project, session=session)
    assert not env.images("lab", session=session)
    assert not env.verify(on="lab", session=session)
    for ask in (env.show, env.log, env.pack):
        with pytest.raises(EnvironmentNotFound, match="no environment ''"):  # a variable that is not set
            ask("", on="lab", project=project, session=session)
    with pytest.raises(EnvironmentNotFound, match="no environment ''"):
        env.verify("", on="lab", session=session)
    [(verified, problem)] = env.verify(built.id, on="lab", session=session)
    assert (verified.id, problem) == (built.id, "it is no image of ours")
    [removed] = env.rm(built.id, on="lab", session=session)
    assert removed.id == built.id
    with pytest.raises(EnvironmentNotFound):
        env.show(built.id, on="lab", session=session)


def test_where_a_job_builds_it_it_is_waited_for(session: Session, project: Path) -> None:
    (project / "windlass.toml").write_text(f'{_RUN_FILE}build = "job"\n')

    assert windlass.env.build(project, on="lab", session=session).packages["greet"] == "1.5"
