"""The queues a run could go to: the site file's partitions joined with what was seen of them just now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import TypeVar

from windlass.core.facts import Facts, NodeShape, SeenPartition
from windlass.core.site import GpuDialect, NodeType, Partition, Site

T = TypeVar("T")
_NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Queue:
    """One partition with one kind of node. None: not known, so nothing is refused because of it."""

    name: str
    max_time: timedelta | None = None
    default_time: timedelta | None = None
    count: int | None = None  # nodes of this kind
    max_nodes: int | None = None  # of one job: the partition's limit, or as many as there are that hold as much
    min_nodes: int = 1
    cores: int | None = None  # of one node
    cpus: int | None = None  # what a job may ask of one node, as Slurm counts; None: as the cores
    memory_mb: int | None = None
    memory_was_seen: bool = False  # False: a data sheet says it, and a node offers a little less
    gpu: str | None = None  # as Slurm spells it; "" is a GPU without a type
    kind: str | None = None  # of the GPU, as the site file calls it
    gpus: int = 0
    knows_gpus: bool = True  # False: it may have some all the same
    is_mixed: bool = False  # other nodes of the partition have no GPUs: it is for other work too
    cpus_per_gpu: int | None = None
    memory_mb_per_gpu: int | None = None
    default_cpus_per_gpu: int | None = None  # what a job gets that does not ask
    default_memory_mb_per_gpu: int | None = None
    max_memory_mb_per_cpu: int | None = None
    features: tuple[tuple[str, ...], ...] = ()  # of the nodes of this kind, each set once; empty: not known
    written_features: tuple[str, ...] = ()  # of those, what the site file knows
    architecture: str | None = None
    whole_nodes: bool = False
    is_default: bool = False
    for_tests: bool = False
    is_up: bool = True  # False: jobs are taken and wait
    is_seen: bool = True  # False: Slurm showed its partitions, and this was not among them
    preempts: bool = False  # its jobs may be pushed out
    accounts: tuple[str, ...] = ()  # that may use it; empty: all
    not_accounts: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()  # that may be used in it; empty: all
    not_qos: tuple[str, ...] = ()
    own_qos: str | None = None  # whose limits hold for all its jobs
    needs_reservation: bool = False
    forbidden: str | None = None
    billing_weights: Mapping[str, float] = field(default_factory=lambda: _NO_WEIGHTS)

    @property
    def askable_cpus(self) -> int | None:
        return self.cores if self.cpus is None else self.cpus


def make_queues(site: Site, facts: Facts) -> tuple[Queue, ...]:
    """What was seen wins over what was written; a partition only one of them knows counts too."""
    written = tuple(queue for one in site.partitions for queue in _from_file(site, one, facts))
    known = {queue.name for queue in written}
    seen = tuple(
        queue for one in facts.partitions or () if one.name not in known for queue in _from_survey(site, one, facts)
    )
    found = _mark_mixed(written + seen)
    # On a laptop nodes are pretended: there are as many as a job likes, on the one machine.
    return tuple(replace(one, count=None, max_nodes=None) for one in found) if site.rules.cuts_to_fit else found


def _mark_mixed(queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
    without = {queue.name for queue in queues if not queue.gpus and queue.knows_gpus}
    return tuple(replace(one, is_mixed=True) if one.gpus and one.name in without else one for one in queues)


def _from_file(site: Site, partition: Partition, facts: Facts) -> tuple[Queue, ...]:
    types = [found for name in partition.nodes if (found := site.node_type(name))]
    seen = facts.partition(partition.name)
    if seen is not None and (seen.shapes or not types):
        queues = _from_survey(site, seen, facts, types)
    else:
        base = _make_base(site, seen or SeenPartition(name=partition.name), facts)
        known: list[NodeType | None] = [*types] or [None]
        queues = tuple(_add_node_type(site, base, one, seen) for one in known)
    knows = facts.partitions is not None and site.rules.names_partition
    return tuple(_add_words(site, queue, partition, seen, knows_partitions=knows) for queue in queues)


def _make_base(site: Site, seen: SeenPartition, facts: Facts) -> Queue:
    """What holds for all its nodes."""
    return Queue(
        name=seen.name,
        max_time=seen.max_time,
        default_time=seen.default_time,
        max_nodes=seen.max_nodes or seen.nodes,
        min_nodes=seen.min_nodes or 1,
        default_cpus_per_gpu=seen.default_cpus_per_gpu,
        default_memory_mb_per_gpu=seen.default_memory_mb_per_gpu,
        max_memory_mb_per_cpu=seen.max_memory_mb_per_cpu,
        whole_nodes=seen.whole_nodes or site.rules.whole_nodes,
        is_default=seen.is_default,
        is_up=seen.state.upper() == "UP",
        preempts=bool(seen.preempts),
        accounts=seen.allow_accounts,
        not_accounts=seen.deny_accounts,
        qos=seen.allow_qos,
        not_qos=seen.deny_qos,
        own_qos=seen.qos,
        needs_reservation=seen.needs_reservation,
        forbidden=_find_closed(seen, facts),
        billing_weights=seen.billing_weights,
        # A machine of one's own has other things to do too.
        memory_was_seen=not site.rules.cuts_to_fit and bool(seen.shapes or seen.memory_mb_per_node),
    )


# ---- nodes that were seen ---------------------------------------------------------------------------


def _from_survey(
    site: Site, seen: SeenPartition, facts: Facts, types: Iterable[NodeType] | None = None
) -> tuple[Queue, ...]:
    base = _make_base(site, seen, facts)
    if not seen.shapes:
        return _from_largest(base, seen)
    candidates = tuple(site.node_types if types is None else types)
    kinds = _merge(seen.shapes)
    return tuple(
        queue
        for shape, features in kinds.items()
        for queue in _from_shape(site, base, shape, candidates, seen=seen, features=features)
    )


def _from_largest(base: Queue, seen: SeenPartition) -> tuple[Queue, ...]:
    """Only the most of one node was told."""
    count = seen.nodes if len(seen.gpus) < 2 else None
    base = replace(base, count=count, cores=seen.cpus_per_node, memory_mb=seen.memory_mb_per_node)
    if not seen.gpus:
        # Where not even the cores were seen, having no GPU was not seen either.
        return (replace(base, knows_gpus=seen.cpus_per_node is not None),)
    return tuple(replace(base, gpu=kind, gpus=count) for kind, count in seen.gpus)


def _merge(shapes: Iterable[NodeShape]) -> dict[NodeShape, tuple[tuple[str, ...], ...]]:
    """Nodes that differ in their features only are one kind; how many there are is counted later."""
    merged: dict[NodeShape, dict[tuple[str, ...], None]] = {}
    for shape in shapes:
        merged.setdefault(replace(shape, nodes=None, features=()), {})[shape.features] = None
    return {shape: tuple(features) for shape, features in merged.items()}


def _from_shape(
    site: Site,
    base: Queue,
    shape: NodeShape,
    types: tuple[NodeType, ...],
    *,
    seen: SeenPartition,
    features: tuple[tuple[str, ...], ...],
) -> Iterable[Queue]:
    cores = shape.cores if shape.cores is None or shape.cpus is None else min(shape.cores, shape.cpus)
    queue = replace(
        base,
        cores=_first(cores, shape.cpus),
        cpus=_least(shape.cpus, seen.max_cpus_per_node),
        memory_mb=_least(shape.memory_mb, seen.max_memory_mb_per_node),
        features=features,
        count=_add_up(one for one in seen.shapes if _is_alike(one, shape)),
        max_nodes=_least(seen.max_nodes, _count_as_large(shape, seen.shapes)),
    )
    for kind, count in shape.gpus or ((None, 0),):
        node = _find_type(site, types, shape, kind=kind, count=count, features=features)
        yield _add_advice(site, replace(queue, gpu=kind, gpus=count), node)


def _count_as_large(wanted: NodeShape, shapes: Iterable[NodeShape]) -> int | None:
    """Nodes of the partition that hold a job made for this kind: a job without GPUs may use nodes that have some."""
    return _add_up(one for one in shapes if _holds(one, wanted))


def _add_up(shapes: Iterable[NodeShape]) -> int | None:
    counts = [one.nodes for one in shapes]
    return None if None in counts else sum(count or 0 for count in counts)


def _is_alike(one: NodeShape, kind: NodeShape) -> bool:
    return replace(one, nodes=None, features=()) == kind


def _holds(one: NodeShape, wanted: NodeShape) -> bool:
    gpus = dict(one.gpus)
    return (
        (one.cpus or 0) >= (wanted.cpus or 0)
        and (one.memory_mb or 0) >= (wanted.memory_mb or 0)
        and all(gpus.get(kind, 0) >= count for kind, count in wanted.gpus)
    )


def _find_type(
    site: Site,
    types: tuple[NodeType, ...],
    shape: NodeShape,
    *,
    kind: str | None,
    count: int,
    features: tuple[tuple[str, ...], ...],
) -> NodeType | None:
    """What the file says of such nodes: the same GPUs, and the same cores where several have them."""
    # Where GPUs are a feature, Slurm need not count them.
    by_feature = site.rules.gpu_dialect is GpuDialect.CONSTRAINT and not count
    fitting = [
        one
        for one in types
        if (by_feature and _has_features(one, features))
        or (one.gpus == count and (not count or kind == "" or _spell(site, one).lower() == (kind or "").lower()))
    ]
    exact = [one for one in fitting if one.cores in (shape.cores, shape.cpus)]
    if count and kind:
        return next(iter(exact or fitting), None)
    return next(iter(exact), None) or (fitting[0] if len(fitting) == 1 else None)


def _has_features(node: NodeType, features: tuple[tuple[str, ...], ...]) -> bool:
    return bool(node.features) and all(set(node.features) <= set(one) for one in features)


def _add_advice(site: Site, queue: Queue, node: NodeType | None) -> Queue:
    if node is None:
        known = site.gpu(queue.gpu) if queue.gpu else None
        return replace(queue, kind=known.name if known else None)
    is_feature = site.rules.gpu_dialect is GpuDialect.CONSTRAINT and not queue.gpus and node.gpus
    return replace(
        queue,
        gpus=node.gpus if is_feature else queue.gpus,
        gpu=_spell(site, node) if is_feature else queue.gpu,
        kind=node.gpu if node.gpus else None,
        cpus_per_gpu=node.cpus_per_gpu,
        memory_mb_per_gpu=_megabytes(node.memory_per_gpu_gb),
        written_features=node.features,
        architecture=node.architecture,
    )


# ---- nodes that were only written -------------------------------------------------------------------


def _add_node_type(site: Site, base: Queue, known: NodeType | None, live: SeenPartition | None) -> Queue:
    node = known or NodeType(name="")
    seen = live or SeenPartition(name=base.name)
    return replace(
        base,
        count=node.count if known else seen.nodes,
        max_nodes=_first(seen.max_nodes, node.count),
        cores=_first(node.cores, seen.cpus_per_node),
        cpus=_least(_first(node.cores, seen.cpus_per_node), seen.max_cpus_per_node),
        memory_mb=_least(_megabytes(node.memory_gb) or seen.memory_mb_per_node, seen.max_memory_mb_per_node),
        memory_was_seen=base.memory_was_seen and node.memory_gb is None,
        gpu=_spell(site, node) if node.gpus else None,
        kind=node.gpu if node.gpus else None,
        gpus=node.gpus,
        knows_gpus=known is not None,
        cpus_per_gpu=node.cpus_per_gpu,
        memory_mb_per_gpu=_megabytes(node.memory_per_gpu_gb),
        features=(node.features,) if node.features else (),
        written_features=node.features,
        architecture=node.architecture if known else None,
    )


def _add_words(
    site: Site, queue: Queue, partition: Partition, live: SeenPartition | None, *, knows_partitions: bool
) -> Queue:
    """What only a person knows about a partition."""
    seen = live or SeenPartition(name=partition.name)
    whole = site.rules.whole_nodes if partition.whole_nodes is None else partition.whole_nodes
    return replace(
        queue,
        min_nodes=max(queue.min_nodes, partition.min_nodes),
        max_nodes=_least(queue.max_nodes, partition.max_nodes) if seen.max_nodes is None else queue.max_nodes,
        whole_nodes=whole or seen.whole_nodes,
        is_seen=live is not None or not knows_partitions,
        accounts=queue.accounts or partition.accounts,
        qos=queue.qos or partition.qos,
        for_tests=partition.for_tests,
        forbidden=queue.forbidden or _find_barred(site, partition, seen),
        is_default=queue.is_default or partition.is_default,
        max_time=_first(queue.max_time, partition.max_time),
        default_time=_first(queue.default_time, partition.default_time),
        default_cpus_per_gpu=_first(queue.default_cpus_per_gpu, partition.default_cpus_per_gpu),
        default_memory_mb_per_gpu=_first(
            queue.default_memory_mb_per_gpu, _megabytes(partition.default_memory_per_gpu_gb)
        ),
    )


# ---- who may not ------------------------------------------------------------------------------------


def _find_closed(seen: SeenPartition, facts: Facts) -> str | None:
    """A partition that is DOWN takes jobs, which wait; one of these takes none of this user's."""
    if seen.state.upper() in ("DRAIN", "INACTIVE"):
        return f"it is {seen.state} now"
    if seen.only_root and facts.user != "root":
        return "only root may use it"
    if seen.allow_groups and facts.groups is not None and not set(seen.allow_groups) & set(facts.groups):
        return f"it is for the Unix groups {', '.join(seen.allow_groups)} only"
    return None


def _find_barred(site: Site, partition: Partition, seen: SeenPartition) -> str | None:
    """By the file's words, unless Slurm itself names the accounts: then these decide."""
    if partition.forbidden is None and seen.allow_accounts:
        return None
    return site.find_closed(partition)


def _spell(site: Site, node: NodeType) -> str:
    kind = site.gpu(node.gpu) if node.gpu else None
    return (kind.spelled or kind.name) if kind else node.gpu or ""


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _megabytes(gigabytes: float | None) -> int | None:
    return None if gigabytes is None else int(gigabytes * 1000)
