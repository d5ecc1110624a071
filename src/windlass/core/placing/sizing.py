"""What a job asks of each node: CPUs and memory in proportion to its GPUs, and the GPUs in the site's own spelling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from windlass.core.placing.access import find_caps
from windlass.core.placing.misfits import find_misfit
from windlass.core.placing.place import Place
from windlass.core.placing.queues import Queue
from windlass.core.placing.shapes import Shape
from windlass.core.plan import Reason
from windlass.core.run import Resources
from windlass.core.site import Site
from windlass.core.size import Size

_CPUS_WHEN_NOTHING_IS_SAID = 4


@dataclass(frozen=True, kw_only=True)
class Share:
    """Of one node."""

    cpus_per_task: int
    memory_mb: int | None  # 0 is all of it; None is not to ask
    reasons: tuple[Reason, ...] = ()


def choose_share(
    resources: Resources, site: Site, place: Place, *, tasks: int, kin: Sequence[Queue], is_counted: bool | None
) -> Share:
    """`kin` are the kinds of node that may come where no kind of GPU is named: a share that each of them has."""
    cpus, cpu_reason = _choose_cpus(resources, place, tasks, kin)
    memory, memory_reason = _choose_memory(resources, site, place, cpus * tasks, kin=kin, is_counted=is_counted)
    reasons = tuple(reason for reason in (cpu_reason, memory_reason) if reason is not None)
    return Share(cpus_per_task=cpus, memory_mb=memory, reasons=reasons)


def _choose_cpus(resources: Resources, place: Place, tasks: int, kin: Sequence[Queue]) -> tuple[int, Reason | None]:
    if resources.cpus is not None:
        return resources.cpus, None
    queue, gpus = place.queue, place.shape.gpus_per_node
    there = queue.askable_cpus
    if resources.exclusive or queue.whole_nodes:
        share, why = there, "the whole node"
    elif gpus:
        share, why = _find_least(_find_share_of_gpus(one, gpus) for one in (queue, *kin))
    else:
        share = None if there is None else min(there, _CPUS_WHEN_NOTHING_IS_SAID)
        why = "a modest share; set resources.cpus"
    if share is None:
        return 1, None
    share, why = _cap(share, why, there, find_caps(place.association, place.levels), nodes=place.shape.nodes)
    cpus = max(1, share // tasks)
    return cpus, Reason(field="cpus", value=str(cpus), why=why)


def find_most_cpus(queues: Sequence[Queue], gpus: int) -> int | None:
    """What a job may sensibly ask of one node, whichever of these kinds comes: its GPUs' share, else the whole node."""
    shares = [one.askable_cpus if not gpus or one.whole_nodes else _find_share_of_gpus(one, gpus)[0] for one in queues]
    return min((share for share in shares if share is not None), default=None)


def _find_least(shares: Iterable[tuple[int | None, str]]) -> tuple[int | None, str]:
    """The first where they are alike; a node that gives less must be able to hold the job too."""
    first, *others = shares
    known = [number for number, _ in (first, *others) if number is not None]
    if first[0] is None or min(known) == first[0]:
        return first
    return min(known), "the smallest share of the kinds of node that may come; name resources.gpu for more"


def _find_share_of_gpus(queue: Queue, gpus: int) -> tuple[int | None, str]:
    there = queue.askable_cpus
    if queue.cpus_per_gpu:
        return queue.cpus_per_gpu * gpus, f"the site advises {queue.cpus_per_gpu} for each GPU"
    if there is not None:
        return there // (queue.gpus or gpus) * gpus, "the GPUs' share of the node's cores"
    if queue.default_cpus_per_gpu:
        return queue.default_cpus_per_gpu * gpus, f"the site gives {queue.default_cpus_per_gpu} for each GPU"
    return None, ""


