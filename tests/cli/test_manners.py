"""Manners of the command line: streams, exit codes, JSON, suggestions, colour."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass
from tests.cluster.cluster import SlurmCluster
from windlass.cli.main import COMMANDS


def read_json(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    document = json.loads(done.stdout)
    assert document["version"] == 1
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_a_sentence(windlass: Windlass, name: str) -> None:
    done = windlass(name, "--help")

    assert done.returncode == 0
    assert f"windlass {name}" in done.stdout
    assert len(done.stdout.splitlines()) > 3


def test_data_goes_to_stdout_and_talk_to_stderr(windlass: Windlass) -> None:
    done = windlass("run", "--command", "echo only-data", "--name", "quiet")

    assert done.stdout == "only-data\n"
    assert "submitted" in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--version",), 0),
        (("nosuch",), 2),
        (("run", "--nosuch"), 2),
        (("run",), 2),  # no command is known
        (("run", "--command", "true", "--nodes", "four"), 2),
        (("run", "--command", "true", "--launcher", "nosuch"), 3),
        (("run", "--command", "true", "--set", "run.env.API_KEY=0123456789abcdef"), 3),
        (("plan", "--command", "true", "--on", "nosuch"), 6),
        (("logs", "nosuch"), 6),
        (("explain", "E999"), 6),
        (("run", "--command", "exit 3"), 7),
        (("login", "here"), 2),
        (("rm", "nosuch", "-y"), 6),
    ],
)
def test_exit_codes(windlass: Windlass, args: tuple[str, ...], code: int) -> None:
    done = windlass(*args)

    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_wait_fails_when_the_job_failed(windlass: Windlass) -> None:
    run_id = windlass("run", "--command", "exit 3", "-d").stdout.strip()

    assert windlass("wait", run_id).returncode == 7


@pytest.mark.slurm
def test_a_refusal_by_slurm_is_exit_code_5(windlass: Windlass, slurm: SlurmCluster) -> None:
    env = {"WINDLASS_SSH_CONFIG": str(slurm.ssh_config)}
    windlass("site", "add", "real", "--host", "login-direct", "--root", "$HOME/refused")

    wish = ("--command", "true", "--set", "resources.reservation=nosuch", "--force")  # our own check would say so first
    done = windlass("run", "--on", "real", *wish, env=env)

    assert done.returncode == 5, done.stderr
    assert "Requested reservation is invalid" in done.stderr
    assert "nothing was submitted" in done.stderr
    assert read_json(windlass("ps", "--json"))["runs"] == []


@pytest.mark.parametrize(
    "args",
    [
        ("ps",),
        ("sites",),
        ("site", "show", "here"),
        ("plan", "--command", "true"),
        ("config", "--command", "true"),
        ("explain", "E301"),
    ],
)
def test_json_on_every_command_that_shows_data(windlass: Windlass, args: tuple[str, ...]) -> None:
    before, after = windlass("--json", *args), windlass(*args, "--json")

    assert read_json(before)["ok"] is True
    assert read_json(after).keys() == read_json(before).keys()


def test_errors_are_json_too(windlass: Windlass) -> None:
    done = windlass("logs", "nosuch", "--json")

    error = read_json(done)["error"]
    assert isinstance(error, dict)
    assert (error["code"], done.returncode) == ("E501", 6)


def test_all_problems_of_the_run_file_at_once(windlass: Windlass, project: Path) -> None:
    (project / "windlass.toml").write_text('[run]\ncommand = "true"\n[resources]\ngpus = "four"\ngpuz = 1\n')

    done = windlass("run")

    assert "windlass.toml:4" in done.stderr
    assert "windlass.toml:5" in done.stderr
    assert 'did you mean "gpus"?' in done.stderr


def test_config_tells_where_each_value_came_from(windlass: Windlass, project: Path) -> None:
    (project / "windlass.toml").write_text('[run]\ncommand = "true"\n[resources]\nnodes = 1\n')

    done = windlass("config", "--origin", "--cpus", "2", env={"WINDLASS_RESOURCES_TIME": "2h"})

    assert "windlass.toml:4" in done.stdout
    assert "flag --cpus" in done.stdout
    assert "WINDLASS_RESOURCES_TIME" in done.stdout


def test_a_command_is_suggested(windlass: Windlass) -> None:
    assert "did you mean `windlass cancel`?" in windlass("cancell").stderr


def test_a_run_is_suggested(windlass: Windlass) -> None:
    windlass("run", "--command", "true", "--name", "digits", "-d")

    assert "digits" in windlass("logs", "digit-x").stderr


def test_no_colour_unless_asked(windlass: Windlass) -> None:
    assert "\x1b" not in windlass("nosuch").stderr
    assert "\x1b" in windlass("nosuch", env={"FORCE_COLOR": "1"}).stderr
    assert "\x1b" not in windlass("nosuch", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stderr


def test_rm_does_not_remove_without_a_yes(windlass: Windlass) -> None:
    run_id = windlass("run", "--command", "true", "-d").stdout.strip()
    windlass("wait", run_id)

    assert windlass("rm", run_id).returncode == 2
    assert windlass("rm", run_id, "--yes").returncode == 0
    assert windlass("logs", run_id).returncode == 6


def test_init_writes_a_file_that_runs(windlass: Windlass, project: Path) -> None:
    (project / "train.py").write_text("import sys\nprint('trained')\n")

    assert windlass("init").returncode == 0
    assert windlass("init").returncode == 2
    text = (project / "windlass.toml").read_text().replace("python train.py", "python3 train.py")
    (project / "windlass.toml").write_text(text)

    assert windlass("run").stdout == "trained\n"


def test_a_strangers_script_runs_on_pocket(windlass: Windlass, project: Path) -> None:
    (project / "job.sh").write_text("#!/bin/bash\n#SBATCH --time=1\n#SBATCH --output=out.txt\necho $SLURM_JOB_NAME\n")

    done = windlass("pocket", "sbatch", "--wait", "job.sh")

    assert "Submitted batch job 1" in done.stdout
    assert (project / "out.txt").read_text() == "job.sh\n"


def test_completion_is_a_static_script(windlass: Windlass) -> None:
    done = windlass("completion", "bash")

    assert "windlass" in done.stdout
    assert subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=False).returncode == 0
    assert "python" not in done.stdout.lower().replace("python api", "")


@pytest.mark.usefixtures("places")
def test_a_closed_pipe_is_no_error(project: Path) -> None:
    line = f"{sys.executable} -m windlass plan --command true --script | head -1"
    done = subprocess.run(["bash", "-c", line], cwd=project, capture_output=True, text=True, check=False)

    assert done.stdout.startswith("#!/bin/bash")
    assert "Traceback" not in done.stderr


def test_windlass_alone_shows_its_help(windlass: Windlass) -> None:
    done = windlass()

    assert "Commands:" in done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize("group", ["container", "data", "env", "farm", "sweep"])
def test_help_tells_of_each_verb_in_a_whole_sentence(windlass: Windlass, group: str) -> None:
    told = windlass(group, "--help").stdout.partition("Commands:")[2]

    assert told.rstrip().endswith(".")
    assert "..." not in told


def test_fetch_tells_in_json_and_in_words(windlass: Windlass) -> None:
    windlass("run", "--command", "mkdir runs; echo 1 > runs/a")

    fetched = read_json(windlass("fetch", "--json", "--only", "runs/**"))["fetched"]

    assert isinstance(fetched, dict)
    assert fetched["results"] == 1
    nothing = windlass("fetch", "--only", "nothing").stderr
    assert "no result matched, only logs and plan came: windlass fetch last --only 'runs/**'" in nothing


def test_what_an_earlier_try_left_does_not_travel(windlass: Windlass, project: Path) -> None:
    (project / "runs").mkdir()
    (project / "runs/old").write_text("old")

    done = windlass("run", "--command", "ls runs || echo nothing", "--set", "run.results=runs/**")

    assert done.stdout.endswith("nothing\n")
    assert "not sent, because a run writes there: runs" in done.stderr


def test_a_strangers_partition_means_this_machine(windlass: Windlass, project: Path) -> None:
    (project / "job.sh").write_text("#!/bin/bash\n#SBATCH -p gpu\n#SBATCH -o out.txt\necho $SLURM_JOB_PARTITION\n")

    done = windlass("pocket", "sbatch", "--wait", "job.sh")

    assert "it runs in partition pocket" in done.stderr
    assert (project / "out.txt").read_text() == "pocket\n"


def test_a_site_is_shown_with_its_queues(windlass: Windlass) -> None:
    assert "pocket" in windlass("site", "show", "here").stdout
