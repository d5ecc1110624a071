"""`windlass shell`: a terminal on a node, as on one's own machine, and nothing of it stays."""

from pathlib import Path

import pytest

from tests.app.services.foreground import foreground
from tests.app.services.terminal import terminal
from tests.waiting import wait_until
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.edges.site_files import add_site

SETTINGS = """
[run]
command = "echo trains; sleep 300"
env = { GREETING = "from windlass.toml" }
[resources]
time = "10m"
cpus = 1
memory = "300M"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text(SETTINGS)
    return folder


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_an_idle_shell_is_warned_and_ended(session: Session, project: Path) -> None:
    with terminal("shell", "--on", "here", "--time", "5m", "--idle", "4s", cwd=project) as shell:
        shell.wait_for("a shell in a job at here")
        shell.wait_for(r"nobody has typed here, and nothing computes: in \d s this shell is ended")
        shell.wait_for("nobody has used this shell for 4 s: it is ended")
        assert shell.wait() == 124


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_command_passes_its_output_and_code_on(session: Session, project: Path) -> None:
    line = ("bash", "-c", 'echo "greeting $GREETING"; cat; exit 7')
    with foreground("shell", "--on", "here", "--time", "5m", "--", *line, cwd=project) as command:
        assert command.wait() == 7
    assert "greeting from windlass.toml\n" in command.lines


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_site_that_wants_no_shells_is_respected(session: Session, project: Path) -> None:
    add_site("strict", '[rules]\ninteractive = false\n[software]\nslurm_path = "@pocket"\n', session.folders)

    with foreground("shell", "--on", "strict", cwd=project) as command:
        assert command.wait() == 3
    assert "strict does not want a shell on its nodes" in command.said


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_a_terminal_on_a_real_node(session: Session, site_name: str, project: Path) -> None:
    record = start_run(session, plan_run(session, Wanted(project=project, site=site_name)))
    with terminal("shell", "--on", site_name, "--gpus", "1", "--time", "5m", "--memory", "500M", cwd=project) as shell:
        shell.wait_for(r"alice@node\d:\S+\$")
        shell.type('echo "[$GREETING] on $(hostname) with $CUDA_VISIBLE_DEVICES"\n')
        shell.wait_for(r"\[from windlass\.toml\] on node\d with \d")
        shell.type("stty size\n")
        shell.wait_for("30 100")
        shell.resize(44, 133)
        shell.type("sh -c 'echo begins; sleep 100'\n")
        shell.wait_for("begins\r")
        shell.press_ctrl_c_until(r"\^C(.|\s)*\$ ")
        shell.type("stty size; srun --ntasks=1 echo step $((2 + 3))\n")
        shell.wait_for("44 133")
        shell.wait_for(r"step 5\s[^$]*\$ ")  # a step reads what is typed until it has ended
        shell.type("exit 6\n")
        assert shell.wait() == 6

    def has_its_node() -> bool:
        jobs = session.cluster(session.site(site_name)).look().jobs
        return any(job.job_id == record.job_id and job.nodes is not None for job in jobs)

    wait_until(has_its_node, "the run runs", timeout_s=120)
    with foreground("shell", record.run_id, "--", "bash", "-c", 'pwd; echo "$SLURM_JOB_ID $GREETING"') as joined:
        assert joined.wait() == 0
    assert f"{record.folder}/code\n" in joined.lines
    assert f"{record.job_id} from windlass.toml\n" in joined.lines
    assert [job.job_id for job in session.cluster(session.site(site_name)).look().jobs if job.state.is_live] == [
        record.job_id
    ]
