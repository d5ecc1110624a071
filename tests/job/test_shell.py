"""A shell in a job: its start files, its exit code, and what an `srun` in it sees."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from windlass.edges.job_zip import make_job_zip
from windlass_job import wire
from windlass_job.serving.shell import make_environment


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / wire.JOB_ZIP
    path.write_bytes(make_job_zip())
    return path


def run(program: Path, *words: str, typed: str = "", home: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-I", program, wire.SHELL, *words],
        input=typed,
        env={**os.environ, **({"HOME": str(home)} if home else {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("line", "code"), [("exit 5", 5), ("kill -TERM $$", 143), ("true", 0)])
def test_the_exit_code_is_passed_on(program: Path, line: str, code: int) -> None:
    assert run(program, "--", "bash", "-c", line).returncode == code


def test_what_cannot_be_started_is_told(program: Path) -> None:
    done = run(program, "--", "no-such-program")

    assert done.returncode == wire.EXIT_NOT_STARTED
    assert "no-such-program: No such file or directory" in done.stderr


def test_the_environment_comes_after_the_users_own_start_file(program: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bashrc").write_text("export PLACE=bashrc OWN=kept\n")

    done = run(program, "--lines=export PLACE=run", "--", "bash", typed='echo "$PLACE $OWN"; exit 3\n', home=home)

    assert (done.returncode, done.stdout) == (3, "run kept\n")


@pytest.mark.parametrize("line", ["kill -KILL $PPID", "exit 0"])
def test_nothing_of_it_stays_on_the_node_however_it_ends(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "it's a disk"))
    (tmp_path / "it's a disk").mkdir()

    run(program, "--lines=export PLACE=run", "--", "bash", typed=line + "\n", home=tmp_path)

    assert list((tmp_path / "it's a disk").iterdir()) == []


def test_a_step_in_it_has_all_nodes_and_shares_the_cores() -> None:
    step = {"SLURM_NTASKS": "1", "SLURM_NNODES": "1", "SLURM_JOB_NUM_NODES": "4", "PATH": "/bin"}

    assert make_environment(step) == {
        "SLURM_NNODES": "4",
        "SLURM_JOB_NUM_NODES": "4",
        "SLURM_OVERLAP": "1",
        "PATH": "/bin",
    }
