"""From what the user wants and what is known of the site to a plan. Decides; checks nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.core.chain import Links, cut_into_links
from windlass.core.cost import Size, make_cost
from windlass.core.facts import Facts
from windlass.core.fitting import fit_to_site
from windlass.core.launch import Launcher
from windlass.core.placement import Shape, choose_account, choose_queue, find_association, make_shapes
from windlass.core.plan import Plan, Reason
from windlass.core.queues import Queue, make_queues
from windlass.core.run import RunSpec
from windlass.core.site import GpuDialect, Site
from windlass.errors import PlanError
from windlass_job import wire

_TIME_WHEN_NOTHING_IS_SAID = timedelta(hours=1)
_CPUS_WHEN_NOTHING_IS_SAID = 4


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Which submission of which run this is; a resumed run goes on counting its links."""

    run_id: str
    number: int = 1
    first_link: int = 1


def make_plan(spec: RunSpec, site: Site, facts: Facts, attempt: Attempt, *, launchers: Mapping[str, Launcher]) -> Plan:
    """Fill every gap in the spec with the site's facts."""
    queues = make_queues(site, facts)
    spec, cuts = fit_to_site(spec, site, queues)
    total = spec.resources.time
    queue, queue_reason = choose_queue(spec.resources, site, queues, total or _TIME_WHEN_NOTHING_IS_SAID)
    place = queue or Queue(name="")
    partition, queue_reason = _choose_partition(spec, site, queue, queue_reason)
    account = choose_account(spec.resources, facts, queue)
    total, time_reason = _choose_time(total, place)
    limits = _find_limits(spec, site, facts, place, account)
    links, link_reason = _choose_links(spec, total, limits, site.rules.advised_link_time)
    shape = make_shapes(spec.resources, place)
    launcher, launcher_reason = _choose_launcher(spec, shape, launchers)
    tasks_per_node = max(1, shape.gpus_per_node) if launcher.task_for_each_gpu else 1
    cpus, cpu_reason = _choose_cpus(spec, place, shape, tasks_per_node)
    memory, memory_reason = _choose_memory(spec, site, place, shape, cpus * tasks_per_node)
    exclusive = bool(spec.resources.exclusive)
    size = _make_size(place, shape, cpus * tasks_per_node, whole=exclusive or place.whole_nodes)
    reasons = (queue_reason, account, time_reason, link_reason, launcher_reason, cpu_reason, memory_reason, *cuts)
    plan = Plan(
        run_id=attempt.run_id,
        number=attempt.number,
        first_link=attempt.first_link,
        site=site.name,
        folder=f"{facts.root or site.root}/{wire.RUNS}/{attempt.run_id}",
        command=spec.command,
        workdir=spec.workdir,
        launcher=launcher.name,
        account=account.value if account else None,
        partition=partition,
        qos=spec.resources.qos,
        reservation=spec.resources.reservation,
        constraint=_choose_constraint(spec, site, shape),
        nodes=shape.nodes,
        tasks_per_node=tasks_per_node,
        cpus_per_task=cpus,
        threads=max(1, cpus // max(1, shape.gpus_per_node)) if launcher.starts_the_rest else cpus,
        gpus_per_node=shape.gpus_per_node,
        gpu_spelled=_spell_gpu(spec, site, place, shape),
        gpu_dialect=site.rules.gpu_dialect if shape.gpus_per_node else GpuDialect.NONE,
        memory_mb=memory,
        exclusive=exclusive,
        requeue=site.rules.requeue,
        links=links.count,
        link_time=links.time,
        link_limit=min((limit for limit, _ in limits), default=None),
        total_time=total,
        chain=site.rules.chain,
        stop_signal=spec.checkpoint.signal,
        notice=min(spec.checkpoint.notice, links.time / 2),
        checkpoint_folder=spec.checkpoint.folder,
        modules=tuple(dict.fromkeys((*site.software.always_load, *spec.environment.modules))),
        purge_modules=_choose_purge(spec, site),
        login_shell=site.software.modules.value != "none",
        activate=(spec.environment.activate,) if spec.environment.activate else (),
        env=dict(sorted(spec.env.items())),
        network_env=dict(sorted(site.network.env.items())) if shape.nodes > 1 else {},
        host_suffix=site.network.host_suffix,
        python=site.software.python,
        slurm_path=site.software.slurm_path,
        cost=make_cost(size, link_time=links.time, links=links.count, accounting=site.accounting),
        reasons=tuple(reason for reason in reasons if reason is not None),
    )
    return replace(plan, argv=launcher.make_argv(plan))


def _choose_time(asked: timedelta | None, queue: Queue) -> tuple[timedelta, Reason | None]:
    if asked is not None:
        return asked, None
    if queue.default_time is not None:
        return queue.default_time, Reason(
            field="time", value=str(queue.default_time), why=f"the default of {queue.name}; set resources.time"
        )
    why = "no time was given; set resources.time"
    return _TIME_WHEN_NOTHING_IS_SAID, Reason(field="time", value=str(_TIME_WHEN_NOTHING_IS_SAID), why=why)


def _choose_partition(
    spec: RunSpec, site: Site, queue: Queue | None, reason: Reason | None
) -> tuple[str | None, Reason | None]:
    """The one to name in the script: where the site chooses itself, only one that the user insists on."""
    if queue is None or spec.resources.partition or site.rules.names_partition:
        return (queue.name if queue else spec.resources.partition), reason
    return None, Reason(field="partition", value="none", why=f"{site.name} chooses it by time and size")


def _find_limits(
    spec: RunSpec, site: Site, facts: Facts, queue: Queue, account: Reason | None
) -> list[tuple[timedelta, str]]:
    """On one job, with whose they are: the user's own wish, the site's, the partition's, the QOS's, the account's."""
    limits: list[tuple[timedelta, str]] = []
    if spec.resources.link_time is not None:
        limits.append((spec.resources.link_time, "your link_time"))
    if site.rules.max_time is not None:
        limits.append((site.rules.max_time, f"the limit of {site.name}"))
    if queue.max_time is not None:
        limits.append((queue.max_time, f"the limit of partition {queue.name}"))
    association = find_association(facts, account.value if account else None, queue.name)
    if association is not None and association.max_time is not None:
        limits.append((association.max_time, f"the limit of account {association.account}"))
    name = spec.resources.qos or (association.default_qos if association else None)
    seen_qos = next((one for one in facts.qos or () if one.name == name), None)
    if seen_qos is not None and seen_qos.max_time is not None:
        limits.append((seen_qos.max_time, f"the limit of QOS {name}"))
    site_qos = next((one for one in site.qos if (one.name == name if name else one.is_default)), None)
    if site_qos is not None and site_qos.max_time is not None and seen_qos is None:
        limits.append((site_qos.max_time, f"the limit of QOS {site_qos.name}"))
    return limits


def _choose_links(
    spec: RunSpec, total: timedelta, limits: list[tuple[timedelta, str]], advised: timedelta | None
) -> tuple[Links, Reason | None]:
    limit, whose = min(limits, default=(None, ""))
    links = cut_into_links(total, limit, spec.checkpoint.notice)
    most = spec.checkpoint.max_links
    if links.count > 1 and advised is not None and limit is not None and advised < limit:
        shorter = cut_into_links(total, advised, spec.checkpoint.notice)
        if spec.resources.link_time is None and (most is None or shorter.count <= most):
            links, limit, whose = shorter, advised, "what the site advises for a chain"
    if most is not None and links.count > most:
        raise PlanError(
            f"{total} needs {links.count} links of at most {limit}, and max_links is {most}",
            hint="raise checkpoint.max_links or lower resources.time",
        )
    if links.count == 1:
        return links, None
    return links, Reason(field="links", value=f"{links.count} x {links.time}", why=f"{limit} is {whose}")


def _choose_launcher(spec: RunSpec, shape: Shape, launchers: Mapping[str, Launcher]) -> tuple[Launcher, Reason | None]:
    if spec.launcher is not None:
        if spec.launcher not in launchers:
            known = ", ".join(launchers)
            raise PlanError(f"there is no launcher {spec.launcher!r}; there are {known}")
        return launchers[spec.launcher], None
    alone = shape.nodes == 1 and shape.gpus_per_node <= 1
    name = "single" if alone else "srun"
    why = "one process" if alone else "one process for each GPU or node"
    return launchers[name], Reason(field="launcher", value=name, why=why)


def _choose_cpus(spec: RunSpec, queue: Queue, shape: Shape, tasks: int) -> tuple[int, Reason | None]:
    if spec.resources.cpus is not None:
        return spec.resources.cpus, None
    if queue.cores is None:
        return 1, None
    if spec.resources.exclusive or queue.whole_nodes:
        share, why = queue.cores, "the whole node"
    elif shape.gpus_per_node:
        per_gpu = queue.cpus_per_gpu or queue.cores // (queue.gpus or shape.gpus_per_node)
        share, why = per_gpu * shape.gpus_per_node, "the GPUs' share of the node's cores"
    else:
        share, why = min(queue.cores, _CPUS_WHEN_NOTHING_IS_SAID), "a modest share; set resources.cpus"
    cpus = max(1, share // tasks)
    return cpus, Reason(field="cpus", value=str(cpus), why=why)


def _choose_memory(
    spec: RunSpec, site: Site, queue: Queue, shape: Shape, cpus: int
) -> tuple[int | None, Reason | None]:
    """Megabytes of one node; 0 is all of it; None is not to ask."""
    if not site.rules.memory_can_be_asked:
        return None, None
    if spec.resources.memory_mb is not None:
        return spec.resources.memory_mb, None
    if spec.resources.exclusive or queue.whole_nodes:
        return 0, Reason(field="memory", value="all", why="the whole node is yours")
    if queue.memory_mb is None:
        return None, None
    if shape.gpus_per_node:
        per_gpu = queue.memory_mb_per_gpu or queue.memory_mb // (queue.gpus or shape.gpus_per_node)
        memory, why = per_gpu * shape.gpus_per_node, "the GPUs' share of the node's memory"
    else:
        memory = queue.memory_mb * cpus // max(cpus, queue.cores or cpus)
        why = "the cores' share of the node's memory"
    # A tenth stays free: what a node really offers is a little less than what its data sheet says.
    memory = max(1, memory * 9 // 10)
    return memory, Reason(field="memory", value=f"{memory} MB", why=why)


def _choose_constraint(spec: RunSpec, site: Site, shape: Shape) -> str | None:
    asked = spec.resources.constraint
    if site.rules.gpu_dialect is GpuDialect.CONSTRAINT and shape.gpus_per_node:
        # `&` binds no tighter than `|` in Slurm; brackets of either kind cannot be nested.
        alternatives = asked is not None and "|" in asked and not set(asked) & set("([")
        return f"gpu&({asked})" if alternatives else f"gpu&{asked}" if asked else "gpu"
    return asked


def _choose_purge(spec: RunSpec, site: Site) -> bool:
    asked = spec.environment.purge_modules
    return site.software.purge_modules if asked is None else asked


def _spell_gpu(spec: RunSpec, site: Site, queue: Queue, shape: Shape) -> str | None:
    """The type in the request, only where one was asked for or the site insists."""
    if not shape.gpus_per_node or not site.rules.typed_gpus:
        return None
    if spec.resources.gpu:
        kind = site.gpu(spec.resources.gpu)
        return (kind.spelled or kind.name) if kind else spec.resources.gpu
    return queue.gpu or None if site.rules.needs_gpu_type else None


def _make_size(queue: Queue, shape: Shape, cores_a_node: int, *, whole: bool) -> Size:
    cores = queue.cores if whole and queue.cores else cores_a_node
    gpus = queue.gpus if whole and queue.gpus else shape.gpus_per_node
    return Size(nodes=shape.nodes, cores=shape.nodes * cores, gpus=shape.nodes * gpus)
