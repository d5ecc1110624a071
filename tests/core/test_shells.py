"""The lines that become a shell on a node: every word arrives as it was typed."""

import shlex
from dataclasses import replace
from datetime import timedelta

from tests.builders import PLAN, SITE
from windlass.core.services.shells import Wanted, make_joined_line, make_new_line, make_tied_line

ZIP = "/scratch/alice/windlass/tools/windlass_job-1.pyz"
WISH = Wanted(program=ZIP, idle=timedelta(minutes=30))
ODD = ("python", "-c", "print('a \"b\" $HOME')", "*")
VENV = replace(PLAN, activate=("source /envs/a/bin/activate",), env={"GREETING": "it's me"})


def read(line: str) -> tuple[list[str], list[str]]:
    """The words of srun or salloc up to the script, and the lines of that script."""
    words = shlex.split(line.replace("$([ ! -t 0 ] || echo --pty)", "--pty"))
    return words, words[-1].splitlines()


def test_a_new_shell_asks_slurm_for_what_was_planned() -> None:
    plan = replace(PLAN, account="lab", partition="gpu", link_time=timedelta(minutes=30))

    words, _ = read(make_new_line(SITE, plan, WISH, folder="/scratch", name="shell-abc"))

    assert words[:3] == ["exec", "srun", "--pty"]
    assert {"--account=lab", "--partition=gpu", "--time=0-00:30:00", "--nodes=1", "--job-name=shell-abc"} <= set(words)
    assert words[-3:-1] == ["bash", "-c"]


def test_whoever_types_gets_the_environment_after_their_own_start_files() -> None:
    words, script = read(make_new_line(SITE, VENV, WISH, folder="/scratch/my files", name="s"))

    inner = shlex.split("\n".join(script))
    assert inner[:6] == ["exec", "python3", "-I", ZIP, "shell", "--idle=1800"]
    assert inner[-2:] == ["--", "bash"]
    lines = inner[6].removeprefix("--lines=").splitlines()
    assert "source /envs/a/bin/activate" in lines
    assert lines[-1] == "cd '/scratch/my files'"
    assert shlex.split(next(one for one in lines if "GREETING" in one))[1] == "GREETING=it's me"
    assert words[1] == "srun"


def test_a_command_arrives_word_for_word_in_the_environment() -> None:
    wish = Wanted(program=ZIP, command=ODD)

    _, script = read(make_new_line(SITE, VENV, wish, folder="/scratch", name="s"))

    assert "source /envs/a/bin/activate" in script
    last = shlex.split(script[-1])
    assert last == ["exec", "$windlass_python", "-I", ZIP, "shell", "--", *ODD]


def test_in_a_container_the_shell_is_inside() -> None:
    plan = replace(PLAN, inside=("apptainer", "exec", "/images/a b.sif"), activate=("module load apptainer",))

    _, script = read(make_new_line(SITE, plan, WISH, folder="/scratch", name="s"))

    assert shlex.split(script[-1])[-5:] == ["--", "apptainer", "exec", "/images/a b.sif", "bash"]


def test_several_nodes_are_allocated_and_the_shell_is_on_the_first() -> None:
    words = shlex.split(make_new_line(SITE, replace(PLAN, nodes=4), WISH, folder="/scratch", name="s"))

    assert words[:2] == ["exec", "salloc"]
    assert "--nodes=4" in words
    assert words[-1].startswith("srun $([ ! -t 0 ] || echo --pty) --overlap --nodes=1 --ntasks=1 bash -c ")


def test_in_the_job_of_a_run_it_shares_the_nodes_with_the_training() -> None:
    plan = replace(PLAN, cpus_per_task=6, login_shell=True)

    words, script = read(make_joined_line(SITE, plan, WISH, job_id="4711"))

    assert {"--jobid=4711", "--overlap", "--cpus-per-task=6"} <= set(words)
    assert words[-3:-1] == ["bash", "-lc"]
    assert f"cd {PLAN.folder}/code" in "\n".join(script)
    assert f"export WINDLASS_RUN_DIR={PLAN.folder}" in "\n".join(script)


def test_without_a_terminal_the_line_ends_with_its_connection() -> None:
    first, line = make_tied_line(SITE, "exec srun 'a b'", ZIP, job_name="shell-abc").split("\n")

    words = shlex.split(first)
    assert words[:5] == ["[", "-t", "0", "]", "||"]
    assert words[5:10] == ["exec", "python3", "-I", ZIP, "tied"]
    assert words[-4:] == ["--", "bash", "-c", "exec srun 'a b'"]
    assert "scancel --quiet --name=shell-abc" in words[10]
    assert line == "exec srun 'a b'"
