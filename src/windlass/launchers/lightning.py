"""Lightning: one task of srun for each process, and Slurm's variables as its SLURMEnvironment wants to read them."""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.launchers.seeing import find_sign
from windlass.launchers.tasks import make_task, start_tasks


def make_argv(plan: Plan) -> tuple[str, ...]:
    return start_tasks(plan, make_task(plan, plan.command), world="lightning")


def recognise(sight: Sight) -> str | None:
    return find_sign(sight, r"(?:lightning|pytorch_lightning)\.(?:\w+\.)*(?:Trainer|LightningCLI|Fabric)")


LIGHTNING = Launcher(
    name="lightning",
    summary="one process a GPU, started by srun; Trainer(devices=GPUs of a node, num_nodes=nodes)",
    task_for_each_process=True,
    recognise=recognise,
    make_argv=make_argv,
)
