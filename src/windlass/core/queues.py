"""The queues a run could go to: the site file's partitions joined with what was seen of them just now."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from windlass.core.facts import Facts, SeenPartition
from windlass.core.site import NodeType, Partition, Site

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Queue:
    """One partition with one kind of node. None: not known, so nothing is refused because of it."""

    name: str
    max_time: timedelta | None = None
    default_time: timedelta | None = None
    max_nodes: int | None = None
    min_nodes: int = 1
    cores: int | None = None  # of one node
    memory_mb: int | None = None
    gpu: str | None = None  # as Slurm spells it; "" is a GPU without a type
    gpus: int = 0
    knows_gpus: bool = True  # False: it may have some all the same
    cpus_per_gpu: int | None = None
    memory_mb_per_gpu: int | None = None
    whole_nodes: bool = False
    is_default: bool = False
    for_tests: bool = False
    is_up: bool = True  # False: jobs are taken and wait
    accounts: tuple[str, ...] = ()  # that may use it; empty: all
    forbidden: str | None = None


def make_queues(site: Site, facts: Facts) -> tuple[Queue, ...]:
    """What was seen wins over what was written; a partition only one of them knows counts too."""
    written = tuple(queue for one in site.partitions for queue in _from_file(site, one, facts.partition(one.name)))
    known = {queue.name for queue in written}
    seen = tuple(queue for one in facts.partitions or () if one.name not in known for queue in _from_survey(site, one))
    return written + seen


def _from_file(site: Site, partition: Partition, seen: SeenPartition | None) -> tuple[Queue, ...]:
    types: list[NodeType | None] = [found for name in partition.nodes if (found := site.node_type(name))]
    if not types and seen is not None:
        return tuple(_with_words(queue, partition) for queue in _from_survey(site, seen))
    return tuple(_from_node_type(site, partition, one, seen) for one in types or [None])


def _from_node_type(site: Site, partition: Partition, known: NodeType | None, live: SeenPartition | None) -> Queue:
    seen = live or SeenPartition(name=partition.name)
    node = known or NodeType(name="")
    kind = site.gpu(node.gpu) if node.gpu else None
    whole = partition.whole_nodes if partition.whole_nodes is not None else site.rules.whole_nodes
    return Queue(
        name=partition.name,
        max_time=_first(seen.max_time, partition.max_time),
        default_time=_first(seen.default_time, partition.default_time),
        max_nodes=_first(seen.max_nodes, partition.max_nodes, node.count),
        min_nodes=partition.min_nodes,
        cores=_first(node.cores, seen.cpus_per_node),
        memory_mb=_megabytes(node.memory_gb) or seen.memory_mb_per_node,
        gpu=((kind.spelled or kind.name) if kind else node.gpu) if node.gpus else None,
        gpus=node.gpus,
        knows_gpus=known is not None,
        cpus_per_gpu=node.cpus_per_gpu,
        memory_mb_per_gpu=_megabytes(node.memory_per_gpu_gb),
        whole_nodes=whole or seen.whole_nodes,
        is_default=partition.is_default or seen.is_default,
        for_tests=partition.for_tests,
        is_up=_is_up(seen),
        accounts=seen.allow_accounts or partition.accounts,
        forbidden=partition.forbidden or _find_closed(seen),
    )


def _from_survey(site: Site, seen: SeenPartition) -> tuple[Queue, ...]:
    base = Queue(
        name=seen.name,
        max_time=seen.max_time,
        default_time=seen.default_time,
        max_nodes=seen.max_nodes or seen.nodes,
        cores=seen.cpus_per_node,
        memory_mb=seen.memory_mb_per_node,
        whole_nodes=seen.whole_nodes or site.rules.whole_nodes,
        is_default=seen.is_default,
        is_up=_is_up(seen),
        accounts=seen.allow_accounts,
        forbidden=_find_closed(seen),
    )
    if not seen.gpus:
        # Where not even the cores were seen, having no GPU was not seen either.
        return (replace(base, knows_gpus=seen.cpus_per_node is not None),)
    return tuple(replace(base, gpu=kind, gpus=count) for kind, count in seen.gpus)


def _is_up(seen: SeenPartition) -> bool:
    return seen.state.upper() == "UP"


def _find_closed(seen: SeenPartition) -> str | None:
    """A partition that is DOWN takes jobs, which wait; one of these takes none."""
    return f"it is {seen.state} now" if seen.state.upper() in ("DRAIN", "INACTIVE") else None


def _with_words(queue: Queue, partition: Partition) -> Queue:
    """What only a person knows about a partition whose nodes were seen."""
    return replace(
        queue,
        min_nodes=partition.min_nodes,
        whole_nodes=queue.whole_nodes if partition.whole_nodes is None else partition.whole_nodes,
        accounts=queue.accounts or partition.accounts,
        for_tests=partition.for_tests,
        forbidden=partition.forbidden or queue.forbidden,
        is_default=queue.is_default or partition.is_default,
        max_nodes=partition.max_nodes or queue.max_nodes,
        max_time=queue.max_time or partition.max_time,
        default_time=queue.default_time or partition.default_time,
    )


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def _megabytes(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else int(gigabytes * 1000)
