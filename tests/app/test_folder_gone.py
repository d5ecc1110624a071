"""The run folder is removed under a run: `explain` and `report` say that, and not that all is well."""

import shutil
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_story import start
from tests.waiting import wait_until
from windlass.app.cancelling import cancel_runs
from windlass.app.explaining import explain_run
from windlass.app.refreshing import refresh_site
from windlass.app.reporting import report_run
from windlass.app.session import Session
from windlass.core.record import RunState


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text('[run]\nname = "lost"\ncommand = "sleep 60"\n[resources]\ntime = "2m"\n')
    return folder


@pytest.mark.parametrize("session", [ENGINES[0]], indirect=True)
def test_a_folder_that_is_gone_under_a_run_is_told(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name)
    wait_until(lambda: refresh_site(session, site_name, [record])[0].state is RunState.RUNNING, "its start")
    _, before = explain_run(session, session.store.load(record.run_id))
    has_report = report_run(session, session.store.load(record.run_id)).usage.is_folder_gone
    Path(record.folder).rename(project / "moved")
    shutil.rmtree(project / "moved", ignore_errors=True)

    now, found = explain_run(session, session.store.load(record.run_id))
    report = report_run(session, session.store.load(record.run_id))

    assert ([one.code for one in before], has_report) == ([], False)
    assert now.state is RunState.RUNNING
    assert [one.code for one in found] == ["D508"]
    assert record.folder in found[0].message
    assert found[0].hint == f"windlass cancel {record.run_id}, then windlass run"
    assert report.usage.is_folder_gone
    cancel_runs(session, [session.store.load(record.run_id)])
