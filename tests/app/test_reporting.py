"""A report of a real run, while it runs and after its end, on this machine and through ssh."""

from pathlib import Path

import pytest

from tests.waiting import wait_until
from windlass.app.cancelling import cancel_runs
from windlass.app.following import wait
from windlass.app.planning import Wanted, plan_run
from windlass.app.reporting import Report, advise_at_the_end, report_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.errors import WindlassError

pytestmark = pytest.mark.parametrize(
    "session", ["here", pytest.param("slurm-ssh", marks=pytest.mark.slurm)], indirect=True
)

TRAINING = """
import pathlib, time
hold = bytearray(100_000_000)
end = time.time() + 60
while time.time() < end and not pathlib.Path("stop").exists():
    time.sleep(0.1)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "story"\ncommand = "python3 train.py"\n[resources]\ntime = "2m"\ncpus = 1\nmemory = "400M"\n'
    )
    return folder


def test_it_tells_what_is_used_while_it_runs_and_afterwards(session: Session, project: Path, site_name: str) -> None:
    record = start_run(session, plan_run(session, Wanted(project=project, site=site_name)))
    found: list[Report] = []

    def is_seen() -> bool:
        try:
            found.append(report_run(session, session.store.load(record.run_id)))
        except WindlassError:  # it waits, or its folder is just being made
            return False
        return bool(found[-1].usage.gauges.nodes) and (found[-1].summary.memory_mb or 0) > 100

    wait_until(is_seen, "the first row", timeout_s=60)
    running = found[-1]
    (Path(record.folder) / "code" / "stop").touch()
    ended = wait(session, record)
    done = report_run(session, ended)

    assert running.record.state is RunState.RUNNING
    assert running.summary.asked.memory_mb == 400
    assert done.record.state is RunState.DONE
    assert (done.summary.waited_s is not None, (done.summary.ran_s or 0) > 1) == (True, True)
    assert len(done.usage.nodes) == 1
    assert (done.advice, advise_at_the_end(session, ended)) == ((), ())


def test_of_a_run_whose_folder_is_gone_only_the_record_is_known(
    session: Session, project: Path, site_name: str
) -> None:
    record = start_run(session, plan_run(session, Wanted(project=project, site=site_name)))
    wait_until((Path(record.folder) / "status.json").exists, "it runs", timeout_s=60)
    (ended,) = cancel_runs(session, [record])
    ended = wait(session, ended)
    Path(record.folder).rename(project.parent / "away")

    report = report_run(session, ended)

    assert (report.usage.plan, report.usage.gauges.nodes, report.advice) == (None, (), ())
