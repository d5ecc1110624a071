"""Partition, time, links and GPUs."""

from collections.abc import Iterator
from datetime import timedelta

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.site import ChainStyle, GpuDialect
from windlass.core.units import format_slurm_duration

_SHORTEST_LINK = timedelta(minutes=5)


def partition_is_not_up(case: Case) -> Iterator[Finding]:
    """The partition is not up just now: jobs that are taken do not start."""
    seen = case.facts.partition(case.plan.partition or "")
    if seen is not None and seen.state.upper() != "UP":
        yield Finding(
            code="C201",
            severity=Severity.WARNING,
            message=f"partition {seen.name} is {seen.state} now; the job would wait",
            hint=f"windlass site show {case.site.name}",
        )


def time_is_over_the_limit(case: Case) -> Iterator[Finding]:
    """One job asks for more time than its partition gives.

    Some sites refuse it (Requested time limit is invalid); others take the job and never start it.
    """
    seen = case.facts.partition(case.plan.partition or "")
    if seen is not None and seen.max_time is not None and case.plan.link_time > seen.max_time:
        yield Finding(
            code="C202",
            severity=Severity.ERROR,
            message=f"one job asks for {format_slurm_duration(case.plan.link_time)}; "
            f"{seen.name} gives at most {format_slurm_duration(seen.max_time)}",
            hint="leave resources.partition out, or lower resources.link_time",
        )


def time_is_missing(case: Case) -> Iterator[Finding]:
    """No time was given, so a default was taken. Too short and it is cut, too long and it waits for nothing."""
    if case.spec.resources.time is None and not case.site.is_local:
        yield Finding(
            code="C203",
            severity=Severity.WARNING,
            message=f"no time was given; {format_slurm_duration(case.plan.total_time)} was taken",
            hint='[resources] time = "12h"',
        )


def chain_without_checkpoints(case: Case) -> Iterator[Finding]:
    """The run is longer than one job may be, and nothing says where its checkpoints are: each link would start anew.

    The training must save into a folder that stays and go on from it when it starts again.
    """
    if case.plan.links > 1 and case.plan.checkpoint_folder is None:
        yield Finding(
            code="C204",
            severity=Severity.WARNING,
            message=f"the run needs {case.plan.links} jobs one after another, and no checkpoint folder is named",
            hint='[checkpoint] folder = "checkpoints", and go on from it: it is $WINDLASS_CHECKPOINT_DIR in the job',
        )


def array_is_too_large(case: Case) -> Iterator[Finding]:
    """More links than the site's largest array index. Slurm would say: Invalid job array specification."""
    limit = case.site.rules.max_array if case.facts.max_array is None else case.facts.max_array
    if limit is not None and case.plan.links > 1 and case.plan.links >= limit:
        yield Finding(
            code="C205",
            severity=Severity.ERROR,
            message=f"the run needs {case.plan.links} links; arrays here end at {max(0, limit - 1)}",
            hint="raise resources.link_time or lower resources.time",
        )


def gpus_are_left_idle(case: Case) -> Iterator[Finding]:
    """Whole nodes only: the GPUs you do not ask for are yours, and paid, all the same."""
    seen = case.facts.partition(case.plan.partition or "")
    written = case.site.partition(case.plan.partition or "")
    rule = case.site.rules.whole_nodes if written is None or written.whole_nodes is None else written.whole_nodes
    is_whole = case.plan.exclusive or rule or (seen is not None and seen.whole_nodes)
    if case.plan.gpu_dialect is GpuDialect.NONE or not is_whole:
        return
    types = [case.site.node_type(name) for name in (written.nodes if written else ())]
    most = max([one.gpus for one in types if one] + [count for _, count in (seen.gpus if seen else ())], default=0)
    if case.plan.gpus_per_node < most:
        yield Finding(
            code="C206",
            severity=Severity.WARNING,
            message=f"a node here has {most} GPUs and comes whole; you use {case.plan.gpus_per_node}",
            hint=f"[resources] gpus_per_node = {most}",
        )


def more_cores_than_a_node_has(case: Case) -> Iterator[Finding]:
    """The tasks of one node ask together for more cores than its nodes have.

    Slurm would say: CPU count per node can not be satisfied.
    """
    seen = case.facts.partition(case.plan.partition or "")
    asked = case.plan.tasks_per_node * case.plan.cpus_per_task
    if seen is not None and seen.cpus_per_node is not None and asked > seen.cpus_per_node:
        yield Finding(
            code="C207",
            severity=Severity.ERROR,
            message=f"{case.plan.tasks_per_node} tasks of {case.plan.cpus_per_task} cores are {asked} on each node; "
            f"nodes of {seen.name} have {seen.cpus_per_node}",
            hint=f"[resources] cpus = {max(1, seen.cpus_per_node // case.plan.tasks_per_node)}",
        )


def chain_style_is_not_made(case: Case) -> Iterator[Finding]:
    """The site prefers chains by dependency or requeue; this version makes every chain as an array, one at a time."""
    style = case.site.rules.chain
    if case.plan.links > 1 and style is not ChainStyle.ARRAY:
        yield Finding(
            code="C208",
            severity=Severity.WARNING,
            message=f"{case.site.name} prefers chains by {style}; "
            f"this one is an array of {case.plan.links}, one at a time",
        )


def links_are_very_short(case: Case) -> Iterator[Finding]:
    """Each link waits in the queue, starts and loads again, and Slurm counts time in whole minutes."""
    if case.plan.links > 1 and case.plan.link_time < _SHORTEST_LINK and not case.site.rules.cuts_to_fit:
        yield Finding(
            code="C209",
            severity=Severity.WARNING,
            message=f"the run is cut into {case.plan.links} jobs of {format_slurm_duration(case.plan.link_time)}",
            hint="leave resources.link_time out, or make it hours",
        )
