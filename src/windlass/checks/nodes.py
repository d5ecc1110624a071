"""How many nodes, and whether they have so many cores and so much memory."""

import re
from collections.abc import Callable, Iterator

from windlass.core.case import Case
from windlass.core.facts import NodeShape
from windlass.core.finding import Finding, Severity
from windlass.core.placing.standing import choose_refusal, count_cpus, find_place, format_amount, name_command
from windlass.core.plan import Plan
from windlass.core.site import GpuDialect

_NO_SUCH_NODE = "Requested node configuration is not available"
_TOO_MANY_CPUS = "More processors requested than permitted"
_OPERATORS = re.compile(r"[&|,()\[\]]")


def number_of_nodes_is_not_given(case: Case) -> Iterator[Finding]:
    """The partition gives only so many nodes to one job, at least or at most, or does not have as many."""
    asked, seen = case.plan.nodes, find_place(case.plan, case.facts)
    written = case.site.partition(case.plan.partition or "")
    if case.site.rules.cuts_to_fit:
        return  # nodes are pretended there
    if seen is not None:
        limits = [one for one in (seen.max_nodes, seen.nodes) if one is not None]
        most, least = min(limits, default=None), seen.min_nodes or 1
    elif written is not None:
        most, least = written.max_nodes, written.min_nodes
    else:
        return
    if most is not None and asked > most:
        limit, words = most, f"gives at most {most}"
    elif asked < least:
        limit, words = least, f"gives at least {least}"
    else:
        return
    name = seen.name if seen is not None else case.plan.partition
    # Slurm counts all CPUs first.
    total = count_cpus(seen) if seen is not None else None
    if total is not None and case.plan.tasks * case.plan.cpus_per_task > total:
        refusal = choose_refusal(case.facts, refused=_TOO_MANY_CPUS, waits="PartitionConfig")
    else:
        refusal = choose_refusal(case.facts, refused="Node count specification invalid", waits="PartitionNodeLimit")
    yield Finding(
        code="C212",
        severity=Severity.ERROR,
        message=f"the job asks for {format_amount('node', asked)}; {name} {words}",
        hint=f"[resources] nodes = {limit}",
        fact=name_command(case.plan, "scontrol show partition @") if seen else f"partition.{name} of {case.site.name}",
        refusal=refusal if seen else None,
    )


def more_cores_than_a_node_has(case: Case) -> Iterator[Finding]:
    """The tasks of one node ask together for more cores than its nodes have, or than the partition gives of each."""
    seen, plan = find_place(case.plan, case.facts), case.plan
    if seen is None:
        return
    asked = plan.tasks_per_node * plan.cpus_per_task
    limits = [one for one in (seen.cpus_per_node, seen.max_cpus_per_node) if one is not None]
    if not limits or asked <= min(limits):
        return
    by_rule = seen.max_cpus_per_node is not None and asked > seen.max_cpus_per_node
    total = count_cpus(seen)
    over_all = by_rule or (total is not None and asked * plan.nodes > total)
    rule = choose_refusal(case.facts, refused=_TOO_MANY_CPUS, waits="PartitionConfig")
    yield Finding(
        code="C207",
        severity=Severity.ERROR,
        message=f"{plan.tasks_per_node} tasks of {plan.cpus_per_task} cores are {asked} on each node; "
        f"nodes of {seen.name} {'give' if by_rule else 'have'} {min(limits)}",
        hint=f"[resources] cpus = {max(1, min(limits) // plan.tasks_per_node)}",
        fact=f"scontrol show partition {seen.name}" if by_rule else name_command(plan, "sinfo @ -o %c", "-p "),
        refusal=rule if over_all else "CPU count per node can not be satisfied",
    )


def processes_share_too_few_cores(case: Case) -> Iterator[Finding]:
    """torchrun and its kin have one task a node, which all processes of the node share: `cpus` is for all of them."""
    plan = case.plan
    cores = plan.tasks_per_node * plan.cpus_per_task
    if plan.processes_per_node <= cores or case.site.rules.cuts_to_fit:
        return
    yield Finding(
        code="C230",
        severity=Severity.WARNING,
        message=f"{plan.processes_per_node} processes of a node share {cores} core{'s' if cores > 1 else ''}: "
        f"{plan.launcher} has one task a node",
        hint=f"[resources] cpus = {plan.processes_per_node * max(1, plan.cpus_per_task)}   # or leave it out",
        fact="resources.cpus is for each task",
    )


