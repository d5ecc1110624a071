"""Choosing where a run goes: partition and account, each with its reason."""

import difflib
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.facts import Association, Facts
from windlass.core.plan import Reason
from windlass.core.queues import Queue
from windlass.core.run import Resources
from windlass.core.site import Site
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
    # Where it is not known how many GPUs a node has, one node is asked for all of them.
    nodes = resources.nodes or max(1, -(-resources.gpus // (queue.gpus or resources.gpus or 1)))
    if resources.gpus % nodes:
        raise PlanError(
            f"{resources.gpus} GPUs cannot be spread evenly over {nodes} nodes",
            hint=f"gpus = {-(-resources.gpus // nodes) * nodes}",
        )
    return Shape(nodes=nodes, gpus_per_node=resources.gpus // nodes)


def wants_gpus(resources: Resources) -> bool:
    if resources.gpus_per_node is not None or resources.gpus is not None:
        return bool(resources.gpus_per_node or resources.gpus)
    return resources.gpu is not None


def choose_queue(
    resources: Resources, site: Site, queues: tuple[Queue, ...], total: timedelta
) -> tuple[Queue | None, Reason | None]:
    """The queue and why; None when the site tells of no partition at all."""
    if not queues:
        return None, None
    named = _named(resources, site, queues)
    fitting = [queue for queue in named if _misfit(resources, site, queue) is None]
    if not fitting:
        raise _nothing_fits(resources, site, named)
    best = min(fitting, key=lambda queue: _rank(resources, queue, total))
    return best, Reason(field="partition", value=best.name, why=_why(resources, best, fitting))


def choose_account(resources: Resources, facts: Facts, queue: Queue | None) -> Reason | None:
    """The account named, else the only or the default one of the user's associations."""
    if resources.account:
        return Reason(field="account", value=resources.account, why="you asked for it")
    usable = _find_usable(facts, queue)
    names = list(dict.fromkeys(one.account for one in usable))
    if len(names) == 1:
        only_here = len({one.account for one in facts.associations or ()}) == 1
        why = "it is the only one you have here" if only_here else "it is the only one of yours for this partition"
        return Reason(field="account", value=names[0], why=why)
    default = next((one for one in usable if one.is_default), None)
    if default is not None:
        others = ", ".join(name for name in names if name != default.account)
        return Reason(field="account", value=default.account, why=f"it is your default (you also have {others})")
    return None


def find_association(facts: Facts, account: str | None, partition: str | None = None) -> Association | None:
    """The one for this partition before the one for all; never one for another partition."""
    mine = [one for one in facts.associations or () if one.account == account and one.partition in (None, partition)]
    return max(mine, key=lambda one: one.partition is not None, default=None)


def _find_usable(facts: Facts, queue: Queue | None) -> list[Association]:
    mine = [one for one in facts.associations or () if queue is None or one.partition in (None, queue.name)]
    # The list may name only parents of the user's accounts: when none is on it, it decides nothing.
    return [one for one in mine if queue and one.account in queue.accounts] or mine


def _named(resources: Resources, site: Site, queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
    if resources.partition is None:
        return queues
    named = tuple(queue for queue in queues if queue.name == resources.partition)
    if named:
        return named
    names = list(dict.fromkeys(queue.name for queue in queues))
    close = difflib.get_close_matches(resources.partition, names, n=1)
    raise PlanError(
        f"{site.name} has no partition {resources.partition!r}; it has {', '.join(names)}",
        hint=f"did you mean {close[0]!r}?" if close else None,
    )


def _misfit(resources: Resources, site: Site, queue: Queue) -> str | None:
    """Why this queue cannot take the run, in words; None when it can."""
    if queue.forbidden:
        return queue.forbidden
    if queue.gpus == 0 and queue.knows_gpus and wants_gpus(resources):
        return "its nodes have no GPUs"
    try:
        shape = make_shapes(resources, queue)
    except PlanError as problem:
        return problem.message + (f"; {problem.hint}" if problem.hint else "")
    if shape.gpus_per_node > queue.gpus > 0:
        return f"its nodes have {queue.gpus} GPUs, you ask for {shape.gpus_per_node} on each"
    if resources.gpu and queue.gpus and shape.gpus_per_node and not _is_kind(resources.gpu, site, queue):
        return f"its GPUs are {queue.gpu or 'without a type'}, you ask for {resources.gpu}"
    return _size_misfit(resources, queue, shape)


def _size_misfit(resources: Resources, queue: Queue, shape: Shape) -> str | None:
    if shape.nodes < queue.min_nodes:
        return f"it gives at least {queue.min_nodes} nodes, you ask for {shape.nodes}"
    if queue.max_nodes is not None and shape.nodes > queue.max_nodes:
        return f"it gives at most {queue.max_nodes} nodes, you ask for {shape.nodes}"
    if queue.cores is not None and (resources.cpus or 0) > queue.cores:
        return f"its nodes have {queue.cores} cores, you ask for {resources.cpus} in one task"
    if queue.memory_mb is not None and (resources.memory_mb or 0) > queue.memory_mb:
        return f"its nodes have {queue.memory_mb} MB of memory, you ask for {resources.memory_mb} MB"
    return None


def _is_kind(wanted: str, site: Site, queue: Queue) -> bool:
    kind = site.gpu(wanted)
    spelled = (kind.spelled or kind.name) if kind else wanted
    return queue.gpu is not None and queue.gpu.lower() == spelled.lower()


def _rank(resources: Resources, queue: Queue, total: timedelta) -> tuple[bool | int | str, ...]:
    """Smaller is better: open, no idle GPU, no test queue for long work, few links, the default, few small nodes."""
    limit = queue.max_time
    links = 1 if limit is None else max(1, -(-int(total.total_seconds()) // max(1, int(limit.total_seconds()))))
    return (
        not queue.is_up,
        queue.gpus > 0 and not wants_gpus(resources),
        queue.for_tests and links > 1,
        links,
        not queue.is_default,
        make_shapes(resources, queue).nodes,
        queue.gpus,
        queue.name,
    )


def _why(resources: Resources, best: Queue, fitting: list[Queue]) -> str:
    if resources.partition:
        return "you asked for it"
    others = sorted({queue.name for queue in fitting} - {best.name})
    if not others:
        return "it is the only one that fits"
    first = "it is the default" if best.is_default else "fewest links and no idle GPU"
    return f"{first}; {', '.join(others)} would do too"


def _nothing_fits(resources: Resources, site: Site, queues: tuple[Queue, ...]) -> PlanError:
    details = tuple(dict.fromkeys(f"{queue.name}: {_misfit(resources, site, queue)}" for queue in queues))
    return PlanError(
        f"no partition of {site.name} can take this run",
        details=details,
        hint=f"windlass site show {site.name}",
        done="nothing was sent",
    )
