"""A job that builds: with the account and the place of the run that wants it, and told why it failed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.environments.labs import session
from tests.conftest import Places
from windlass import api
from windlass.app.session import Session
from windlass.edges.folders import find_folders
from windlass.errors import EnvironmentFailed
from windlass_job import wire

__all__ = ["session"]
RUN_FILE = """
[run]
command = "python -c 'import greet'"
[resources]
time = "2m"
memory = "700M"
account = "def-ada"
[environment]
venv = "requirements.txt"
build = "job"
build_time = "7m"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("greet\n")
    (folder / "windlass.toml").write_text(RUN_FILE)
    return folder


def load_plan(tmp_path: Path) -> dict[str, object]:
    """Of the one run that builds."""
    (path,) = (tmp_path / "root" / wire.RUNS).glob(f"build-venv-*/{wire.PLAN_JSON}")
    plan = json.loads(path.read_text())
    assert isinstance(plan, dict)
    return plan


def run_build(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "windlass", "env", "build", "--on", "lab", *words]
    return subprocess.run(argv, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def test_the_command_builds_where_the_run_file_says(session: Session, project: Path, tmp_path: Path) -> None:
    done = run_build(project, "--json")

    assert done.returncode == 0, done.stderr
    record = api.wait(json.loads(done.stdout)["run"]["run_id"], session=session)
    assert record.state == "done"
    assert len(list((tmp_path / "root" / wire.ENVS).glob("venv-*/current/bin/python"))) == 1
    assert f"next: windlass wait {record.run_id}" in done.stderr


def test_the_job_has_the_account_the_memory_and_the_time_that_the_run_file_says(
    session: Session, project: Path, tmp_path: Path
) -> None:
    api.wait(api.run(project, on="lab", session=session), session=session)

    plan = load_plan(tmp_path)
    assert (plan["account"], plan["memory_mb"], plan["link_time"]) == ("def-ada", 700, "PT420S")


def test_the_time_of_the_command_counts_more(session: Session, project: Path, tmp_path: Path) -> None:
    done = run_build(project, "--time", "9m")

    assert done.returncode == 0, done.stderr
    assert load_plan(tmp_path)["link_time"] == "PT540S"


def test_it_is_never_cut_into_links(session: Session, project: Path, tmp_path: Path) -> None:
    """A build that is cut begins anew."""
    config = find_folders(os.environ).config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[resources]\nlink_time = "100s"\n')

    done = run_build(project)

    assert done.returncode == 0, done.stderr
    assert ": longer ones are not allowed there" in done.stderr
    plan = load_plan(tmp_path)
    assert (plan["links"], plan["link_time"]) == (1, "PT100S")


def test_a_job_that_fails_is_told_with_the_first_line_that_failed(session: Session, project: Path) -> None:
    (project / "requirements.txt").write_text("greet\nfoam\n")

    with pytest.raises(EnvironmentFailed, match="satisfies the requirement foam") as told:
        api.run(project, on="lab", session=session)

    assert "windlass wheels check --on lab" in str(told.value.hint)


def test_a_job_that_is_ended_from_outside_is_told_with_the_last_words_of_the_build(
    session: Session, project: Path, tmp_path: Path, places: Places
) -> None:
    """It cannot say anything any more."""
    folder = tmp_path / "bin"
    folder.mkdir()
    kill = f"{places.pocket}/bin/scancel --signal=KILL --full $SLURM_JOB_ID"
    (folder / "python3").write_text(f"#!/bin/sh\n{kill}\nsleep 60\n")
    (folder / "python3").chmod(0o755)
    Path.home().joinpath(".bash_profile").write_text(f'[ -z "$SLURM_JOB_ID" ] || export PATH="{folder}:$PATH"\n')

    with pytest.raises(EnvironmentFailed, match="the job that builds it ended as failed") as told:
        api.run(project, on="lab", session=session)

    assert "windlass explain build-venv-" in str(told.value.hint)
