"""Which launcher the code is made for, where windlass.toml names none."""

from dataclasses import replace

import pytest

from tests.builders import ATTEMPT, SITE, SPEC
from tests.checks.code_cases import make_code
from windlass.core.facts import NOTHING_SEEN
from windlass.core.plan import Plan
from windlass.core.planning import make_plan
from windlass.core.run import Resources
from windlass.launchers import LAUNCHERS

EIGHT_GPUS = Resources(gpus=8, gpu="a100")
TORCH = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
LIGHTNING = "import lightning as L\ntrainer = L.Trainer(devices=4)\n"


def plan(files: dict[str, str], command: str = "python train.py", resources: Resources = EIGHT_GPUS) -> Plan:
    spec = replace(SPEC, command=command, resources=replace(resources, time=SPEC.resources.time))
    return make_plan(spec, SITE, NOTHING_SEEN, ATTEMPT, launchers=LAUNCHERS, code=make_code(files))


def choose(files: dict[str, str], command: str = "python train.py", resources: Resources = EIGHT_GPUS) -> str:
    return plan(files, command, resources).launcher


@pytest.mark.parametrize(
    ("text", "launcher"),
    [
        (TORCH, "torchrun"),
        ("from torch.nn.parallel import DistributedDataParallel as DDP\nnet = DDP(net)\n", "torchrun"),
        ("from torch.distributed.fsdp import fully_shard\nfully_shard(net)\n", "torchrun"),
        ("from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nFSDP(net)\n", "torchrun"),
        ("from torch.distributed.device_mesh import init_device_mesh\ninit_device_mesh('cuda', (8,))\n", "torchrun"),
        (LIGHTNING, "lightning"),
        ("import pytorch_lightning as pl\npl.Trainer()\n", "lightning"),
        ("from lightning.pytorch.cli import LightningCLI\nLightningCLI()\n", "lightning"),
        ("from lightning.fabric import Fabric\nFabric()\n", "lightning"),
        ("from accelerate import Accelerator\nAccelerator()\n", "accelerate"),
        ("from transformers import Trainer\nTrainer(model=m)\n", "accelerate"),
        ("from trl import SFTTrainer\nSFTTrainer(m)\n", "accelerate"),
        ("import deepspeed\ndeepspeed.initialize(model=m)\n", "deepspeed"),
        ("import torch\ntorch.nn.Linear(1, 1)\n", "srun"),
        ("def broken(:\n", "srun"),
    ],
)
def test_the_code_says_what_it_is_made_for(text: str, launcher: str) -> None:
    assert choose({"train.py": text}) == launcher


def test_the_reason_names_the_line() -> None:
    reasons = {one.field: one.why for one in plan({"train.py": LIGHTNING}).reasons}

    assert reasons["launcher"] == "train.py:2 calls lightning.Trainer"


def test_one_process_needs_no_launcher() -> None:
    assert choose({"train.py": TORCH}, resources=Resources(gpus=1, gpu="a100")) == "single"


def test_processes_on_cpus_count_too() -> None:
    assert choose({"train.py": TORCH}, resources=Resources(nodes=1, processes_per_node=4)) == "torchrun"


def test_the_more_special_framework_is_taken() -> None:
    assert choose({"train.py": TORCH + LIGHTNING}) == "lightning"
    assert choose({"train.py": "import deepspeed, accelerate\naccelerate.Accelerator()\ndeepspeed.initialize()\n"}) == (
        "deepspeed"
    )


@pytest.mark.parametrize(
    "text",
    [
        "import lightning\n",
        f"def unused():\n    {LIGHTNING.splitlines()[0]}\n    L.Trainer()\n",
        "import lightning as L\nif __name__ != '__main__':\n    pass\nif False:\n    L.Trainer()\n",
        "import argparse\nimport lightning as L\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--light', action='store_true')\nargs = parser.parse_args()\n"
        "if args.light:\n    L.Trainer()\n",
    ],
)
def test_code_that_is_not_run_does_not_count(text: str) -> None:
    assert choose({"train.py": text}) == "srun"
    assert choose({"train.py": "print(1)\n", "other.py": LIGHTNING}) == "srun"


def test_what_the_script_imports_counts() -> None:
    files = {"train.py": "from engine import train\ntrain()\n", "engine.py": f"{LIGHTNING}\ndef train(): pass\n"}

    assert choose(files) == "lightning"


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        ("torchrun --nproc_per_node=4 train.py", "torchrun"),
        ("python -m torch.distributed.launch train.py", "torchrun"),
        ("accelerate launch train.py", "accelerate"),
        ("deepspeed train.py --deepspeed", "deepspeed"),
    ],
)
def test_a_launcher_in_the_command_counts_more_than_the_code(command: str, launcher: str) -> None:
    assert choose({"train.py": LIGHTNING}, command) == launcher


@pytest.mark.parametrize("inside", ["srun python t.py", "torchrun train.py", "accelerate launch train.py"])
def test_a_script_that_starts_the_processes_itself_is_left_alone(inside: str) -> None:
    files = {"job.sh": f"#!/bin/bash\nmodule load x\n{inside}\n", "train.py": TORCH}

    found = plan(files, "bash job.sh")

    assert found.launcher == "single"
    assert any("job.sh:3 starts the processes itself" in one.why for one in found.reasons)


def test_a_shell_line_that_torchrun_cannot_take_is_started_by_srun() -> None:
    assert choose({"train.py": TORCH}, "python prepare.py && python train.py") == "srun"
    assert choose({"job.sh": "python train.py\n", "train.py": TORCH}, "bash job.sh") == "srun"
