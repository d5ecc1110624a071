"""`windlass shell` whose own process is ended: the job behind it does not stay."""

import signal
from pathlib import Path

import pytest

from tests.app.services.foreground import foreground
from tests.app.services.ssh_site import NAME, far_site
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.services.spots import find_running_job
from windlass.app.session import Session

ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
WORDS = ("--time", "5m", "--memory", "300M", "--cpus", "1", "--", "sh", "-c", "echo begins; sleep 100")


def has_job(session: Session, site_name: str) -> bool:
    return any(job.state.is_live for job in session.cluster(session.site(site_name)).look().jobs)


def check_job_ends(session: Session, site_name: str, project: Path, number: signal.Signals) -> None:
    with foreground("shell", "--on", site_name, *WORDS, cwd=project) as shell:
        shell.wait_for("begins\n")
        assert has_job(session, site_name)
        shell.process.send_signal(number)
        assert shell.process.wait(30) == (-9 if number == signal.SIGKILL else 130)
    wait_until(lambda: not has_job(session, site_name), "its job has ended", timeout_s=30)


@pytest.mark.parametrize("session", ["here"], indirect=True)
@pytest.mark.parametrize("number", ENDS)
def test_on_this_machine_its_job_ends_with_it(session: Session, tmp_path: Path, number: signal.Signals) -> None:
    check_job_ends(session, "here", tmp_path, number)


def test_through_ssh_its_job_ends_with_it(tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    with far_site(tmp_path, places, monkeypatch) as (_, session):
        for number in ENDS:
            check_job_ends(session, NAME, tmp_path, number)


def test_through_ssh_its_job_ends_with_the_connection(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        far_site(tmp_path, places, monkeypatch) as (site, session),
        foreground("shell", "--on", NAME, *WORDS, cwd=tmp_path) as shell,
    ):
        shell.wait_for("begins\n")
        shell.process.send_signal(signal.SIGSTOP)  # as a laptop that sleeps: it can do nothing about it
        site.cut_off(session)
        site.come_back()
        wait_until(lambda: not has_job(session, NAME), "its job has ended", timeout_s=30)
        shell.process.send_signal(signal.SIGCONT)
        assert shell.process.wait(60) == 255


def check_step_ends(session: Session, site_name: str, project: Path) -> None:
    """Of a shell beside a run; the run goes on."""
    (project / "windlass.toml").write_text('[run]\ncommand = "sleep 200"\n[resources]\ntime = "5m"\ncpus = 1\n')
    record = start_run(session, plan_run(session, Wanted(project=project, site=site_name)))
    wait_until(lambda: find_running_job(session, record) is not None, "the run runs", timeout_s=90)
    with foreground("shell", record.run_id, "--", "sh", "-c", "echo begins $$; sleep 100") as shell:
        pid = shell.wait_for("begins").split()[1]
        assert Path("/proc", pid).exists()
        shell.process.kill()
    wait_until(lambda: not Path("/proc", pid).exists(), "what was started in it has ended")
    assert has_job(session, site_name)


def test_beside_a_run_it_ends_with_its_own_process_and_the_run_goes_on(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    with far_site(tmp_path, places, monkeypatch) as (_, session):
        check_step_ends(session, NAME, tmp_path)


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_beside_a_run_of_a_real_cluster_it_ends_with_its_own_process(
    session: Session, site_name: str, tmp_path: Path
) -> None:
    check_step_ends(session, site_name, tmp_path)


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_on_a_real_cluster_its_job_ends_with_it(
    session: Session, site_name: str, tmp_path: Path, number: signal.Signals
) -> None:
    check_job_ends(session, site_name, tmp_path, number)
