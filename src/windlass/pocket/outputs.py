"""Where the output of a batch job goes. Pure."""

from windlass.pocket.model import Job

_NO_VALUE = "4294967294"  # 2^32 - 2: Slurm really writes that for %a outside of an array


def output_pattern(job: Job) -> str:
    return job.request.output or ("slurm-%A_%a.out" if job.array_id is not None else "slurm-%j.out")


def output_values(job: Job) -> dict[str, str]:
    """The letters of --output in a batch job."""
    is_task = job.array_id is not None
    return {
        "A": str(job.array_id if is_task else job.id),
        "a": str(job.array_index) if is_task else _NO_VALUE,
        "J": str(job.id),
        "j": str(job.id),
        "N": job.node_names[0],
        "n": "0",
        "s": "batch",
        "t": "0",
        "u": job.request.user,
        "x": job.name,
    }
