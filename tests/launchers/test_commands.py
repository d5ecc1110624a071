"""Commands that a launcher takes apart: what is left of them, read by a real bash."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import PLAN
from windlass.core.plan import Plan
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS

MANY = replace(PLAN, nodes=2, gpus_per_node=4, processes_per_node=4)
ON_CPUS = replace(PLAN, nodes=2, processes_per_node=2)
LAYOUT = ["--nnodes=2", "--nproc_per_node=4", "--node_rank=1", "--master_addr=n1", "--master_port=10045"]


def run_line(launcher: str, command: str, folder: Path, plan: Plan = MANY) -> list[str]:
    """The words of the program that the launcher's line starts on a node, beginning with its name."""
    for name in ("torchrun", "accelerate", "python", "python3"):
        program = folder / name
        program.write_text('#!/bin/bash\nprintf "%s\\0" "${0##*/}" "$@"\n')
        program.chmod(0o755)
    env = {"PATH": f"{folder}:/usr/bin:/bin", "OUT": "/o ut", "N": "5", "VENV": str(folder)}
    env |= {"SLURM_NODEID": "1", "LOCAL_RANK": "3", "MASTER_ADDR": "n1", "MASTER_PORT": "10045"}
    line = LAUNCHERS[launcher].make_argv(replace(plan, command=command))[-1]

    done = subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python train.py", ["train.py"]),
        ("python -u train.py", ["train.py"]),
        ("python -m pkg.train --x 1", ["-m", "pkg.train", "--x", "1"]),
        ("python 'my train.py' --name 'a; b'", ["my train.py", "--name", "a; b"]),
        ("python train.py \\\n  --lr 1", ["train.py", "--lr", "1"]),
        ('python train.py --out "$OUT/x" --n $N', ["train.py", "--out", "/o ut/x", "--n", "5"]),
        ("  python train.py  ", ["train.py"]),
    ],
)
def test_torchrun_gets_the_script_and_what_the_shell_makes_of_its_arguments(
    command: str, words: list[str], tmp_path: Path
) -> None:
    assert run_line("torchrun", command, tmp_path) == ["python", "-m", "torch.distributed.run", *LAYOUT, *words]


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("train.py", ["torchrun"]),
        ("python3 train.py", ["python3", "-m", "torch.distributed.run"]),
        ('"$VENV/python3" train.py', ["python3", "-m", "torch.distributed.run"]),
        ("$VENV/python3 train.py", ["python3", "-m", "torch.distributed.run"]),
        ("torchrun --nproc_per_node=2 --standalone train.py", ["torchrun"]),
        ("torchrun --nproc-per-node 2 --rdzv-backend c10d train.py", ["torchrun"]),
        ("$VENV/torchrun --nnodes 8 --node_rank $SLURM_NODEID train.py", ["torchrun"]),
        ("python -m torch.distributed.run --nnodes 8 train.py", ["python", "-m", "torch.distributed.run"]),
        ("python -m torch.distributed.launch --nnodes 8 train.py", ["python", "-m", "torch.distributed.launch"]),
    ],
)
def test_torchrun_is_that_of_the_python_which_the_command_names(
    command: str, program: list[str], tmp_path: Path
) -> None:
    assert run_line("torchrun", command, tmp_path) == [*program, *LAYOUT, "train.py"]


def test_what_is_not_about_nodes_and_ports_stays_in_the_users_torchrun(tmp_path: Path) -> None:
    command = "torchrun --nproc_per_node=2 --tee 3 --max-restarts=3 --log-dir='my logs' -m pkg.train --nnodes 7"

    words = run_line("torchrun", command, tmp_path)

    assert words == ["torchrun", *LAYOUT, "--tee", "3", "--log-dir=my logs", "-m", "pkg.train", "--nnodes", "7"]


def test_one_node_needs_no_name_that_resolves() -> None:
    line = LAUNCHERS["torchrun"].make_argv(replace(MANY, nodes=1))[-1]

    assert "--master_addr=127.0.0.1 " in line


@pytest.mark.parametrize(
    "command",
    [
        "python",
        "python -O train.py",
        "python -c 'print(1)'",
        "bash train.sh",
        "torchrun --nproc_per_node=2",
        "accelerate launch train.py",
        "deepspeed train.py",
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
        LAUNCHERS["torchrun"].make_argv(replace(MANY, command=command))


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --x 1",
        "accelerate launch train.py --x 1",
        "accelerate launch --multi_gpu --num_processes 8 --num_machines=2 --machine_rank 1 train.py --x 1",
        "python -m accelerate.commands.launch train.py --x 1",
        "torchrun --nproc_per_node 8 train.py --x 1",
    ],
)
def test_accelerate_without_options_of_its_own_is_torchrun(command: str, tmp_path: Path) -> None:
    words = run_line("accelerate", command, tmp_path)

    assert words[-8:] == [*LAYOUT, "train.py", "--x", "1"]
    assert words[:-8] in (["torchrun"], ["python", "-m", "torch.distributed.run"])


def test_accelerate_launch_keeps_options_that_change_the_training(tmp_path: Path) -> None:
    command = "accelerate launch --mixed_precision bf16 --num_processes=3 --use-fsdp -m pkg.train --num_processes 4"

    words = run_line("accelerate", command, tmp_path)

    assert words == [
        *("accelerate", "launch", "--num_machines=2", "--num_processes=8", "--machine_rank=1"),
        *("--main_process_ip=n1", "--main_process_port=10045", "--deepspeed_multinode_launcher=standard"),
        *("--mixed_precision", "bf16", "--use-fsdp", "-m", "pkg.train", "--num_processes", "4"),
    ]


def test_accelerate_launch_is_told_that_there_are_several_gpus(tmp_path: Path) -> None:
    words = run_line("accelerate", "accelerate launch --mixed_precision=fp16 train.py", tmp_path)

    assert words[-3:] == ["--multi_gpu", "--mixed_precision=fp16", "train.py"]


def test_accelerate_launch_on_cpus_would_silently_run_one_process() -> None:
    command = "accelerate launch --cpu --mixed_precision=bf16 train.py"

    with pytest.raises(PlanError, match="silently run one process"):
        LAUNCHERS["accelerate"].make_argv(replace(ON_CPUS, command=command))
    assert "torchrun" in LAUNCHERS["accelerate"].make_argv(replace(ON_CPUS, command="accelerate launch --cpu t.py"))[-1]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python train.py --x 1", ["python", "train.py", "--x", "1"]),
        ("deepspeed train.py --x 1", ["python", "train.py", "--local_rank=3", "--x", "1"]),
        ("deepspeed --num_gpus=4 --hostfile hosts train.py", ["python", "train.py", "--local_rank=3"]),
        ("deepspeed --no_local_rank --master_port 9 train.py --a", ["python", "train.py", "--a"]),
        ("deepspeed --module pkg.train --a", ["python", "-m", "pkg.train", "--local_rank=3", "--a"]),
        ("$VENV/deepspeed train.py --zero", ["python", "train.py", "--local_rank=3", "--zero"]),
    ],
)
def test_deepspeed_starts_the_script_as_its_program_would(command: str, words: list[str], tmp_path: Path) -> None:
    assert run_line("deepspeed", command, tmp_path) == words


@pytest.mark.parametrize("command", ["torchrun train.py", "accelerate launch train.py", "deepspeed --no_python x"])
def test_deepspeed_takes_no_other_launchers_place(command: str) -> None:
    with pytest.raises(PlanError, match="deepspeed"):
        LAUNCHERS["deepspeed"].make_argv(replace(MANY, command=command))
