"""TensorFlow on several nodes: one task of srun for each worker, which finds the others in TF_CONFIG."""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.launchers.seeing import find_sign
from windlass.launchers.tasks import make_task, start_tasks


def make_argv(plan: Plan) -> tuple[str, ...]:
    return start_tasks(plan, make_task(plan, plan.command), world="tensorflow")


def recognise(sight: Sight) -> str | None:
    return find_sign(sight, r"(?:tensorflow|tf)\.(?:\w+\.)*MultiWorkerMirroredStrategy")


TENSORFLOW = Launcher(
    name="tensorflow",
    summary="for MultiWorkerMirroredStrategy: one worker a GPU, with TF_CONFIG",
    task_for_each_process=True,
    recognise=recognise,
    make_argv=make_argv,
)
