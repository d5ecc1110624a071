"""What a node gives where a plan goes, and what limits hold there."""

from collections.abc import Iterator

from windlass.core.facts import Facts
from windlass.core.farm.sizing import Room
from windlass.core.placing.queues import Queue, make_queues
from windlass.core.placing.standing import Standing, count_queued, find_standing
from windlass.core.plan import Plan
from windlass.core.site import Site


def find_room(plan: Plan, site: Site, facts: Facts) -> Room:
    queue = _find_queue(plan, make_queues(site, facts))
    standing = find_standing(plan, facts)
    return Room(
        cpus=queue.askable_cpus,
        gpus=queue.gpus,
        memory_mb=queue.memory_mb,
        nodes=queue.max_nodes if queue.count is None else queue.count,
        whole_nodes=queue.whole_nodes,
        is_one_machine=site.rules.cuts_to_fit,
        longest=plan.link_limit,
        notice=plan.notice,
        jobs=tuple(_list_job_limits(plan, site, facts, standing)),
        caps=tuple(_list_caps(standing)),
    )


def _find_queue(plan: Plan, queues: tuple[Queue, ...]) -> Queue:
    """Of the partition, or of any where the site chooses itself; with GPUs where the plan has some."""
    named = [one for one in queues if one.name == plan.partition] or list(queues)
    fitting = [one for one in named if not plan.gpus_per_node or one.gpus >= plan.gpus_per_node]
    plain = [one for one in fitting if plan.gpus_per_node or not one.gpus]
    # The most nodes of one kind: there a pilot starts first.
    return max(plain or fitting or named, key=lambda one: one.count or 0, default=Queue(name=""))


def _list_job_limits(plan: Plan, site: Site, facts: Facts, standing: Standing) -> Iterator[tuple[int, str]]:
    """Jobs that wait or run already take their part of what may be in the queue."""
    for holder in standing.holders:
        if holder.max_jobs is not None:
            yield holder.max_jobs, f"{holder.whose} lets {holder.max_jobs} of your jobs run at once"
        if holder.max_submit is not None:
            yield _count_more(plan, holder.max_submit, count_queued(facts, holder)[0], f"{holder.whose} lets you have")
    if site.rules.max_submitted is not None:
        queued = facts.jobs_in_queue or 0
        yield _count_more(plan, site.rules.max_submitted, queued, f"{site.name} lets you have")


def _count_more(plan: Plan, most: int, queued: int, whose: str) -> tuple[int, str]:
    there = f", and {queued} {'are' if queued > 1 else 'is'} there already" if queued else ""
    return (most - queued) // max(1, plan.jobs), f"{whose} {most} jobs in the queue{there}"


def _list_caps(standing: Standing) -> Iterator[tuple[str, int, str]]:
    for holder in standing.holders:
        for name, most in holder.group_at_once.items():
            yield name, most, f"{holder.whose} has at most {most} {name} at once"
    for qos in (standing.partition_qos, standing.qos):
        for name, most in (qos.max_per_user if qos is not None else {}).items():
            yield name, most, f"QOS {qos.name if qos else ''} gives you at most {most} {name} at once"
