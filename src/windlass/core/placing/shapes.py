"""How a run is spread: how many nodes, and how many GPUs on each."""

from dataclasses import dataclass

from windlass.core.placing.queues import Queue
from windlass.core.run import Resources
from windlass.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many nodes, and how many GPUs on each."""

    nodes: int
    gpus_per_node: int


def make_shapes(resources: Resources, queue: Queue) -> Shape:
    """Nodes and GPUs a node for this queue; `gpus` of the whole run are spread over as few nodes as hold them."""
    if resources.gpus_per_node is not None:
        return Shape(nodes=resources.nodes or 1, gpus_per_node=resources.gpus_per_node)
    if resources.gpus is None:
        wants_one = resources.gpu is not None
        return Shape(nodes=resources.nodes or 1, gpus_per_node=1 if wants_one else 0)
    nodes = count_nodes(resources, queue)
    if resources.gpus % nodes:
        even = _find_even(resources.gpus, nodes, queue)
        raise PlanError(
            f"{resources.gpus} GPUs cannot be spread evenly over {nodes} nodes",
            hint=f"gpus = {even}" if even else None,
            about="gpus",
        )
    return Shape(nodes=nodes, gpus_per_node=resources.gpus // nodes)


def count_nodes(resources: Resources, queue: Queue) -> int:
    if resources.nodes is not None or resources.gpus is None or resources.gpus_per_node is not None:
        return resources.nodes or 1
    # Where it is not known how many GPUs a node has, one node is asked for all of them.
    return max(1, -(-resources.gpus // (queue.gpus or resources.gpus or 1)))


def _find_even(gpus: int, nodes: int, queue: Queue) -> int | None:
    """The next number that so many nodes can give: a little more, else a little less."""
    more = -(-gpus // nodes) * nodes
    return more if not queue.gpus or more <= nodes * queue.gpus else gpus // nodes * nodes or None


def wants_gpus(resources: Resources) -> bool:
    if resources.gpus_per_node is not None or resources.gpus is not None:
        return bool(resources.gpus_per_node or resources.gpus)
    return resources.gpu is not None
