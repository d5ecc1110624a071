"""Pocket set up as a site for one plan: its nodes, queues and accounts, and a clock that runs faster."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.facts import Facts
from windlass.core.plan import Plan
from windlass.core.site import GpuDialect, NodeType, Site
from windlass.core.toml.writing import Value, format_key, format_value
from windlass.core.units import format_slurm_duration

_MEMORY_WHEN_UNKNOWN_MB = 1_000_000  # more than a job asks for: what it asks for is the limit that counts
_SHORTEST_NOTICE_S = 3.0


@dataclass(frozen=True, kw_only=True)
class Tempo:
    """How long a link lasts in a rehearsal."""

    work: timedelta = timedelta(seconds=14)  # until it is asked to stop
    notice: timedelta = timedelta(seconds=20)  # at most, from then to its end; who has saved leaves earlier
    links: int = 3  # at most
    whole: timedelta = timedelta(minutes=10)  # at most, for all of it


def find_scale(plan: Plan, tempo: Tempo) -> float:
    """A second of the pretended clock for so much of a real one; never slower than real."""
    work = plan.link_time - min(plan.notice, plan.link_time / 2)
    return 1.0 if work <= tempo.work else tempo.work / work


def find_notice(plan: Plan, tempo: Tempo) -> timedelta:
    return min(plan.notice, max(tempo.notice, timedelta(seconds=_SHORTEST_NOTICE_S)))


def find_node(plan: Plan, site: Site) -> NodeType | None:
    """The kind of node that the plan is for."""
    partition = site.partition(plan.partition) if plan.partition else None
    partition = partition or next((one for one in site.partitions if one.is_default), None)
    kinds = [kind for name in (partition.nodes if partition else ()) if (kind := site.node_type(name))]
    kinds = kinds or list(site.node_types)
    fitting = [kind for kind in kinds if kind.gpus >= plan.gpus_per_node and bool(kind.gpus) == bool(plan.gpus)]
    named = [kind for kind in fitting if plan.gpu_spelled and kind.gpu and _is_called(kind.gpu, plan.gpu_spelled, site)]
    return next(iter((*named, *fitting, *kinds)), None)


def make_pocket_settings(
    plan: Plan,
    site: Site,
    facts: Facts,
    tempo: Tempo,
    *,
    starts: int,
    modules: str,
    node_folders: tuple[str, ...],
    is_strict: bool,
) -> str:
    """pocket.toml. Strict: what the site has is all there is; else any partition, account and QOS will do."""
    node = find_node(plan, site)
    cpus = max((node.cores or 0) * node.threads_per_core if node else 0, plan.tasks_per_node * plan.cpus_per_task)
    memory = int(node.memory_gb * 1000) if node and node.memory_gb else _MEMORY_WHEN_UNKNOWN_MB
    numbers: dict[str, Value] = {
        "cpus": cpus * plan.nodes,
        "memory_mb": max(memory, plan.memory_mb or 0) * plan.nodes,
        "gpus": plan.gpus,
        "kill_wait_s": 3,
        "idle_s": 3,
        "requeue_delay_s": 1,
    }
    by_constraint = plan.gpu_dialect is GpuDialect.CONSTRAINT
    pretended: dict[str, Value] = {
        "node": f"{_make_word(node.name if node else 'node')}{{:03}}",
        "cluster": site.name,
        "host_suffix": site.network.host_suffix,
        "modules": modules,
        "node_folders": node_folders,
        "time_scale": find_scale(plan, tempo),
        "notice_s": find_notice(plan, tempo).total_seconds(),
        "starts": starts,
        "whole_nodes": site.rules.whole_nodes,
        "unasked_gpus": plan.gpus_per_node if by_constraint else 0,
    }
    if is_strict:
        pretended["accounts"] = tuple(one.account for one in facts.associations or ())
        pretended["qos"] = _list_qos(site, facts)
    lines = [f"{name} = {format_value(value)}" for name, value in numbers.items()]
    lines += ["[pretend]", *(f"{name} = {format_value(value)}" for name, value in pretended.items())]
    return "\n".join((*lines, *(_list_partitions(site, facts) if is_strict else ()))) + "\n"


def _list_qos(site: Site, facts: Facts) -> tuple[str, ...]:
    seen = [one.name for one in facts.qos or ()]
    return tuple(dict.fromkeys((*(one.name for one in site.qos), *seen)))


def _list_partitions(site: Site, facts: Facts) -> Iterator[str]:
    """As just seen, else as the file has them."""
    limits = {one.name: (one.max_time, one.max_nodes, one.is_default) for one in site.partitions}
    limits.update({one.name: (one.max_time, one.max_nodes, one.is_default) for one in facts.partitions or ()})
    for name, (longest, most, is_default) in limits.items():
        yield f"[partitions.{format_key([name])}]"
        longest = longest or site.rules.max_time
        if longest is not None:
            yield f"max_time = {format_value(format_slurm_duration(longest))}"
        if most is not None:
            yield f"max_nodes = {most}"
        if is_default:
            yield "default = true"


def _is_called(kind: str, word: str, site: Site) -> bool:
    known = site.gpu(kind)
    return word in (kind, known.spelled if known else None)


def _make_word(name: str) -> str:
    """A host name: what a site calls a kind of node may hold anything."""
    return "".join(char for char in name.lower().replace("_", "-") if char.isalnum() or char == "-") or "node"
