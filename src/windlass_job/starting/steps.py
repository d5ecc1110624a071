"""A step of srun as its tasks see it: how many ranks, which one this is, and where each node is reached."""

from typing import List, Mapping, NamedTuple

from windlass_job import slurm, wire
from windlass_job.starting import ports
from windlass_job.starting.hostlist import read_hosts
from windlass_job.starting.ranks import LOOPBACK, make_rendezvous, read_counts

Step = NamedTuple(
    "Step",
    [
        ("rank", int),
        ("size", int),
        ("local_rank", int),
        ("node", int),  # which of the nodes
        ("counts", List[int]),  # of ranks on each node
        ("hosts", List[str]),  # where each node is reached, in the order of their ranks
        ("first_port", int),  # of the job's own that nobody has yet
        ("is_one_machine", bool),  # the nodes are only pretended
    ],
)


def read_step(env: Mapping[str, str]) -> Step:
    """Of a task of srun. Tasks fill one node after another, as the launchers ask for."""
    is_one_machine = bool(env.get(wire.ENV_POCKET_JOB))
    names = read_hosts(env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST") or "localhost")
    suffix = env.get(wire.ENV_HOST_SUFFIX, "")
    counts = read_counts(env.get("SLURM_STEP_TASKS_PER_NODE") or env.get("SLURM_TASKS_PER_NODE") or "1")
    return Step(
        rank=slurm.read_number(env, "SLURM_PROCID", 0),
        size=slurm.read_number(env, "SLURM_STEP_NUM_TASKS", sum(counts)),
        local_rank=slurm.read_number(env, "SLURM_LOCALID", 0),
        node=slurm.read_number(env, "SLURM_NODEID", 0),
        counts=counts,
        hosts=[LOOPBACK if is_one_machine else name + suffix for name in names],
        first_port=read_first_port(env),
        is_one_machine=is_one_machine,
    )


def read_first_port(env: Mapping[str, str]) -> int:
    block = slurm.read_number(env, wire.ENV_PORTS, 0)
    if block:
        return block + ports.FIRST_FREE
    # Without the agent's word: MASTER_PORT has its place in the block.
    master = env.get("MASTER_PORT") or make_rendezvous(env).get("MASTER_PORT", "15001")
    return int(master) - wire.MASTER_PLACE + ports.FIRST_FREE