def _cap(
    share: int, why: str, there: int | None, caps: Mapping[str, tuple[int, str]], *, nodes: int
) -> tuple[int, str]:
    """No more than a node has, nor than the account and the QOS give one job."""
    if there is not None and share > there:
        share, why = there, "all that a node gives"
    most, whose = caps.get("cpu", (share * nodes, ""))
    return (max(1, most // nodes), f"{whose} gives at most {most} CPUs") if share * nodes > most else (share, why)


def _choose_memory(
    resources: Resources, site: Site, place: Place, cpus: int, *, kin: Sequence[Queue], is_counted: bool | None
) -> tuple[int | None, Reason | None]:
    queue = place.queue
    if not site.rules.memory_can_be_asked:
        return None, None
    if resources.memory_mb is not None:
        return resources.memory_mb, None
    if is_counted is False:
        return None, Reason(field="memory", value="not asked", why="Slurm does not count memory here")
    if resources.exclusive or queue.whole_nodes:
        return 0, Reason(field="memory", value="all", why="the whole node is yours")
    memory, why = _find_least(_find_share_of_memory(one, place.shape, cpus) for one in (queue, *kin))
    if memory is None:
        return None, None
    most, whose = find_caps(place.association, place.levels).get("mem", (memory * place.shape.nodes, ""))
    if memory * place.shape.nodes > most:
        memory, why = most // place.shape.nodes, f"{whose} gives at most {most} MB"
    memory = max(1, memory)
    return memory, Reason(field="memory", value=f"{memory} MB", why=why)


def _find_share_of_memory(queue: Queue, shape: Shape, cpus: int) -> tuple[int | None, str]:
    gpus, there = shape.gpus_per_node, queue.memory_mb
    if gpus and queue.memory_mb_per_gpu and not queue.memory_was_seen:
        share, why = queue.memory_mb_per_gpu * gpus, "the GPUs' share of the node's memory"
    elif gpus and there is not None:
        share, why = there // (queue.gpus or gpus) * gpus, "the GPUs' share of the node's memory"
        if queue.memory_mb_per_gpu:
            share = min(share, queue.memory_mb_per_gpu * gpus)
    elif gpus and queue.default_memory_mb_per_gpu:
        return queue.default_memory_mb_per_gpu * gpus, "what the site gives for each GPU"
    elif there is not None:
        share = there * cpus // max(cpus, queue.askable_cpus or cpus)
        why = "the cores' share of the node's memory"
    else:
        return None, ""
    if not queue.memory_was_seen:
        # A tenth stays free: what a node really offers is a little less than what its data sheet says.
        share = share * 9 // 10
    if queue.max_memory_mb_per_cpu is not None and share > queue.max_memory_mb_per_cpu * cpus:
        # Slurm would give, and charge, more CPUs than were asked for.
        return queue.max_memory_mb_per_cpu * cpus, f"the partition gives {queue.max_memory_mb_per_cpu} MB for each CPU"
    return share, why


# ---- GPUs ------------------------------------------------------------------------------------------


def spell_gpu(resources: Resources, site: Site, place: Place, kin: Sequence[Queue]) -> tuple[str | None, Reason | None]:
    """The type in the request, only where one was asked for or the site insists; else what may come."""
    queue, shape = place.queue, place.shape
    if not shape.gpus_per_node or not site.rules.typed_gpus:
        return None, None
    if resources.gpu:
        if queue.gpu == "":
            return None, Reason(field="gpu", value="any", why=f"Slurm knows no kinds of GPU in {queue.name}")
        kind = site.gpu(resources.gpu)
        return (kind.spelled or kind.name) if kind else resources.gpu, None
    kinds = list(dict.fromkeys(one.kind or one.gpu or "" for one in (queue, *kin) if one.kind or one.gpu))
    if queue.gpu and site.rules.needs_gpu_type:
        others = f"; {', '.join(kinds[1:])} would do too" if len(kinds) > 1 else ""
        return queue.gpu, Reason(field="gpu", value=queue.gpu, why=f"{site.name} wants the kind to be named{others}")
    if len(kinds) < 2:
        return None, None
    if queue.gpu and site.rules.one_gpu_kind and shape.nodes > 1:
        return queue.gpu, Reason(field="gpu", value=queue.gpu, why="one job cannot have GPUs of two kinds here")
    told = " or ".join(kinds)
    return None, Reason(field="gpu", value="any", why=f"it may be {told}; to choose: resources.gpu = {kinds[0]!r}")


def list_kin(resources: Resources, site: Site, place: Place, queues: Sequence[Queue]) -> tuple[Queue, ...]:
    """Other kinds of node of the same partition that a request without a kind of GPU may get."""
    chosen, shape = place.queue, place.shape
    if not shape.gpus_per_node or resources.gpu:
        return ()
    here = [one for one in queues if one.name == chosen.name and one != chosen and one.gpus >= shape.gpus_per_node]
    return tuple(one for one in here if find_misfit(replace(resources, nodes=None), site, one) is None)


# ---- what is paid ----------------------------------------------------------------------------------


def make_size(place: Place, share: Share, *, tasks: int, is_exclusive: bool, bills_the_largest: bool | None) -> Size:
    """What a job occupies: whole nodes count whole."""
    queue, nodes = place.queue, place.shape.nodes
    whole = is_exclusive or queue.whole_nodes
    asked = share.cpus_per_task * tasks
    cpus = queue.askable_cpus if whole and queue.askable_cpus else asked
    threads = max(1, (queue.cpus or 0) // (queue.cores or 1)) if queue.cpus and queue.cores else 1
    cores = queue.cores if whole and queue.cores else -(-asked // threads)
    gpus = queue.gpus if whole and queue.gpus else place.shape.gpus_per_node
    memory = queue.memory_mb if whole or not share.memory_mb else share.memory_mb
    amounts = {"cpu": cpus, "mem": (memory or 0) / 1024, "gres/gpu": gpus, "node": 1, f"gres/gpu:{queue.gpu}": gpus}
    charges = [queue.billing_weights.get(name, 0.0) * amount * nodes for name, amount in amounts.items()]
    # Without weights Slurm charges CPUs.
    billing = (max(charges) if bills_the_largest else sum(charges)) if queue.billing_weights else float(cpus * nodes)
    return Size(nodes=nodes, cores=nodes * cores, gpus=nodes * gpus, billing=billing)
