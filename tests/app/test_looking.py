"""Discovering, checking and probing a living site, and examining this laptop."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from windlass.app.checking_site import check_site
from windlass.app.discovering import discover_site, format_command
from windlass.app.doctoring import examine_laptop, examine_site
from windlass.app.planning import Wanted, plan_run
from windlass.app.probing import add_probe
from windlass.app.session import Session
from windlass.app.verdicts import Line, Verdict, has_failed
from windlass.core.site import GpuDialect, Login, ModuleSystem
from windlass.core.toml.layers import Flag
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import HostUnreachable, LoginNeeded

BRIEF = (Flag(key="resources.gpus", value="0"),)


def tell(lines: list[Line]) -> dict[str, str]:
    return {line.what: f"{line.verdict} {line.words}" for line in lines}


@pytest.fixture
def laptop(places: Places) -> Session:
    return Session(folders=find_folders(os.environ), environ=os.environ)


@pytest.mark.slurm
def test_a_site_file_is_drafted_from_a_living_slurm(
    slurm: SlurmCluster, places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        draft = discover_site(session, "drafted", Login(host="login"))
        add_site("drafted", draft.text, session.folders)
        site = session.site("drafted")
        (tmp_path / "project").mkdir()
        planned = plan_run(
            session,
            Wanted(
                project=tmp_path / "project",
                site="drafted",
                flags=(Flag(key="run.command", value="true"), Flag(key="resources.gpus", value="4")),
            ),
        )

    assert {one.name for one in site.partitions} == {"cpu", "gpu", "dev", "preempt"}
    assert {one.spelled for one in site.gpus} == {"a100", "v100"}
    assert {"normal", "high", "strict"} <= {one.name for one in site.qos}
    assert not site.rules.needs_account, "alice has a default account, so sbatch takes jobs without one"
    assert site.rules.gpu_dialect is GpuDialect.GRES
    assert site.software.modules is ModuleSystem.LMOD
    assert (planned.plan.partition, planned.plan.gpus_per_node) == ("gpu", 4)
    assert planned.errors == ()
    assert draft.questions > 10


def test_the_command_that_saves_a_site_names_the_way_there() -> None:
    login = Login(host="login.example.org", user="alice", jump=("gate", "inner gate"))

    assert format_command("mine", Login(host="login")) == "windlass site discover login --name mine --save"
    assert format_command("mine", login) == (
        "windlass site discover login.example.org --name mine --user alice --jump gate --jump 'inner gate' --save"
    )


@pytest.mark.slurm
def test_a_user_without_an_account_gets_a_draft_that_says_so(
    slurm: SlurmCluster, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        draft = discover_site(session, "carols", Login(host="login-carol"))

    assert "# ? needs_account =" in draft.text, "nothing follows where even the plainest job is refused"
    said = tomllib.loads(draft.text)["sources"]["rules.plain"]
    assert "Invalid account or account/partition combination specified" in said


def test_a_host_that_is_not_there_is_told(laptop: Session) -> None:
    with laptop, pytest.raises((HostUnreachable, LoginNeeded)):
        discover_site(laptop, "nowhere", Login(host="no-such-host.invalid"))


@pytest.mark.parametrize("session", ENGINES, indirect=True)
def test_a_site_that_is_as_it_should_be(session: Session, site_name: str) -> None:
    lines = check_site(session, site_name)

    assert not has_failed(lines), lines
    assert "all fields understood" in tell(lines)["slurm"]


@pytest.mark.parametrize("session", ["here", pytest.param("slurm-ssh", marks=pytest.mark.slurm)], indirect=True)
def test_a_test_job_tells_of_the_node_and_leaves_nothing(session: Session, site_name: str) -> None:
    lines = add_probe(session, site_name, [], BRIEF, wait_s=90)

    told = tell(lines)
    assert not has_failed(lines), lines
    assert "ran on" in told["test job"]
    assert told["clock"] == "ok agrees with this laptop's"
    assert session.store.list(limit=None) == ()
    if site_name == "slurm-ssh":
        assert told["internet"].startswith("ok none"), "the nodes of the test cluster have no route outside"
        assert "SLURM_TMPDIR" in told["local disk"]
        assert "have none, saw the last test job" in tell(check_site(session, site_name))["internet"]


@pytest.mark.slurm
@pytest.mark.parametrize("session", [pytest.param("slurm-ssh", marks=pytest.mark.slurm)], indirect=True)
def test_a_test_job_that_does_not_start_in_time_is_taken_back(session: Session, slurm: SlurmCluster) -> None:
    """Every node is taken by another job, so it can only wait."""
    slurm.run_as("bob", "sbatch --exclusive --nodes=4 --partition=dev --time=5 --wrap='sleep 120'")
    try:
        lines = add_probe(session, "slurm-ssh", [], (*BRIEF, Flag(key="resources.partition", value="dev")), wait_s=3)
    finally:
        slurm.cancel_all()

    assert [(line.verdict, line.what) for line in lines] == [(Verdict.SKIP, "test job")]
    assert "still waited" in lines[0].words
    assert session.store.list(limit=None) == ()


@pytest.mark.slurm
@pytest.mark.parametrize("session", [pytest.param("slurm-ssh", marks=pytest.mark.slurm)], indirect=True)
def test_what_the_file_says_wrongly_is_told(session: Session, slurm: SlurmCluster) -> None:
    text = (
        f'root = "{slurm.home("alice")}/w"\n[login]\nhost = "login"\n[gpu.a100]\n'
        '[node.fat]\ngpu = "a100"\ngpus = 8\n[partition.gpu]\nnodes = ["fat"]\nmax_time = "1d"\n[partition.gone]\n'
    )
    add_site("wrong", text, session.folders)

    words = [line.words for line in check_site(session, "wrong") if line.verdict is Verdict.WARN]

    assert "partition.gpu.max_time is 3 d; the file says 1 d" in words
    assert "partition.gone is written down but not there" in words
    assert any(one.startswith("node.fat.gpus is 4 x a100") for one in words)
    assert "there, but not in the file: cpu, dev, preempt" in words


def test_a_laptop_that_is_ready(laptop: Session, tmp_path: Path) -> None:
    with laptop:
        lines = examine_laptop(laptop, tmp_path)

    told = tell(lines)
    assert not has_failed(lines), lines
    assert told["project"].startswith("skip no windlass.toml")
    assert "CPUs" in told["pocket"]


def test_a_laptop_that_is_not(laptop: Session, places: Places, tmp_path: Path) -> None:
    """Each of them: a broken run file, a broken site, a key others can read, no git, a shell inside a job."""
    (tmp_path / "windlass.toml").write_text('[resources]\ngpus = "four"\n')
    (places.config / "sites").mkdir()
    (places.config / "sites" / "broken.toml").write_text("title = [")
    (places.home / ".ssh").mkdir()
    (places.home / ".ssh" / "id_ed25519").write_text("key")
    (places.home / ".ssh" / "id_ed25519").chmod(0o644)
    (tmp_path / "bin").mkdir()
    environ = {**os.environ, "PATH": str(tmp_path / "bin"), "SLURM_JOB_ID": "45"}

    with Session(folders=find_folders(environ), environ=environ) as session:
        told = [(line.verdict, line.what) for line in examine_laptop(session, tmp_path)]

    assert {
        (Verdict.FAIL, "project"),
        (Verdict.FAIL, "sites"),
        (Verdict.WARN, "ssh keys"),
        (Verdict.FAIL, "ssh"),
        (Verdict.WARN, "git"),
        (Verdict.WARN, "allocation"),
    } <= set(told)


def test_a_site_that_cannot_be_reached_is_told_with_its_vpn(laptop: Session) -> None:
    with laptop:
        add_site("far", '[login]\nhost = "no-such-host.invalid"\nvpn = "the VPN of the centre"\n', laptop.folders)
        lines = examine_site(laptop, "far")

    assert has_failed(lines)
    assert "the VPN of the centre" in tell(lines)["vpn"]


@pytest.mark.parametrize("session", [pytest.param("slurm-ssh", marks=pytest.mark.slurm)], indirect=True)
@pytest.mark.parametrize("pause_s", [0.0, 0.3, 0.8, 1.5])
def test_ctrl_c_leaves_nothing_of_a_test_job(session: Session, slurm: SlurmCluster, pause_s: float) -> None:
    """Every node is taken, so that it waits; the stop comes while it asks, or between two questions."""
    slurm.run_as("bob", "sbatch --exclusive --nodes=4 --partition=dev --time=5 --wrap='sleep 120'")
    argv = [sys.executable, "-m", "windlass", "site", "check", "slurm-ssh", "--deep", "--gpus=0", "--partition=dev"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        while "is in the queue" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        time.sleep(pause_s)
        process.send_signal(signal.SIGINT)
        said += process.stderr.read()
        code = process.wait(60)
    slurm.cancel_all()

    assert (code, "Traceback" in said) == (130, False), said
    assert session.store.list(limit=None) == ()
    root = session.facts(session.site("slurm-ssh")).root
    assert list(Path(str(root)).glob("runs/*")) == []
