"""Hugging Face Accelerate: torchrun on every node, or `accelerate launch` where the command has options for it.

`accelerate launch --cpu --num_processes 2` silently runs one process, so that without GPUs it is torchrun that starts
them; Accelerator() reads the same RANK and WORLD_SIZE either way.
"""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.errors import PlanError
from windlass.launchers import torchrun
from windlass.launchers.commands import Start, is_plain, read_start
from windlass.launchers.seeing import find_sign
from windlass.launchers.tasks import make_task, start_tasks

_OURS = frozenset(
    {
        *("--num_processes", "--num_machines", "--machine_rank", "--main_process_ip", "--main_process_port"),
        *("--rdzv_backend", "--rdzv_conf", "--max_restarts", "--same_network", "--deepspeed_multinode_launcher"),
        *("--deepspeed_hostfile", "--deepspeed_inclusion_filter", "--deepspeed_exclusion_filter", "--gpu_ids"),
    }
)
_SAYS_NOTHING = frozenset({"--cpu", "--multi_gpu", "-m", "--module", "-q", "--quiet", "--num_cpu_threads_per_process"})
_CALLS = (
    r"accelerate\.(?:\w+\.)*Accelerator|transformers\.(?:\w+\.)*(?:Trainer|Seq2SeqTrainer)|trl\.(?:\w+\.)*\w+Trainer"
)
_HOW_IT_SPREADS = ("--multi_gpu", "--use_deepspeed", "--use_fsdp", "--use_megatron_lm", "--config_file", "--tpu")


def make_argv(plan: Plan) -> tuple[str, ...]:
    start = read_start(plan.command, launcher="accelerate", starters=("accelerate", *torchrun.STARTERS))
    told = [one.name for one in start.options if one.name not in _OURS | _SAYS_NOTHING]
    if start.starter != "accelerate" or not told:
        line = torchrun.make_line(plan, _as_script(start))
    elif plan.gpus_per_node:
        line = _make_line(plan, start)
    else:
        raise PlanError(
            f"without GPUs `accelerate launch {' '.join(told)}` would silently run one process",
            hint="write `python SCRIPT ARGUMENTS` as the command, and the rest in Accelerator(…)",
        )
    return start_tasks(plan, make_task(plan, line))


def _as_script(start: Start) -> Start:
    if start.starter != "accelerate":
        return start
    module = "-m " if start.has("-m", "--module") else ""
    return Start(python=start.python, script=f"{module}{start.script}", arguments=start.arguments)


def _make_line(plan: Plan, start: Start) -> str:
    spreads = "" if start.has(*_HOW_IT_SPREADS) or plan.processes == 1 else "--multi_gpu "
    return (
        f"exec {start.program} --num_machines={plan.nodes} --num_processes={plan.processes} "
        f'--machine_rank="$SLURM_NODEID" --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" '
        # By its default it would go over ssh to the other nodes.
        f"--deepspeed_multinode_launcher=standard {spreads}"
        f"{start.keep(without=_OURS)}{start.script} {start.arguments}"
    ).rstrip()


def recognise(sight: Sight) -> str | None:
    return find_sign(sight, _CALLS, starter="accelerate launch") if is_plain(sight.command) else None


ACCELERATE = Launcher(
    name="accelerate",
    summary="for Accelerator and the Trainer of transformers: one task a node starts one process a GPU",
    task_for_each_process=False,
    starts_the_rest=True,
    recognise=recognise,
    make_argv=make_argv,
)
