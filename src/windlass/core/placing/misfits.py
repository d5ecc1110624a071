"""Why a queue cannot take a run: its nodes are too small, too few, of another kind, or not for this user."""

import re
from collections.abc import Callable, Iterable

from windlass.core.placing.queues import Queue
from windlass.core.placing.shapes import count_nodes, make_shapes, wants_gpus
from windlass.core.run import Resources
from windlass.core.site import Site
from windlass.errors import PlanError

# Only what is plainly "this and that": the rest of Slurm's language of constraints is Slurm's to judge.
_PLAIN_CONSTRAINT = re.compile(r"[\w.\-]+(?:&[\w.\-]+)*", re.ASCII)


def find_misfit(resources: Resources, site: Site, queue: Queue) -> str | None:
    """In words; None when it can."""
    return next((words for test in _TESTS if (words := test(resources, site, queue))), None)


def find_closest_misfit(resources: Resources, site: Site, queues: Iterable[Queue]) -> str | None:
    """Of the kinds of node of one partition, none of which can: that of the kind which fails last."""
    told = [
        next(((at, words) for at, test in enumerate(_TESTS) if (words := test(resources, site, queue))), (-1, ""))
        for queue in queues
    ]
    return max(told, key=lambda one: one[0], default=(-1, ""))[1] or None


def is_kind(wanted: str, site: Site, queue: Queue) -> bool:
    kind = site.gpu(wanted)
    names = {(kind.spelled or kind.name).lower(), kind.name.lower()} if kind else {wanted.lower()}
    return bool(names & {(queue.gpu or "").lower(), (queue.kind or "").lower()})


def _find_closed(resources: Resources, site: Site, queue: Queue) -> str | None:
    if queue.needs_reservation and resources.reservation is None:
        return queue.forbidden or "it takes only jobs with a reservation"
    return queue.forbidden


def _find_no_gpus(resources: Resources, site: Site, queue: Queue) -> str | None:
    return "its nodes have no GPUs" if queue.gpus == 0 and queue.knows_gpus and wants_gpus(resources) else None


def _find_other_kind(resources: Resources, site: Site, queue: Queue) -> str | None:
    if resources.gpu and queue.gpus and wants_gpus(resources) and not is_kind(resources.gpu, site, queue):
        return f"its GPUs are {queue.gpu or queue.kind or 'without a type'}, you ask for {resources.gpu}"
    return None


def _find_shape_misfit(resources: Resources, site: Site, queue: Queue) -> str | None:
    nodes = count_nodes(resources, queue)
    if queue.max_nodes is not None and nodes > queue.max_nodes:
        return f"it gives at most {_count(queue.max_nodes, 'node')}, {_tell_nodes(resources, queue, nodes)}"
    try:
        shape = make_shapes(resources, queue)
    except PlanError as problem:
        return problem.message + (f"; {problem.hint}" if problem.hint else "")
    if shape.gpus_per_node > queue.gpus > 0:
        return f"its nodes have {queue.gpus} GPUs, you ask for {shape.gpus_per_node} on each"
    if shape.nodes < queue.min_nodes:
        return f"it gives at least {queue.min_nodes} nodes, you ask for {shape.nodes}"
    return None


def _tell_nodes(resources: Resources, queue: Queue, nodes: int) -> str:
    if resources.nodes is None and resources.gpus is not None:
        return f"{resources.gpus} GPUs need {nodes}; gpus = {(queue.max_nodes or 1) * queue.gpus}"
    return f"you ask for {nodes}"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _find_size_misfit(resources: Resources, site: Site, queue: Queue) -> str | None:
    cpus = queue.askable_cpus
    if cpus is not None and (resources.cpus or 0) > cpus:
        return f"its nodes have {cpus} cores, you ask for {resources.cpus} in one task"
    if queue.memory_mb is not None and (resources.memory_mb or 0) > queue.memory_mb:
        return f"its nodes have {queue.memory_mb} MB of memory, you ask for {resources.memory_mb} MB"
    return None


def _find_feature_misfit(resources: Resources, site: Site, queue: Queue) -> str | None:
    asked = resources.constraint
    if not asked or not any(queue.features) or _PLAIN_CONSTRAINT.fullmatch(asked) is None:
        return None
    wanted = set(asked.split("&"))
    if any(wanted <= set(features) for features in queue.features):
        return None
    known = sorted({name for features in queue.features for name in features})
    return f"its nodes have the features {', '.join(known)}, you ask for {asked}"


# From what rules a queue out altogether to what is nearly right.
_TESTS: tuple[Callable[[Resources, Site, Queue], str | None], ...] = (
    _find_closed,
    _find_no_gpus,
    _find_other_kind,
    _find_shape_misfit,
    _find_size_misfit,
    _find_feature_misfit,
)
