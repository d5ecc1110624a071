"""What this node gives to the job, and which of it each task sees."""

import os
from typing import Dict, List, Mapping

from windlass_job import cgroups, slurm
from windlass_job.farming.slots import Need, Node, Slot, make_variables, read_gpus

_RANKS = ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_RANKS_OF_SLURM = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_")
_MEMORY = "SLURM_MEM_PER_NODE"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def load_node(env: Mapping[str, str]) -> Node:
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    allowed = slurm.read_number(env, "SLURM_CPUS_ON_NODE", 0)
    memory_mb = cgroups.load_usage().get("memory_limit_mb") or slurm.read_number(env, _MEMORY, 0)
    gpus = read_gpus(env)
    if 0 < allowed < len(cores):
        # No cpuset: which of them are this job's nobody says, and another pilot would choose the same ones.
        return Node(allowed, [], gpus, int(memory_mb) or None)
    return Node(len(cores), cores, gpus, int(memory_mb) or None)


def make_all_variables(slots: "List[Slot]", need: Need, env: Mapping[str, str]) -> "List[Dict[str, str]]":
    """Of each slot. How many threads a task may have is the user's to say."""
    memory = _share_memory(len(slots), need, env)
    made = [dict(make_variables(slot, need, env), **memory) for slot in slots]
    return [{name: one[name] for name in one if name not in _THREADS or name not in env} for one in made]


def _share_memory(slots: int, need: Need, env: Mapping[str, str]) -> "Dict[str, str]":
    """As Slurm would say it to a job of the task's own."""
    there = slurm.read_number(env, _MEMORY, 0)
    return {_MEMORY: str(need.memory_mb or there // max(slots, 1))} if there else {}


def leave_out_ranks(env: Mapping[str, str]) -> "Dict[str, str]":
    """Of the pilot: a task that found them would take itself for one of several, and wait for the others."""
    return {name: value for name, value in env.items() if name not in _RANKS and not name.startswith(_RANKS_OF_SLURM)}
