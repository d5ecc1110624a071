"""Tasks of srun: the words that every launcher starts them with, and the first process of each."""

from collections.abc import Sequence

from windlass.core.plan import Plan
from windlass.core.shell import make_shell_argv
from windlass.launchers.commands import is_one_program
from windlass_job import wire


def make_task(plan: Plan, line: str) -> tuple[str, ...]:
    """A line for bash, inside the environment: srun outside, the container inside."""
    return (*plan.inside, *make_shell_argv(line))


def start_tasks(plan: Plan, command: Sequence[str], *, world: str | None = None) -> tuple[str, ...]:
    """`command` as a task, one or several a node as the plan has it. `world`: whose variables it gets besides RANK."""
    return ("srun", *_make_options(plan), *_make_first_process(plan, world, command), *command)


def _make_options(plan: Plan) -> tuple[str, ...]:
    options = ["--kill-on-bad-exit=1"]
    if plan.gpus_per_node:
        # A task must see all GPUs of its node: --gpus-per-task hides the peers and breaks NCCL's shared memory.
        options.append("--gpu-bind=none")
    if plan.tasks_per_node > 1 and "SLURM_CPU_BIND" not in plan.env:
        # Without a word Slurm binds only where the tasks fill whole nodes; else they wander over each other's cores.
        # Where a site does not bind at all it is passed over. One task a node has all cores of the job anyway.
        options.append("--cpu-bind=cores")
    if plan.tasks_per_node > 1:
        # Ranks fill one node after another, whatever SLURM_DISTRIBUTION says: local ranks are counted so.
        options.append("--distribution=block")
    return tuple(options)


def _make_first_process(plan: Plan, world: str | None, command: Sequence[str]) -> tuple[str, ...]:
    """Ours, of every task: it sets RANK and its kin, waits for the other nodes, and passes the stop signal on.

    srun kills its tasks at once when it gets TERM itself, and hands USR1 only to a task's first process.
    """
    zipped = f"{plan.folder}/{wire.JOB_ZIP}"
    if world is None and _starts_one_program(command):
        return ("bash", f"{plan.folder}/{wire.TASK_SH}", plan.python, zipped, wire.RANK_ENV, plan.stop_signal)
    return (
        *(plan.python, "-I", zipped, wire.RANK_ENV, "--stop-signal", plan.stop_signal),
        *(("--world", world) if world else ()),
        "--",
    )


def _starts_one_program(command: Sequence[str]) -> bool:
    """Then bash becomes that program, and a signal to it reaches the right one."""
    return tuple(command[:2]) == ("bash", "-c") and is_one_program(command[2])
