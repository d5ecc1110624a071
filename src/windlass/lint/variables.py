"""Variables and switches for PyTorch, NCCL and CUDA."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.core.sbatch.values import read_digits
from windlass.core.source.shell_commands import ShellCommand
from windlass.lint.mark import Mark
from windlass.lint.subject import Subject

_RENAMED = ("NCCL_BLOCKING_WAIT", "NCCL_ASYNC_ERROR_HANDLING", "NCCL_DESYNC_DEBUG")
_SLOW = ("NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE")
_WORKERS = re.compile(r"--(?:num[-_])?workers[= ]+(\d+)|(?:num_)?workers=(\d+)")


def launcher_is_deprecated(subject: Subject) -> Iterator[Mark]:
    """torch.distributed.launch is gone from new versions of PyTorch; torchrun takes its place."""
    for command, _ in subject.trainings:
        if "torch.distributed.launch" in subject.flat(command):
            hint = "torchrun, or python -m torch.distributed.run"
            yield subject.at_command(command, Severity.ADVICE, "torch.distributed.launch is deprecated", hint=hint)


def variable_was_renamed(subject: Subject) -> Iterator[Mark]:
    """PyTorch 2.2 renamed these variables to TORCH_NCCL_*; the old names will stop working."""
    for command, name, _ in _assignments(subject):
        if name in _RENAMED:
            yield subject.at_command(
                command, Severity.ADVICE, f"{name} is now TORCH_{name}", hint=f"export TORCH_{name}=1"
            )


def variable_does_not_exist(subject: Subject) -> Iterator[Mark]:
    """No program reads a variable of this name."""
    for command, name, _ in _assignments(subject):
        if name == "TORCH_NCCL_ASYNC_HANDLING":
            hint = "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1"
            yield subject.at_command(command, Severity.WARNING, f"nothing reads {name}", hint=hint)


def fast_network_is_off(subject: Subject) -> Iterator[Mark]:
    """The fast ways between GPUs are switched off, often left from hunting an error: several times slower."""
    for command, name, value in _assignments(subject):
        if name in _SLOW and value == "1":
            yield subject.at_command(
                command, Severity.WARNING, f"{name}=1 makes communication slow", hint=f"unset {name}"
            )


def launches_are_blocking(subject: Subject) -> Iterator[Mark]:
    """CUDA_LAUNCH_BLOCKING=1 is for finding errors: every kernel waits for the one before."""
    for command, name, value in _assignments(subject):
        if name == "CUDA_LAUNCH_BLOCKING" and value == "1":
            yield subject.at_command(command, Severity.WARNING, "CUDA_LAUNCH_BLOCKING=1 is slow", hint=f"unset {name}")


def more_workers_than_cores(subject: Subject) -> Iterator[Mark]:
    """More data-loader workers than the task has cores: they take turns, and PyTorch warns of a freeze."""
    if subject.has("cpus-per-gpu", "exclusive") or subject.is_whole:
        return
    cores = subject.number("cpus-per-task", 1)
    for command, _ in subject.trainings:
        match = _WORKERS.search(" ".join(subject.flat(command)))
        workers = read_digits(match[1] or match[2]) if match else 0
        if workers > cores:
            message = f"{workers} workers on {cores} core{'s' if cores > 1 else ''}"
            yield subject.at_command(command, Severity.WARNING, message, hint=f"#SBATCH --cpus-per-task={workers}")


def gpus_are_chosen_by_hand(subject: Subject) -> Iterator[Mark]:
    """Slurm sets CUDA_VISIBLE_DEVICES to the GPUs that are yours; another value may name GPUs that are not."""
    for command, name, value in _assignments(subject):
        if name == "CUDA_VISIBLE_DEVICES" and value and "$" not in value:
            message = f"CUDA_VISIBLE_DEVICES={value} overrides what Slurm chose"
            yield subject.at_command(command, Severity.WARNING, message, hint="remove it: Slurm sets it")


def _assignments(subject: Subject) -> Iterator[tuple[ShellCommand, str, str]]:
    for command in subject.commands:
        for name, value in command.assignments.items():
            yield command, name, value
        if command.words[:1] in (("export",), ("env",), ("setenv",)):
            for word in command.words[1:]:
                name, equals, value = word.partition("=")
                if equals:
                    yield command, name, value
