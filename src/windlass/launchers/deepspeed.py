"""DeepSpeed: one task of srun for each process. Its own program goes over ssh to the other nodes; sites refuse that."""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.errors import PlanError
from windlass.launchers.commands import Start, is_plain, read_start
from windlass.launchers.seeing import find_sign
from windlass.launchers.tasks import make_task, start_tasks


def make_argv(plan: Plan) -> tuple[str, ...]:
    return start_tasks(plan, make_task(plan, _make_line(plan)))


def _make_line(plan: Plan) -> str:
    """`deepspeed --num_gpus 4 train.py --x 1` -> `python train.py --local_rank=… --x 1`, as that program does it."""
    if not is_plain(plan.command):
        return plan.command
    start = read_start(plan.command, launcher="deepspeed", starters=("deepspeed",))
    if start.starter is None:
        return plan.command
    if start.has("--no_python", "--autotuning"):
        raise PlanError(
            "the launcher deepspeed does not know --no_python and --autotuning",
            hint='[run] command = "python SCRIPT ARGUMENTS"',
        )
    rank = "" if start.has("--no_local_rank") else '--local_rank="$LOCAL_RANK" '
    return f"exec {start.python or 'python'} {_name_script(start)} {rank}{start.arguments}".rstrip()


def _name_script(start: Start) -> str:
    return f"-m {start.script}" if start.has("--module") else start.script


def recognise(sight: Sight) -> str | None:
    return find_sign(sight, r"deepspeed\.(?:initialize|init_distributed)", starter="deepspeed")


DEEPSPEED = Launcher(
    name="deepspeed",
    summary="for deepspeed.initialize: one process a GPU, started by srun instead of over ssh",
    task_for_each_process=True,
    recognise=recognise,
    make_argv=make_argv,
)
