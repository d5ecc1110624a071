"""Which of the places that fit is best, and in words why another is not."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from windlass.core.facts import Facts
from windlass.core.placing.place import Place
from windlass.core.placing.queues import Queue
from windlass.core.placing.shapes import wants_gpus
from windlass.core.run import Resources
from windlass.core.site import GpuKind, Site
from windlass.core.source.gpu_builds import find_capability

_USUAL_ARCHITECTURE = "x86_64"


@dataclass(frozen=True, kw_only=True, order=True)
class Rank:
    """Smaller is better, the first field that differs decides; False is smaller than True."""

    breaks_a_rule: bool
    is_closed: bool  # jobs are taken and wait
    may_be_pushed_out: bool
    is_of_another_architecture: bool
    wastes_gpus: bool  # a run without GPUs on nodes that have some
    is_too_short: bool  # a test queue, or test QOS, for what needs several links
    has_old_gpus: bool  # that the usual builds of torch no longer know
    links: int
    is_for_tests: bool  # partition or QOS: only where it is asked for
    is_other_qos: bool  # not the one a job has that names none
    nodes: int
    idle_gpus: int  # paid for on whole nodes and not used
    is_mixed: bool  # a GPU out of a partition that is for work without GPUs too
    gpu_memory: float  # negative: more is better
    generation: int  # of the GPU, negative: newer is better
    is_not_default: bool
    fewer_nodes: int  # negative: of two kinds the one that more nodes can hold
    order: int


_LOST_BY = {
    "is_closed": "the partition is not up now",
    "may_be_pushed_out": "jobs there may be pushed out by others",
    "is_of_another_architecture": "its nodes have another architecture",
    "wastes_gpus": "its nodes have GPUs that this run would not use",
    "is_too_short": "it is for tests shorter than this",
    "has_old_gpus": "its GPUs are too old for the usual builds of torch",
    "is_for_tests": "it is for short tests; name it for one",
    "is_other_qos": "it is not the default; name it to have it",
    "is_mixed": "some of its nodes have no GPUs, it is for other work too",
    "gpu_memory": "its GPUs have less memory",
    "generation": "its GPUs are older",
    "is_not_default": "the one chosen is the site's default",
    "fewer_nodes": "fewer of its nodes can hold the run",
    "order": "as good, and listed later",
}
_WON_BY = {
    "is_closed": "it is up",
    "may_be_pushed_out": "jobs there are not pushed out by others",
    "is_of_another_architecture": "its nodes have the usual architecture",
    "wastes_gpus": "it leaves nodes with GPUs to others",
    "is_too_short": "it is not for tests only",
    "links": "fewest links",
    "has_old_gpus": "its GPUs are known to the usual builds of torch",
    "is_for_tests": "it is for ordinary work",
    "is_other_qos": "its QOS is your default",
    "nodes": "fewest nodes",
    "idle_gpus": "no idle GPU",
    "is_mixed": "all its nodes have GPUs",
    "gpu_memory": "its GPUs have the most memory",
    "generation": "its GPUs are the newest",
    "is_not_default": "it is the default",
    "fewer_nodes": "most nodes can hold the run",
    "breaks_a_rule": "only there no limit stands against it",
    "order": "the first of those that are as good",
}


def make_rank(resources: Resources, site: Site, facts: Facts, place: Place, *, order: int) -> Rank:
    """`order` is the place's own among all: as the site file, or Slurm, lists them."""
    queue, level, shape = place.queue, place.level, place.shape
    kind = site.gpu(queue.kind or queue.gpu or "") if queue.gpus else None
    expected = facts.architecture or _USUAL_ARCHITECTURE
    for_tests = queue.for_tests or (level is not None and level.for_tests)
    asks_for_gpus = wants_gpus(resources)
    return Rank(
        breaks_a_rule=place.problem is not None,
        is_closed=not queue.is_up,
        may_be_pushed_out=queue.preempts or (level is not None and level.preempts),
        is_of_another_architecture=queue.architecture not in (None, expected),
        wastes_gpus=queue.gpus > 0 and not asks_for_gpus,
        is_too_short=for_tests and place.links > 1,
        links=place.links,
        has_old_gpus=kind is not None and kind.wheels is not None and asks_for_gpus,
        is_for_tests=for_tests,
        is_other_qos=level is not None and not level.is_default,
        nodes=shape.nodes,
        idle_gpus=shape.nodes * max(0, queue.gpus - shape.gpus_per_node) if queue.whole_nodes and asks_for_gpus else 0,
        is_mixed=queue.is_mixed and asks_for_gpus,
        gpu_memory=-(kind.memory_gb or 0.0) if kind and asks_for_gpus else 0.0,
        generation=-_find_generation(queue, kind) if asks_for_gpus else 0,
        is_not_default=not queue.is_default,
        fewer_nodes=-(queue.max_nodes or 0),
        order=order,
    )


def explain_choice(best: Rank, others: Mapping[str, Rank], problem: str | None) -> str:
    """What makes it better than the next of another name."""
    if problem is not None:
        words = f"it fits best, but {problem}"
    elif not others:
        words = "it is the only one that fits"
    else:
        words = _WON_BY[_find_difference(best, min(others.values()))]
        as_good = ", ".join(name for name, rank in others.items() if _is_as_good(rank, best))
        words += f"; {as_good} would do too" if as_good else ""
    if best.may_be_pushed_out:
        words += "; careful: jobs there may be pushed out by others"
    return words


def explain_loss(best: Rank, other: Rank, problem: str | None) -> str:
    if problem is not None:
        return problem
    field = _find_difference(best, other)
    if field in ("links", "nodes", "idle_gpus"):
        numbers = getattr(other, field), getattr(best, field)
        return f"{numbers[0]} {field.replace('_', ' ').replace('gpus', 'GPUs')} instead of {numbers[1]}"
    return _LOST_BY[field]


def _is_as_good(rank: Rank, best: Rank) -> bool:
    """It would hold the run without a drawback that one would rather not have."""
    names = [field.name for field in fields(Rank)]
    return all(getattr(rank, name) <= getattr(best, name) for name in names[: names.index("links") + 1])


def _find_difference(one: Rank, other: Rank) -> str:
    return next(
        (field.name for field in fields(Rank) if getattr(one, field.name) != getattr(other, field.name)), "order"
    )


def _find_generation(queue: Queue, kind: GpuKind | None) -> int:
    """The capability's first number: 8 for 8.0 and 8.6, which are as good for different things."""
    name = kind.name if kind else queue.kind or queue.gpu or ""
    return (find_capability(name, kind.capability if kind else None) or 0) // 10
