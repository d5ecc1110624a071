"""Farms on every engine: started, grown, looked at, steered, gone on with."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from windlass.app.deeds import ACTIONS
from windlass.app.farms.adding import add_tasks, ensure_pilots
from windlass.app.farms.asking import list_pilots
from windlass.app.farms.ending import cancel_farm, resume_farm
from windlass.app.farms.looking import load_results, load_status
from windlass.app.farms.output import load_output
from windlass.app.farms.sending import pack_rows
from windlass.app.farms.starting import start_farm
from windlass.app.farms.steering import close_farm, open_farm, retry_failed, stop_tasks
from windlass.app.following import wait
from windlass.app.listing import list_runs
from windlass.app.planning import Wanted
from windlass.app.session import Session
from windlass.core.farm.rows import Task, make_row
from windlass.core.farm.values import COMMANDS, FarmNeeds, FarmStatus, TaskState
from windlass.core.record import RunRecord, RunState

pytestmark = pytest.mark.parametrize("session", ENGINES, indirect=True)

_PATIENCE_S = 120.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text('[run]\nname = "many"\ncommand = "true"\n')
    return folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")


def start(session: Session, project: Path, site_name: str, commands: list[str], **needs: object) -> RunRecord:
    wanted = Wanted(project=project, site=site_name)
    rows = [make_row(Task(command=one)) for one in commands]
    return start_farm(session, wanted, rows, kind=COMMANDS, needs=FarmNeeds(**needs), pilots=1)  # type: ignore[arg-type]


def wait_for(session: Session, record: RunRecord, holds: Callable[[FarmStatus], bool]) -> FarmStatus:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        status = load_status(session, record)
        if holds(status):
            return status
        time.sleep(0.2)
    raise AssertionError(f"it did not come to that: {status}")


def test_every_task_runs_once_and_is_recorded(session: Session, project: Path, site_name: str) -> None:
    commands = [f"echo task {number} says hello" for number in range(40)]
    commands[7] = "echo this one fails; exit 3"

    record = start(session, project, site_name, commands)
    ended = wait(session, record)

    assert ended.state is RunState.DONE, ended
    assert (ended.progress_done, ended.progress_of, ended.progress_unit) == (40, 40, "task")
    results, _ = load_results(session, record)
    assert sorted(one.task for one in results) == list(range(40))
    (failed,) = (one for one in results if one.state is not TaskState.DONE)
    assert (failed.task, failed.code, failed.last_line) == (7, 3, "this one fails")
    status = load_status(session, record)
    assert (status.total, status.done, status.failed, status.is_over) == (40, 39, 1, True)
    assert b"".join(load_output(session, record, 17)) == b"task 17 says hello\n"


def test_a_task_is_told_its_own_cores_and_not_those_of_the_pilot(
    session: Session, project: Path, site_name: str
) -> None:
    """Forty-eight tasks of one core would start forty-eight threads each."""
    told = "echo $OMP_NUM_THREADS $MKL_NUM_THREADS $SLURM_CPUS_PER_TASK $SRUN_CPUS_PER_TASK"

    record = start(session, project, site_name, [told] * 2, cpus=1)

    assert wait(session, record).state is RunState.DONE
    assert [b"".join(load_output(session, record, task)) for task in (0, 1)] == [b"1 1 1 1\n"] * 2


def test_how_many_threads_the_user_says_holds(session: Session, project: Path, site_name: str) -> None:
    with (project / "windlass.toml").open("a") as file:
        file.write('\n[run.env]\nOMP_NUM_THREADS = "3"\n')

    record = start(session, project, site_name, ["echo $OMP_NUM_THREADS"], cpus=1)

    assert wait(session, record).state is RunState.DONE
    assert b"".join(load_output(session, record, 0)) == b"3\n"


def test_tasks_are_added_while_pilots_wait_and_after_they_left(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name, ["true"] * 3)
    wait(session, record)

    added = add_tasks(session, record, pack_rows([make_row(Task(command="true"))] * 5), COMMANDS)
    (pilot,) = ensure_pilots(session, record)

    assert added == range(3, 8)
    assert pilot.farm == record.run_id
    wait(session, pilot)
    assert load_status(session, record).done == 8
    assert ensure_pilots(session, record) == []
    assert [one.run_id for one in list_pilots(session, record)] == [record.run_id, pilot.run_id]


def test_what_failed_is_tried_again_when_asked_and_only_that(session: Session, project: Path, site_name: str) -> None:
    flaky = "test -e made || { touch made; echo not yet; exit 1; }"
    record = start(session, project, site_name, ["true", flaky, "true"], cpus=1)
    wait(session, record)

    again = retry_failed(session, record)

    assert again == (1,)
    assert retry_failed(session, record) == ()
    (pilot,) = ensure_pilots(session, record)
    wait(session, pilot)
    results, cursor = load_results(session, record)
    assert [one.state for one in results if one.task == 1] == [TaskState.FAILED, TaskState.DONE]
    assert len(results) == 4
    assert load_status(session, record).done == 3
    assert load_status(session, record).failed == 0
    assert load_results(session, record, cursor) == ([], cursor)


def test_a_task_is_stopped_while_the_others_go_on(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name, ["sleep 300", "sleep 2"])
    wait_for(session, record, lambda status: status.running > 0)

    stop_tasks(session, record, [0])

    assert wait(session, record).state is RunState.DONE
    results, _ = load_results(session, record)
    assert {one.task: one.state for one in results} == {0: TaskState.STOPPED, 1: TaskState.DONE}
    status = load_status(session, record)
    assert (status.done, status.failed, status.stopped) == (1, 0, 1)
    assert retry_failed(session, record) == (0,)
    status = load_status(session, record)
    assert (status.done, status.failed, status.stopped, status.waiting) == (1, 0, 0, 1)


def test_a_cancelled_farm_gives_its_tasks_back_and_goes_on_when_resumed(
    session: Session, project: Path, site_name: str
) -> None:
    record = start(session, project, site_name, ["test -e go || sleep 300"] * 2 + ["true"] * 3)
    wait_for(session, record, lambda status: status.running > 0)

    cancel_farm(session, record)

    assert wait(session, record).state is RunState.CANCELLED
    assert ensure_pilots(session, record) == []
    Path(record.folder, "code", "go").touch()
    (pilot,) = resume_farm(session, record)
    assert wait(session, pilot).state is RunState.DONE
    results, _ = load_results(session, record)
    assert sorted(one.task for one in results if one.state is TaskState.DONE) == [0, 1, 2, 3, 4]
    assert load_status(session, record).is_over


def test_a_closed_farm_starts_no_task_any_more(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name, ["until test -e go; do sleep 0.1; done"] * 4 + ["true"] * 3)
    wait_for(session, record, lambda status: status.running > 0)

    close_farm(session, record)
    Path(record.folder, "code", "go").touch()
    wait(session, record)

    assert load_status(session, record).is_closed
    assert not load_status(session, record).running
    open_farm(session, record)
    for pilot in ensure_pilots(session, record):
        wait(session, pilot)
    assert load_status(session, record).done == 7


def test_pilots_on_several_nodes_share_one_farm(session: Session, project: Path, site_name: str) -> None:
    (project / "windlass.toml").write_text('[run]\nname = "many"\ncommand = "true"\n[resources]\nnodes = 2\n')
    rows = [make_row(Task(command=f"sleep 0.2; echo {number}")) for number in range(30)]

    wanted = Wanted(project=project, site=site_name)
    record = start_farm(session, wanted, rows, kind=COMMANDS, needs=FarmNeeds(), pilots=2)
    for pilot in list_pilots(session, record):
        wait(session, pilot)

    results, _ = load_results(session, record)
    assert sorted(one.task for one in results) == list(range(30))
    assert len({one.worker for one in results}) > 1
    assert load_status(session, record).done == 30


def test_buttons_mean_the_whole_farm(session: Session, project: Path, site_name: str) -> None:
    """Of dashboard and screen, where a farm is one run."""
    record = start(session, project, site_name, ["sleep 600"])

    said = ACTIONS["cancel"].do(session, record)

    assert said == f"farm {record.run_id} is closed, and its jobs are cancelled."
    assert load_status(session, record).is_closed
    ended = wait(session, record)
    assert [one.run_id for one in list_runs(session.store, limit=None)] == [record.run_id]
    assert f"farm {record.run_id} is open again, with jobs " in ACTIONS["resume"].do(session, ended)
    cancel_farm(session, record)
