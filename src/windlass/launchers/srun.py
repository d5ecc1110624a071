"""One process for each GPU (or each node without GPUs), started by Slurm, with RANK and its kin set."""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.core.shell import make_shell_argv
from windlass_job import wire


def make_rank_env(plan: Plan) -> tuple[str, ...]:
    """Our first process of every task: it sets RANK and its kin, and passes the stop signal on.

    srun kills its tasks at once when it gets TERM itself, and hands USR1 only to a task's first process.
    """
    return (plan.python, "-I", f"{plan.folder}/{wire.JOB_ZIP}", wire.RANK_ENV, "--stop-signal", plan.stop_signal, "--")


def make_argv(plan: Plan) -> tuple[str, ...]:
    return (
        "srun",
        "--kill-on-bad-exit=1",
        # A task must see all GPUs of its node: --gpus-per-task hides the peers and breaks NCCL's shared memory.
        *(("--gpu-bind=none",) if plan.gpus_per_node else ()),
        *make_rank_env(plan),
        *make_shell_argv(plan.command),
    )


def recognise(sight: Sight) -> str | None:
    return None if sight.is_alone else "one process for each GPU or node"


SRUN = Launcher(
    name="srun",
    summary="one process a GPU, started by srun; RANK, WORLD_SIZE and LOCAL_RANK are set",
    task_for_each_process=True,
    recognise=recognise,
    make_argv=make_argv,
)
