"""How processes start: what each launcher of the catalogue runs on the first node."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import PLAN
from windlass.core.plan import Plan
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS

ZIP = f"{PLAN.folder}/windlass_job.pyz"
RANK_ENV = ("python3", "-I", ZIP, "rank-env", "--stop-signal", "TERM", "--")
MANY = replace(PLAN, nodes=2, gpus_per_node=4, processes_per_node=4)


def argv(launcher: str, plan: Plan = PLAN, *, command: str = PLAN.command) -> tuple[str, ...]:
    return LAUNCHERS[launcher].make_argv(replace(plan, command=command))


@pytest.mark.parametrize("name", LAUNCHERS)
def test_it_is_known_by_its_own_name_and_says_what_it_does(name: str) -> None:
    assert LAUNCHERS[name].name == name
    assert LAUNCHERS[name].summary


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("command", ["", "  \n", "-x", "+x"])
def test_what_bash_would_not_run_as_a_command_is_refused(name: str, command: str) -> None:
    with pytest.raises(PlanError):
        argv(name, command=command)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_same_plan_starts_the_same(name: str) -> None:
    assert argv(name, MANY) == argv(name, MANY)


def test_single_is_the_command_as_it_is() -> None:
    line = "python train.py | tee log; echo 'done'"

    assert argv("single", command=line) == ("bash", "-c", line)


def test_srun_starts_one_process_for_each_gpu_that_sees_all_of_them() -> None:
    assert LAUNCHERS["srun"].task_for_each_process
    assert argv("srun", MANY) == (
        *("srun", "--kill-on-bad-exit=1", "--gpu-bind=none"),
        *RANK_ENV,
        *("bash", "-c", "python train.py"),
    )


def test_srun_binds_no_gpus_where_there_are_none() -> None:
    assert "--gpu-bind=none" not in argv("srun", replace(PLAN, nodes=2))


def test_each_task_gets_the_signal_the_user_wants() -> None:
    words = argv("srun", replace(MANY, stop_signal="USR2"))

    assert words[words.index("--stop-signal") + 1] == "USR2"


# ---- torchrun ---------------------------------------------------------------------------------------


def torchrun_line(command: str) -> str:
    words = argv("torchrun", MANY, command=command)
    assert words[:-1] == ("srun", "--kill-on-bad-exit=1", *RANK_ENV, "bash", "-c")
    return words[-1]


def test_torchrun_is_one_task_a_node_that_starts_the_others() -> None:
    assert not LAUNCHERS["torchrun"].task_for_each_process
    assert torchrun_line("python train.py --lr 0.1") == (
        'exec torchrun --nnodes=2 --nproc_per_node=4 --node_rank="$SLURM_NODEID" --master_addr="$MASTER_ADDR" '
        '--master_port="$MASTER_PORT" train.py --lr 0.1'
    )


def test_torchrun_without_gpus_starts_one_process() -> None:
    assert "--nproc_per_node=1 " in argv("torchrun", replace(PLAN, nodes=2))[-1]


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python train.py", ["train.py"]),
        ("/opt/py/bin/python3.11 train.py", ["train.py"]),
        ("'/opt/my python/python3' train.py", ["train.py"]),
        ("python -u train.py", ["train.py"]),
        ("python -m pkg.train --x 1", ["-m", "pkg.train", "--x", "1"]),
        ("train.py --x", ["train.py", "--x"]),
        ("python 'my train.py' --name 'a; b'", ["my train.py", "--name", "a; b"]),
        ("python train.py \\\n  --lr 1", ["train.py", "--lr", "1"]),
        ('python train.py --out "$OUT/x" --n $N', ["train.py", "--out", "/o ut/x", "--n", "5"]),
        ("  python train.py  ", ["train.py"]),
    ],
)
def test_torchrun_gets_the_script_and_what_the_shell_makes_of_its_arguments(
    command: str, script: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "torchrun"
    program.write_text('#!/bin/bash\nprintf "%s\\0" "$@"\n')
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OUT": "/o ut", "N": "5"}
    env |= {"SLURM_NODEID": "1", "MASTER_ADDR": "n1", "MASTER_PORT": "10045"}

    done = subprocess.run(["bash", "-c", torchrun_line(command)], env=env, capture_output=True, text=True, check=True)

    options = ["--nnodes=2", "--nproc_per_node=4", "--node_rank=1", "--master_addr=n1", "--master_port=10045"]
    assert done.stdout.split("\0")[:-1] == [*options, *script]


@pytest.mark.parametrize(
    "command",
    [
        "python",
        "python -O train.py",
        "python -c 'print(1)'",
        "bash train.sh",
        "accelerate launch train.py",
        "FOO=1 python train.py",
        "python a.py && python b.py",
        "python a.py; python b.py",
        "python a.py;rm x",
        "python a.py | tee log",
        "python a.py>log",
        "python a.py &",
        "python a.py\npython b.py",
        "(python a.py)",
        "python a.py --n $((2 + 3))",
        "python 'a.py",
    ],
)
def test_a_shell_line_is_refused_since_only_its_first_command_would_run(command: str) -> None:
    with pytest.raises(PlanError, match="torchrun needs"):
        torchrun_line(command)
