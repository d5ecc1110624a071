"""Where this process stands among all of the job's: from Slurm's variables to those that PyTorch reads."""

import re
from typing import Dict, List, Mapping, Optional

from windlass_job import wire
from windlass_job.starting.hostlist import read_first_host
from windlass_job.starting.ports import get_master_port

LOOPBACK = "127.0.0.1"


def make_rendezvous(env: Mapping[str, str]) -> Dict[str, str]:
    """MASTER_ADDR and MASTER_PORT: the same on every node, and another port for another job.

    The agent has looked whether the port is free, and its word comes first: this is for tasks without one.
    """
    nodes = env.get("SLURM_JOB_NODELIST") or env.get("SLURM_NODELIST")
    job = env.get("SLURM_JOB_ID", "")
    if not nodes or not job.isdigit():
        return {}
    return {
        "MASTER_ADDR": LOOPBACK
        if env.get(wire.ENV_POCKET_JOB)
        else read_first_host(nodes) + env.get(wire.ENV_HOST_SUFFIX, ""),
        "MASTER_PORT": str(get_master_port(int(job))),
    }


def make_ranks(env: Mapping[str, str]) -> Dict[str, str]:
    """What torch.distributed's env:// reads, for a task of srun. Outside of one: nothing."""
    if not env.get("SLURM_PROCID"):
        return {}
    node = env.get("SLURM_NODEID", "0")
    return {
        "RANK": env["SLURM_PROCID"],
        "WORLD_SIZE": env.get("SLURM_STEP_NUM_TASKS") or env.get("SLURM_NTASKS") or "1",
        "LOCAL_RANK": env.get("SLURM_LOCALID", "0"),
        "LOCAL_WORLD_SIZE": str(_count_local_tasks(env, int(node)) or 1),
        "NODE_RANK": node,
        "GROUP_RANK": node,
    }


def _count_local_tasks(env: Mapping[str, str], node: int) -> Optional[int]:
    counts = read_counts(env.get("SLURM_STEP_TASKS_PER_NODE") or env.get("SLURM_TASKS_PER_NODE") or "")
    return counts[node] if node < len(counts) else None


def read_counts(text: str) -> List[int]:
    """`4(x2),3` -> 4, 4, 3"""
    counts: List[int] = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", text):
        counts.extend([int(count)] * int(times or 1))
    return counts
