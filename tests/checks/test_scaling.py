"""What is advised for the learning rate and the batch of several processes."""

from dataclasses import replace

import pytest

from tests.checks.code_cases import DDP, FOUR_GPUS, LOADER, code_case, run
from tests.checks.examples_scaling import OPTIONS, SAMPLED, SAMPLER, TRAINING
from windlass.checks import CHECKS
from windlass.core.case import Case

EIGHT = replace(FOUR_GPUS, nodes=2)
KEEPS = "; or a batch of 8 a process, which keeps 64"


def advise(case: Case) -> str | None:
    (finding,) = CHECKS["C530"](case)
    return finding.hint


@pytest.mark.parametrize(
    ("optimizer", "advice"),
    [
        ("SGD(model.parameters(), lr=0.1)", "learning rate 0.1 -> 0.8"),
        ("SGD(model.parameters(), 0.1, momentum=0.9)", "learning rate 0.1 -> 0.8"),
        ("AdamW(model.parameters(), lr=1e-3)", "learning rate 0.001 -> 0.0028"),
        ("SGD(model.parameters(), lr=find_rate())", "a learning rate 8 times as high"),
        ("Adam(model.parameters())", "a learning rate 2.8 times as high"),
    ],
)
def test_the_learning_rate_grows_with_the_batch_or_its_root(optimizer: str, advice: str) -> None:
    case = code_case(DDP, LOADER, SAMPLER, SAMPLED, "import torch", f"torch.optim.{optimizer}", plan=EIGHT)

    assert advise(case) == f"{advice} after a warm-up of a few epochs{KEEPS}"


def test_the_command_is_believed_before_the_defaults() -> None:
    lines = (DDP, LOADER, SAMPLER, OPTIONS, "import torch", "torch.optim.SGD(p, lr=args.lr)")

    told = advise(code_case(*lines, plan=EIGHT, spec=run("python train.py --batch-size 64 --lr 0.4")))
    default = advise(code_case(*lines, plan=EIGHT))

    assert told == f"learning rate 0.4 -> 3.2 after a warm-up of a few epochs{KEEPS}"
    assert default == (
        "learning rate 0.1 -> 0.8 after a warm-up of a few epochs; or a batch of 4 a process, which keeps 32"
    )


def test_steps_that_are_added_up_count() -> None:
    arguments = "per_device_train_batch_size=3, gradient_accumulation_steps=4, learning_rate=2e-5"

    (finding,) = CHECKS["C530"](code_case(TRAINING.format(arguments), plan=EIGHT))

    assert finding.message == "a batch of 12 a process on 8 processes is a global batch of 96"
    assert finding.hint == "learning rate 2e-05 -> 5.7e-05 after a warm-up of a few epochs"
