"""One process for each GPU (or each node without GPUs), started by Slurm, with RANK and its kin set."""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.launchers.tasks import make_task, start_tasks


def make_argv(plan: Plan) -> tuple[str, ...]:
    return start_tasks(plan, make_task(plan, plan.command))


def recognise(sight: Sight) -> str | None:
    return None if sight.is_alone else "one process for each GPU or node"


SRUN = Launcher(
    name="srun",
    summary="one process a GPU, started by srun; RANK, WORLD_SIZE and LOCAL_RANK are set",
    task_for_each_process=True,
    recognise=recognise,
    make_argv=make_argv,
)
