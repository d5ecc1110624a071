"""Several copies of the command on one GPU, which share it through NVIDIA's Multi-Process Service."""

from windlass.core.launch import Launcher
from windlass.core.plan import Plan
from windlass.launchers.tasks import make_task, start_tasks
from windlass_job import wire


def make_argv(plan: Plan) -> tuple[str, ...]:
    node = (
        *(plan.python, "-I", f"{plan.folder}/{wire.JOB_ZIP}", wire.MPS, "--stop-signal", plan.stop_signal),
        *("--replicas", str(plan.processes_per_node), "--gpus", str(plan.gpus_per_node)),
        "--",
        *make_task(plan, plan.command),
    )
    return start_tasks(plan, node)


MPS = Launcher(
    name="mps",
    summary="copies of the command on one GPU (resources.processes_per_node of them), each with WINDLASS_REPLICA",
    task_for_each_process=False,
    starts_the_rest=True,
    make_argv=make_argv,
)
