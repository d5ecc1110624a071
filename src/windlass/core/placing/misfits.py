"""Why a queue cannot take a run: its nodes are too small, too few, of another kind, or not for this user."""

import re

from windlass.core.placing.queues import Queue
from windlass.core.placing.shapes import Shape, make_shapes, wants_gpus
from windlass.core.run import Resources
from windlass.core.site import Site
from windlass.errors import PlanError

# Only what is plainly "this and that": the rest of Slurm's language of constraints is Slurm's to judge.
_PLAIN_CONSTRAINT = re.compile(r"[\w.\-]+(?:&[\w.\-]+)*", re.ASCII)


def find_misfit(resources: Resources, site: Site, queue: Queue) -> str | None:
    """In words; None when it can."""
    if queue.forbidden:
        return queue.forbidden
    if queue.needs_reservation and resources.reservation is None:
        return "it takes only jobs with a reservation"
    if queue.gpus == 0 and queue.knows_gpus and wants_gpus(resources):
        return "its nodes have no GPUs"
    try:
        shape = make_shapes(resources, queue)
    except PlanError as problem:
        return problem.message + (f"; {problem.hint}" if problem.hint else "")
    if shape.gpus_per_node > queue.gpus > 0:
        return f"its nodes have {queue.gpus} GPUs, you ask for {shape.gpus_per_node} on each"
    if resources.gpu and queue.gpus and shape.gpus_per_node and not is_kind(resources.gpu, site, queue):
        return f"its GPUs are {queue.gpu or queue.kind or 'without a type'}, you ask for {resources.gpu}"
    return _find_size_misfit(resources, queue, shape) or _find_feature_misfit(resources, queue)


def is_kind(wanted: str, site: Site, queue: Queue) -> bool:
    kind = site.gpu(wanted)
    names = {(kind.spelled or kind.name).lower(), kind.name.lower()} if kind else {wanted.lower()}
    return bool(names & {(queue.gpu or "").lower(), (queue.kind or "").lower()})


def _find_size_misfit(resources: Resources, queue: Queue, shape: Shape) -> str | None:
    if shape.nodes < queue.min_nodes:
        return f"it gives at least {queue.min_nodes} nodes, you ask for {shape.nodes}"
    if queue.max_nodes is not None and shape.nodes > queue.max_nodes:
        return f"it gives at most {queue.max_nodes} nodes, you ask for {shape.nodes}"
    cpus = queue.askable_cpus
    if cpus is not None and (resources.cpus or 0) > cpus:
        return f"its nodes have {cpus} cores, you ask for {resources.cpus} in one task"
    if queue.memory_mb is not None and (resources.memory_mb or 0) > queue.memory_mb:
        return f"its nodes have {queue.memory_mb} MB of memory, you ask for {resources.memory_mb} MB"
    return None


def _find_feature_misfit(resources: Resources, queue: Queue) -> str | None:
    asked = resources.constraint
    if not asked or not any(queue.features) or _PLAIN_CONSTRAINT.fullmatch(asked) is None:
        return None
    wanted = set(asked.split("&"))
    if any(wanted <= set(features) for features in queue.features):
        return None
    known = sorted({name for features in queue.features for name in features})
    return f"its nodes have the features {', '.join(known)}, you ask for {asked}"
