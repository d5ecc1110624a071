"""Hours on a real engine: counted, shown, and kept to what the user set."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_queues import budget
from tests.app.test_story import TRAINING, make_planned, start, wait_for_words
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.budgets.spending import look_at_spending
from windlass.app.cancelling import cancel_runs
from windlass.app.explaining import explain_run
from windlass.app.following import wait
from windlass.app.refreshing import refresh_site
from windlass.app.resuming import resume_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.spending.amounts import read_amount
from windlass.core.spending.uses import RunUse
from windlass.errors import CheckFailed

ON_POCKET = pytest.mark.parametrize("session", [ENGINES[0]], indirect=True)
ON_SLURM = pytest.mark.parametrize("session", [ENGINES[2]], indirect=True)
ON_BOTH = pytest.mark.parametrize("session", [ENGINES[0], ENGINES[2]], indirect=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    write(folder, "")
    return folder


def write(project: Path, limits: str) -> None:
    (project / "windlass.toml").write_text(
        '[run]\nname = "frugal"\ncommand = "python3 train.py 3000"\n'
        '[resources]\ntime = "3m"\nlink_time = "2m"\ncpus = 1\nmemory = "200M"\n'
        f'[checkpoint]\nfolder = "checkpoints"\nnotice = "3s"\n[budget]\nover = "warn"\n{limits}\n'
    )


def load_step(folder: str) -> int:
    return int(json.loads((Path(folder) / "code" / "checkpoints" / "state.json").read_text())["step"])


def look(session: Session, site_name: str, record: RunRecord) -> RunUse:
    (used,) = look_at_spending(session, site_name, runs=[record.run_id]).spending.runs
    return used


@ON_BOTH
def test_a_chain_stops_by_itself_when_its_own_hours_are_used_up(
    session: Session, project: Path, site_name: str
) -> None:
    write(project, 'run = "0.004 core-h"')  # 14 seconds of one core

    record = wait(session, start(session, project, site_name))

    assert (record.state, record.link) == (RunState.OUT_OF_BUDGET, 1)
    assert record.reason == "its budget of 0.004 core-h is used up"
    assert 8 < (record.spent_s or 0) < 25
    assert load_step(record.folder) > 20
    wait_until(lambda: not look(session, site_name, record).is_live, "Slurm to see that it has ended")
    used = look(session, site_name, record)
    assert (used.links_left, used.still) == (0, 0)
    assert 0.002 < used.core_hours < 0.02
    (why,) = explain_run(session, record)[1][:1]
    assert (why.code, why.hint) == ("D311", f'windlass resume {record.run_id} --budget "0.008 core-h"')


@ON_POCKET
def test_a_resume_is_refused_until_the_limit_is_higher(session: Session, project: Path, site_name: str) -> None:
    write(project, 'run = "0.003 core-h"')
    record = wait(session, start(session, project, site_name))

    with pytest.raises(CheckFailed, match="is used up") as refused:
        resume_run(session, record)
    again = resume_run(session, record, budget=read_amount("1 core-h"))

    assert refused.value.hint == f'windlass resume {record.run_id} --budget "0.006 core-h"'
    assert [one.hours for one in again.limits] == [1.0]
    wait_for_words(session, again, b"link 2 starts at step")
    (limit,) = look_at_spending(session, site_name).limits
    assert (limit.of, limit.limit.hours) == (record.run_id, 1.0)
    assert limit.used > 0
    assert cancel_runs(session, [again])[0].state is RunState.CANCELLED


@ON_BOTH
def test_runs_of_a_name_are_asked_to_save_and_stop_when_the_month_is_used_up(
    session: Session, project: Path, site_name: str
) -> None:
    write(project, 'month = "0.002 core-h"')  # 7 seconds
    name = f"month-{time.time():.0f}"  # on a cluster that stays up, earlier runs of a name count
    told: list[str] = []
    session.tell = told.append

    record = wait(session, start(session, project, site_name, run__name=name))

    assert record.state is RunState.OUT_OF_BUDGET
    assert (record.reason or "").startswith("budget.month of 0.002 core-h is used up")
    assert load_step(record.folder) > 0
    assert any("was asked to save and stop" in line for line in told)
    assert [one.code for one in make_planned(session, project, site_name, run__name=name).errors] == ["C705"]
    with pytest.raises(CheckFailed, match=r"budget\.month"):
        resume_run(session, record)


@ON_POCKET
def test_who_could_not_be_asked_to_stop_is_asked_again(
    session: Session, project: Path, site_name: str, places: Places
) -> None:
    write(project, 'month = "0.002 core-h"')
    told: list[str] = []
    session.tell = told.append
    record = start(session, project, site_name)
    wait_for_words(session, record, b"link 1 starts")
    broken = _break_scancel(session, places)
    record = _look_until(session, record, lambda one: bool(told))

    assert record.over_budget is None
    assert "goes on although budget.month of 0.002 core-h is used up" in told[0]
    assert "controller does not answer; the next look tries again" in told[0]
    assert not any("was asked to save and stop" in line for line in told)

    broken.unlink()
    record = wait(session, record)

    assert record.state is RunState.OUT_OF_BUDGET
    assert "was asked to save and stop" in told[-1]


@ON_POCKET
def test_a_training_that_does_not_stop_when_the_month_is_used_up_is_ended(
    session: Session, project: Path, site_name: str
) -> None:
    (project / "train.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\ntime.sleep(170)\n"
    )
    write(project, 'month = "0.002 core-h"')
    told: list[str] = []
    session.tell = told.append

    record = wait(session, start(session, project, site_name))

    assert record.state is RunState.OUT_OF_BUDGET
    assert record.ended is not None
    assert record.ended - (record.started or 0) < 60
    assert any("has not stopped within 3 s" in line and "it was cancelled" in line for line in told)


def _break_scancel(session: Session, places: Places) -> Path:
    """As where the controller does not answer, for as long as that file is there."""
    sign, real = places.pocket / "scancel-is-broken", places.pocket / "bin" / "scancel"
    session.site("here")
    kept = real.rename(real.with_name("scancel.real"))
    said = "scancel: error: Kill job error on job id 1: Unable to contact slurm controller (connect failure)"
    real.write_text(f"#!/bin/sh\n[ ! -e {sign} ] || {{ echo '{said}' >&2; exit 1; }}\nexec {kept} \"$@\"\n")
    real.chmod(0o755)
    sign.touch()
    return sign


def _look_until(session: Session, record: RunRecord, is_there: Callable[[RunRecord], bool]) -> RunRecord:
    deadline = time.monotonic() + 60
    while not is_there(record):
        assert time.monotonic() < deadline
        record = refresh_site(session, record.site, [record])[0]
        time.sleep(0.3)
    return record


@ON_SLURM
def test_an_account_with_a_budget_shows_what_is_left_and_what_is_still_to_come(
    session: Session, project: Path, site_name: str
) -> None:
    with budget("small-lab", "cpu=600,gres/gpu=120"):
        record = start(session, project, site_name, resources__account="small-lab")
        wait_for_words(session, record, b"link 1 starts")
        before = session.host(session.site(site_name)).round_trips
        spending = look_at_spending(session, site_name).spending
        asked = session.host(session.site(site_name)).round_trips - before
        cancel_runs(session, [record])
        _wait_until_gone(session, site_name)

    assert asked == 1
    lab = next(one for one in spending.accounts if (one.account, one.unit) == ("small-lab", "core-hours"))
    assert (lab.limit, lab.source) == (10, "sshare")
    # One link of two minutes runs, and one waits.
    assert 0.04 < (lab.still or 0) < 0.07
    assert lab.left_then == pytest.approx((lab.left or 0) - (lab.still or 0))
    mine = next(one for one in spending.runs if one.run_id == record.run_id)
    assert (mine.links_left, mine.is_live, mine.account) == (1, True, "small-lab")


def _wait_until_gone(session: Session, site_name: str) -> None:
    """An account with a job cannot be deleted."""
    cluster = session.cluster(session.site(site_name))
    deadline = time.monotonic() + 60
    while any(job.state.is_live for job in cluster.look().jobs):
        assert time.monotonic() < deadline
        time.sleep(0.3)
