"""PyTorch's own launcher: one srun task a node, which starts one process for each GPU.

The nodes meet at MASTER_ADDR:MASTER_PORT, and Slurm's number of a node is its rank: torchrun's static rendezvous. Its
elastic one would look for the host by comparing names, which a site's fabric suffix breaks, would give the ranks to the
nodes in the order of their names, and would let the ranks meet on a second port of its own choice.
"""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.launchers.commands import Start, is_plain, read_start
from windlass.launchers.seeing import find_sign
from windlass.launchers.tasks import make_task, start_tasks

_OURS = frozenset(
    {
        *("--nnodes", "--nproc_per_node", "--node_rank", "--master_addr", "--master_port", "--local_addr"),
        # Only the agents of one node would start again; Windlass starts all: [checkpoint] restart.
        *("--standalone", "--rdzv_backend", "--rdzv_endpoint", "--rdzv_id", "--rdzv_conf", "--max_restarts"),
    }
)
STARTERS = ("torchrun", "torch.distributed.launch")  # as `read_start` calls them
_SHARES_WORK = (
    r"torch\.distributed\.(?:\w+\.)*(?:init_process_group|fully_shard|init_device_mesh|FullyShardedDataParallel)"
    r"|torch\.nn\.parallel\.(?:\w+\.)*DistributedDataParallel"
)


def make_argv(plan: Plan) -> tuple[str, ...]:
    return start_tasks(plan, make_task(plan, make_line(plan, _read(plan.command))))


def _read(command: str) -> Start:
    return read_start(command, launcher="torchrun", starters=STARTERS)


def make_line(plan: Plan, start: Start) -> str:
    # On one node its name need not resolve. Older PyTorch knows these options with underscores only.
    address = '"$MASTER_ADDR"' if plan.nodes > 1 else "127.0.0.1"
    kept = start.keep(without=_OURS) if _is_torchrun(start) else ""
    return (
        f"exec {_call_torchrun(start)} --nnodes={plan.nodes} --nproc_per_node={plan.processes_per_node} "
        f'--node_rank="$SLURM_NODEID" --master_addr={address} --master_port="$MASTER_PORT" '
        f"{kept}{start.script} {start.arguments}"
    ).rstrip()


def _call_torchrun(start: Start) -> str:
    """Of the Python that the command names: the `torchrun` that is found first may be another's."""
    if _is_torchrun(start):
        return start.program
    return f"{start.python} -m torch.distributed.run" if start.python else "torchrun"


def _is_torchrun(start: Start) -> bool:
    return start.starter in STARTERS


def recognise(sight: Sight) -> str | None:
    return find_sign(sight, _SHARES_WORK, starter="torchrun") if is_plain(sight.command) else None


TORCHRUN = Launcher(
    name="torchrun",
    summary="torchrun on every node, one process a GPU",
    task_for_each_process=False,
    starts_the_rest=True,
    recognise=recognise,
    make_argv=make_argv,
)