def more_memory_than_a_node_has(case: Case) -> Iterator[Finding]:
    """The job asks for more memory on each node than its nodes have, or than the partition gives of each.

    Where memory is not counted, Slurm often believes that a node has 1 MB, and refuses every request.
    """
    seen, asked = find_place(case.plan, case.facts), case.plan.memory_mb
    if seen is None or asked is None:
        return
    rule, have = seen.max_memory_mb_per_node, seen.memory_mb_per_node
    by_rule = rule is not None and (asked or have or 0) > rule
    if not by_rule and (have is None or asked <= have):
        return
    limit = rule if by_rule else have
    refusal = choose_refusal(case.facts, refused="Memory required by task is not available", waits="MaxMemPerLimit")
    yield Finding(
        code="C214",
        severity=Severity.ERROR,
        message=f"the job asks for {f'{asked} MB' if asked else 'all the memory'} on each node; "
        f"nodes of {seen.name} {'give' if by_rule else 'have'} {limit} MB",
        hint=f'[resources] memory = "{limit}M"'
        if limit != 1
        else "[rules] memory_can_be_asked = false in the site file",
        fact=f"scontrol show partition {seen.name}" if by_rule else name_command(case.plan, "sinfo @ -o %m", "-p "),
        refusal=refusal if by_rule else "Memory specification can not be satisfied",
    )


def memory_cannot_be_asked_for(case: Case) -> Iterator[Finding]:
    """This site refuses --mem, or does not count memory. Jobs get what their cores or their node bring along."""
    wanted = case.spec.resources.memory_mb
    if wanted is None or (case.site.rules.memory_can_be_asked and case.facts.memory_is_counted is not False):
        return
    by_rule = not case.site.rules.memory_can_be_asked
    yield Finding(
        code="C227",
        severity=Severity.ADVICE,
        message=f"memory of {wanted} MB is asked for, and {case.site.name} "
        + ("takes no --mem: it is left out" if by_rule else "does not count memory: nobody keeps it for you"),
        hint="leave resources.memory out, and ask for more CPUs or whole nodes: exclusive = true",
        fact=f"rules.memory_can_be_asked of {case.site.name}"
        if by_rule
        else "SelectTypeParameters of scontrol show config",
    )


def no_nodes_with_all_of_it(case: Case) -> Iterator[Finding]:
    """Each wish alone could be met, but too few nodes of the partition have all of it together."""
    seen, plan = case.facts.partition(case.plan.partition or ""), case.plan
    if seen is None or not seen.shapes or any(one.nodes is None or one.cpus is None for one in seen.shapes):
        return
    wishes = _list_wishes(plan)
    if plan.nodes > sum(one.nodes or 0 for one in seen.shapes):
        return
    if any(not any(wish(one) for one in seen.shapes) for wish in wishes):
        return
    fitting = sum(one.nodes or 0 for one in seen.shapes if all(wish(one) for wish in wishes))
    if fitting < plan.nodes:
        yield Finding(
            code="C213",
            severity=Severity.ERROR,
            message=f"the job asks for {format_amount('node', plan.nodes)} with {_format_wish(plan)} each; "
            f"{fitting or 'none'} of {seen.name} {'has' if fitting == 1 else 'have'} that",
            hint=f"[resources] nodes = {fitting}" if fitting else "ask for less on each node",
            fact=f"sinfo -p {seen.name} -o '%D %c %m %G'",
            refusal=_NO_SUCH_NODE,
        )


def feature_is_unknown(case: Case) -> Iterator[Finding]:
    """The constraint names a feature that no node has."""
    known = {name for one in case.facts.partitions or () for shape in one.shapes for name in shape.features}
    if case.plan.constraint is None or not known:
        return
    words = [word.partition("*")[0].strip() for word in _OPERATORS.split(case.plan.constraint)]
    unknown = [word for word in words if word and word not in known]
    if unknown:
        yield Finding(
            code="C228",
            severity=Severity.ERROR,
            message=f"no node of {case.site.name} has the feature {unknown[0]!r}; there are {', '.join(sorted(known))}",
            hint="correct resources.constraint",
            fact="sinfo -o %f",
            refusal="Invalid feature specification",
        )


def _list_wishes(plan: Plan) -> list[Callable[[NodeShape], bool]]:
    cpus, memory = plan.tasks_per_node * plan.cpus_per_task, plan.memory_mb or 0
    wishes: list[Callable[[NodeShape], bool]] = [
        lambda one: (one.cpus or 0) >= cpus,
        lambda one: one.memory_mb is None or one.memory_mb >= memory,
    ]
    if plan.gpu_dialect in (GpuDialect.GRES, GpuDialect.GPUS_PER_NODE):
        kind = (plan.gpu_spelled or "").lower()
        wishes.append(
            lambda one: sum(count for name, count in one.gpus if kind in ("", name.lower())) >= plan.gpus_per_node
        )
    return wishes


def _format_wish(plan: Plan) -> str:
    parts = [format_amount("cpu", plan.tasks_per_node * plan.cpus_per_task)]
    if plan.memory_mb:
        parts.append(format_amount("mem", plan.memory_mb))
    if plan.gpus_per_node:
        name = f"gres/gpu:{plan.gpu_spelled}" if plan.gpu_spelled else "gres/gpu"
        parts.append(format_amount(name, plan.gpus_per_node))
    return ", ".join(parts)
