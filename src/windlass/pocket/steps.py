"""Steps of a job: which tasks where, and whether there are CPUs for them now."""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace

from windlass.pocket import processes, queue
from windlass.pocket.database import writing
from windlass.pocket.errors import PocketError
from windlass.pocket.model import Job, State, Step
from windlass.pocket.request import Options

_RETRY_S = 0.2


def spread(options: Options, job: Job, say: Callable[[str], None]) -> tuple[int, ...]:
    """Tasks of each node of a step, in blocks. Pure."""
    nodes = options.get("nodes", tuple)
    per_node, ntasks = options.get("ntasks-per-node", int), options.get("ntasks", int)
    count = nodes[0] if nodes else len(job.layout)
    if count > len(job.layout):
        raise PocketError(
            f"Unable to create step for job {job.id}: More nodes requested than the allocation has "
            f"({count} of {len(job.layout)})"
        )
    if ntasks is None:
        return (per_node or 1,) * count
    if per_node and not nodes:
        count = min(count, -(-ntasks // per_node))
    if ntasks < count:
        say(f"Warning: can't run {ntasks} processes on {count} nodes, setting nnodes to {ntasks}")
        count = ntasks
    whole = tuple(share.tasks for share in job.layout[:count])
    if sum(whole) == ntasks:
        return whole
    each, left = divmod(ntasks, count)
    return tuple(each + (1 if index < left else 0) for index in range(count))


def cpus_of(options: Options, job: Job, tasks: tuple[int, ...]) -> int:
    """CPUs a step takes from the others: all of its nodes, unless it is --exact. Pure."""
    per_task = options.get("cpus-per-task", int)
    exact = sum(tasks) * (per_task or 1)
    is_too_much = any(count * (per_task or 1) > share.cpus for count, share in zip(tasks, job.layout, strict=False))
    if is_too_much and "overcommit" not in options:
        raise PocketError(f"Unable to create step for job {job.id}: More processors requested than permitted")
    if "exact" in options or per_task is not None:
        return min(exact, job.cpus)
    return sum(share.cpus for share in job.layout[: len(tasks)])


def begin_step(db: sqlite3.Connection, job: Job, draft: Step, say: Callable[[str], None]) -> Step:
    """Enter a step as soon as the job has CPUs left for it."""
    told = False
    while True:
        with writing(db):
            steps = queue.fetch_steps(db, job)
            busy = sum(step.cpus for step in steps if _holds_cpus(step))
            if draft.is_shared or busy + draft.cpus <= job.cpus:
                number = 1 + max((int(step.step) for step in steps if step.step.isdigit()), default=-1)
                step = replace(draft, step=str(number), start_at=time.time())
                queue.insert_step(db, step)
                break
        if not told:
            say(f"Job {job.id} step creation temporarily disabled, retrying (Requested nodes are busy)")
            told = True
        time.sleep(_RETRY_S)
    if told:
        say(f"Step created for job {job.id}")
    return step


def _holds_cpus(step: Step) -> bool:
    if step.state is not State.RUNNING or step.is_shared or step.step == "batch":
        return False
    return processes.is_alive(step.pid)  # a killed srun wrote no end
