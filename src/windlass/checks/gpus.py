"""How many GPUs, of which kind, how they are asked for, and what is wasted beside them."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.facts import SeenPartition
from windlass.core.finding import Finding, Severity
from windlass.core.placing.queues import Queue, make_queues
from windlass.core.placing.standing import find_place, format_amount, name_command
from windlass.core.site import GpuDialect

_NO_SUCH_NODE = "Requested node configuration is not available"
_MUCH_MORE = 1.25


def gpus_are_left_idle(case: Case) -> Iterator[Finding]:
    """Whole nodes only: the GPUs you do not ask for are yours, and paid, all the same."""
    seen = case.facts.partition(case.plan.partition or "")
    written = case.site.partition(case.plan.partition or "")
    rule = case.site.rules.whole_nodes if written is None or written.whole_nodes is None else written.whole_nodes
    is_whole = case.plan.exclusive or rule or (seen is not None and seen.whole_nodes)
    if case.plan.gpu_dialect is GpuDialect.NONE or not is_whole:
        return
    most = max((one.gpus for one in _list_queues(case)), default=0)
    if case.plan.gpus_per_node < most:
        yield Finding(
            code="C206",
            severity=Severity.WARNING,
            message=f"a node here has {most} GPUs and comes whole; you use {case.plan.gpus_per_node}",
            hint=f"[resources] gpus_per_node = {most}",
            fact="resources.exclusive of the run file"
            if case.plan.exclusive
            else f"rules.whole_nodes of {case.site.name}",
        )


def gpus_are_not_there(case: Case) -> Iterator[Finding]:
    """No node of the partition has as many GPUs, or has GPUs of this kind, or has any."""
    seen, plan = find_place(case.plan, case.facts), case.plan
    by_gres = plan.gpu_dialect in (GpuDialect.GRES, GpuDialect.GPUS_PER_NODE)
    if seen is None or not by_gres or plan.gpus_per_node == 0 or not (seen.shapes or seen.gpus):
        return
    kind = (plan.gpu_spelled or "").lower()
    most = max((count for name, count in _list_gpus(seen) if kind in ("", name.lower())), default=0)
    if plan.gpus_per_node <= most:
        return
    kinds = sorted({name for name, _ in _list_gpus(seen)})
    asked = format_amount(f"gres/gpu:{plan.gpu_spelled}" if plan.gpu_spelled else "gres/gpu", plan.gpus_per_node)
    if not kinds:
        there = "have none"
    elif most == 0:
        there = f"have {', '.join(name or 'GPUs without a kind' for name in kinds)}"
    else:
        there = f"have at most {most}"
    has_any = any(one.gpus or not one.shapes for one in case.facts.partitions or ())
    yield Finding(
        code="C215",
        severity=Severity.ERROR,
        message=f"the job asks for {asked} on each node; nodes of {seen.name} {there}",
        hint=f"[resources] gpus_per_node = {most}" if most else _name_a_kind(kinds),
        fact=name_command(plan, "sinfo @ -o %G", "-p "),
        refusal=_NO_SUCH_NODE if has_any else "Invalid generic resource (gres) specification",
    )


def gpu_kind_must_be_named(case: Case) -> Iterator[Finding]:
    """This site wants the kind of GPU in every request."""
    if case.plan.gpus_per_node and case.site.rules.needs_gpu_type and not case.plan.gpu_spelled:
        yield Finding(
            code="C216",
            severity=Severity.ERROR,
            message=f"{case.site.name} wants the kind of GPU to be named, and the run names none",
            hint=_name_a_kind([one.name for one in case.site.gpus]),
            fact=f"rules.needs_gpu_type of {case.site.name}",
        )


def gpu_kind_is_left_open(case: Case) -> Iterator[Finding]:
    """Without a kind Slurm gives the first GPUs that are free, of any kind; nodes of one job may then differ.

    A job with several kinds is as slow as the slowest, and each has its own memory.
    """
    kinds = sorted({queue.gpu for queue in _list_queues(case) if queue.gpu and queue.gpus >= case.plan.gpus_per_node})
    by_gres = case.plan.gpu_dialect in (GpuDialect.GRES, GpuDialect.GPUS_PER_NODE)
    if not by_gres or case.plan.gpus_per_node == 0 or case.plan.gpu_spelled or len(kinds) < 2:
        return
    is_mixed, is_seen = case.plan.nodes > 1, case.facts.partition(case.plan.partition or "") is not None
    yield Finding(
        code="C217",
        severity=Severity.WARNING if is_mixed else Severity.ADVICE,
        message=f"no kind of GPU is named; {case.plan.partition} has {', '.join(kinds)}, and "
        + ("the nodes of the job may have different ones" if is_mixed else "the first that is free is taken"),
        hint=_name_a_kind(kinds),
        fact=f"sinfo -p {case.plan.partition} -o %G"
        if is_seen
        else f"partition.{case.plan.partition} of {case.site.name}",
    )


def gpu_kind_cannot_be_named(case: Case) -> Iterator[Finding]:
    """This site takes no kind in a request for GPUs; the one you named is left out, or chosen by the partition."""
    if case.spec.resources.gpu and case.plan.gpus_per_node and not case.site.rules.typed_gpus:
        if case.site.rules.cuts_to_fit:
            return
        yield Finding(
            code="C218",
            severity=Severity.ADVICE,
            message=f"gpu = {case.spec.resources.gpu!r} is asked for, and {case.site.name} takes no kind in a request",
            hint="choose by resources.partition or resources.constraint",
            fact=f"rules.typed_gpus of {case.site.name}",
        )


def more_than_the_gpus_share(case: Case) -> Iterator[Finding]:
    """Far more cores or memory for each GPU than its share of the node: the other GPUs then stand idle for everybody.

    Such jobs also wait longer, since nearly a whole node must be free.
    """
    plan, wanted = case.plan, case.spec.resources
    queue = next((one for one in _list_queues(case) if one.gpus > plan.gpus_per_node > 0), None)
    if queue is None or plan.exclusive or queue.whole_nodes:
        return
    cores = queue.cpus_per_gpu or (queue.cores // queue.gpus if queue.cores else None)
    memory = queue.memory_mb_per_gpu or (queue.memory_mb // queue.gpus if queue.memory_mb else None)
    asked_cores = plan.tasks_per_node * plan.cpus_per_task // plan.gpus_per_node if wanted.cpus else 0
    asked_memory = (wanted.memory_mb or 0) // plan.gpus_per_node
    for asked, share, unit, fix in (
        (asked_cores, cores, "cores", "cpus"),
        (asked_memory, memory, "MB of memory", "memory"),
    ):
        if share is not None and asked > share * _MUCH_MORE:
            yield Finding(
                code="C219",
                severity=Severity.ADVICE,
                message=f"the job asks for {asked} {unit} for each GPU; its share of a node of {queue.name} is {share}",
                hint=f"leave resources.{fix} out, or ask for more GPUs",
                fact=f"the nodes of {queue.name}",
            )
            return


def _list_queues(case: Case) -> list[Queue]:
    """The kinds of node the job may get."""
    spelled = (case.plan.gpu_spelled or "").lower()
    queues = [one for one in make_queues(case.site, case.facts) if one.name == case.plan.partition]
    return [one for one in queues if not spelled or (one.gpu or "").lower() == spelled]


def _list_gpus(seen: SeenPartition) -> Iterator[tuple[str, int]]:
    """Of each kind of node; one with two kinds counts with both together where no kind is named."""
    if not seen.shapes:
        yield from seen.gpus
    for shape in seen.shapes:
        yield from shape.gpus


def _name_a_kind(kinds: list[str]) -> str:
    named = [one for one in kinds if one]
    return f'[resources] gpu = "{named[0]}"' if named else "leave resources.partition out, or ask for no GPUs"
