"""`windlass.farm` from Python: a farm from its first task to its end, by every function there is."""

from pathlib import Path

import pytest

import windlass
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.errors import UsageError

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)

FLAKY = "test -e made || { touch made; echo not yet; exit 3; }"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text('[run]\nname = "many"\ncommand = "true"\n')
    return folder


def test_tasks_are_run_looked_at_tried_again_and_added(session: Session, project: Path) -> None:
    farm = windlass.farm.run(["echo hello", FLAKY], project, on="here", farm__cpus=1, session=session)
    status = windlass.farm.wait(farm, session=session)

    assert isinstance(status, windlass.farm.FarmStatus)
    assert (status.done, status.failed, status.is_over) == (1, 1, True)
    results = windlass.farm.results(farm, session=session)
    assert {task: one.state for task, one in results.items()} == {
        0: windlass.farm.TaskState.DONE,
        1: windlass.farm.TaskState.FAILED,
    }
    assert (results[1].code, results[1].last_line) == (3, "not yet")
    assert windlass.farm.logs(farm.run_id, 0, session=session) == b"hello\n"

    assert windlass.farm.retry(farm, session=session) == (1,)
    assert windlass.farm.add(farm, ["echo more"], session=session) == range(2, 3)
    assert windlass.farm.wait(farm, session=session).done == 3
    assert windlass.farm.status(farm.run_id, session=session).failed == 0
    assert windlass.farm.logs(farm, 2, session=session) == b"more\n"


def test_a_farm_is_cancelled_and_gone_on_with(session: Session, project: Path) -> None:
    farm = windlass.farm.run(["test -e made || sleep 300"] * 2, project, on="here", session=session)

    windlass.farm.cancel(farm, session=session)

    assert windlass.farm.status(farm, session=session).is_closed
    with pytest.raises(UsageError, match="is closed"):
        windlass.farm.add(farm, ["true"], session=session)
    assert not windlass.farm.wait(farm, session=session).is_over
    (Path(farm.folder) / "code" / "made").touch()
    (pilot,) = windlass.farm.resume(farm, session=session)
    assert windlass.farm.wait(farm, session=session).done == 2
    assert windlass.wait(pilot, session=session).state is RunState.DONE
