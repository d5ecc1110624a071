"""More memory, time or CPUs asked for than a run that got done has used."""

import math
from collections.abc import Iterator
from datetime import timedelta

from windlass.core.efficiency.usage import Usage
from windlass.core.ending.symptoms import set_to
from windlass.core.finding import Advice
from windlass.core.units import format_gb, format_memory, format_seconds

_HEADROOM = 1.25
_GB = 1024  # MB
_LEAST_MB = 2 * _GB
_WORTH_MB = 4 * _GB
_WORTH_S = 1800.0
_WORTH_CPUS = 4
_FED = 50.0  # percent: GPUs above it do not wait for CPUs
_STEPS_S = ((3600.0, 900.0), (86_400.0, 3600.0), (math.inf, 6 * 3600.0))  # up to, in steps of


def memory_far_above_use(usage: Usage) -> Iterator[Advice]:
    """A run that got done needed less than half of the memory it asked for.

    The advice keeps a quarter above the most that was ever seen on one node, at least 1 GB, and never goes below 2 GB:
    looks are 15 s apart, and what comes and goes between them is not seen. Caches of files are not counted: the kernel
    gives them up when it must. Where they were large, the evidence says so, because data that is read again from there
    would come from the disk.
    """
    plan, peak = usage.plan, usage.memory_mb
    if not usage.is_done or plan is None or not plan.memory_mb or peak is None:
        return
    if usage.has_whole_nodes or usage.was_chosen("memory") or any(node.oom_kills.most for node in usage.gauges.nodes):
        return
    wanted = max(_LEAST_MB, _GB * math.ceil(max(peak * _HEADROOM, peak + _GB) / _GB))
    if plan.memory_mb < 2 * wanted or plan.memory_mb - wanted < _WORTH_MB:
        return
    yield Advice(
        code="A101",
        message=f"{format_gb(plan.memory_mb)} of memory asked for on each node, at most {format_gb(peak)} needed",
        evidence=tuple(_tell_memory(usage, wanted)),
        saves=f"{format_gb(plan.memory_mb - wanted)} of each node for others, and nodes that are sooner free",
        patch=(set_to("resources.memory", format_memory(wanted)),),
    )


def time_far_above_use(usage: Usage) -> Iterator[Advice]:
    """A run that got done took much less time than it asked for. Shorter jobs start sooner: they fit into gaps.

    The advice keeps a quarter above the longest of the last runs of the same name, and at least ten minutes.
    """
    plan, ran_s = usage.plan, usage.ran_s
    if not usage.is_done or plan is None or ran_s is None or usage.was_chosen("time"):
        return
    longest = max((ran_s, *usage.others_s))
    wanted = _round_up(max(longest * _HEADROOM, longest + 600))
    asked, first = plan.total_time.total_seconds(), plan.link_time.total_seconds()
    if wanted >= first or asked < 1.5 * wanted or asked - wanted < _WORTH_S:
        return  # where the first link stays as long, nothing starts sooner
    of_many = f", the longest of {len(usage.others_s) + 1} runs of this name" if usage.others_s else ""
    yield Advice(
        code="A102",
        message=f"{format_seconds(asked)} asked for, {format_seconds(ran_s)} used",
        evidence=(f"a quarter, and at least ten minutes, are kept above {format_seconds(longest)}{of_many}",),
        saves="a job of that length starts sooner: it fits into gaps that a longer one must leave",
        patch=(set_to("resources.time", timedelta(seconds=wanted)),),
    )


def cpus_far_above_use(usage: Usage) -> Iterator[Advice]:
    """A run that got done kept fewer than half of its CPU cores busy, even at its busiest, and its GPUs were fed.

    The advice keeps a quarter above the busiest quarter of a minute. Where GPUs waited, more workers are the answer,
    not fewer cores (A203).
    """
    plan = usage.plan
    busiest = max((most for node in usage.gauges.nodes if (most := node.cpu_cores.most) is not None), default=None)
    if not usage.is_done or plan is None or busiest is None or usage.has_whole_nodes or usage.was_chosen("cpus"):
        return
    if plan.gpus and (usage.gpu_use is None or usage.gpu_use < _FED):
        return
    wanted = max(1, math.ceil(busiest * _HEADROOM / plan.tasks_per_node))
    saved = (plan.cpus_per_task - wanted) * plan.tasks_per_node
    if plan.cpus_per_task < 2 * wanted or saved < _WORTH_CPUS:
        return
    asked = plan.cpus_per_task * plan.tasks_per_node
    mean = f", {usage.cpu_cores:.1f} on average" if usage.cpu_cores is not None else ""
    yield Advice(
        code="A103",
        message=f"{asked} CPUs asked for on each node, at most {busiest:.1f} busy at once{mean}",
        saves=f"{saved} cores of each node for others",
        patch=(set_to("resources.cpus", wanted),),
    )


def _tell_memory(usage: Usage, wanted_mb: int) -> Iterator[str]:
    node = max(usage.gauges.nodes, key=lambda one: one.memory_mb.most or 0.0)
    limit = f" of {format_gb(node.memory_limit_mb)}" if node.memory_limit_mb else ""
    yield f"{node.node}: at most {format_gb(node.memory_mb.most or 0.0)}{limit} in {len(node.times)} looks"
    if usage.job is not None and usage.job.used_memory_mb is not None:
        yield f"Slurm's accounting: at most {format_gb(usage.job.used_memory_mb)} in one task"
    with_caches = node.memory_peak_mb.most
    if with_caches is not None and with_caches > 1.5 * wanted_mb:
        yield f"with caches of files it was up to {format_gb(with_caches)}: data read again may come from the disk then"


def _round_up(seconds: float) -> int:
    step = next(step for limit, step in _STEPS_S if seconds <= limit)
    return int(step * math.ceil(seconds / step))
