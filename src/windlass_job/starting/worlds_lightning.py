"""Lightning's SLURMEnvironment, whose ways of reading Slurm's variables have traps."""

from typing import Dict, Mapping

from windlass_job.starting.ranks import read_counts


def make_lightning(env: Mapping[str, str]) -> Dict[str, str]:
    """It takes 127.0.0.1 for the first host where only SLURM_JOB_NODELIST is set, breaks on `2(x3)` tasks a node or
    none, and does not believe in Slurm in a job that is called bash or interactive.
    """
    counts = read_counts(env.get("SLURM_STEP_TASKS_PER_NODE") or env.get("SLURM_TASKS_PER_NODE") or "")
    made = {
        "SLURM_NTASKS": env.get("WORLD_SIZE", "1"),
        "SLURM_NTASKS_PER_NODE": str(counts[0] if counts else 1),
        "SLURM_NNODES": str(len(counts) or 1),
    }
    nodes = env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST")
    if nodes:
        made["SLURM_NODELIST"] = nodes
    if env.get("SLURM_JOB_NAME") in (None, "bash", "interactive"):
        made["SLURM_JOB_NAME"] = "windlass"
    return made
