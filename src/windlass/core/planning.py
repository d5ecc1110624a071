"""From what the user wants and what is known of the site to a plan. Decides; checks nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.core.case import DataSeen
from windlass.core.chain import Links, choose_notice, cut_into_links
from windlass.core.cost import make_cost
from windlass.core.environment import (
    Around,
    Entering,
    EnvironmentSeen,
    add_activation,
    choose_purge,
    list_modules,
    settle,
)
from windlass.core.facts import Facts
from windlass.core.job import make_code_folder
from windlass.core.launch import Launcher, Sight
from windlass.core.placing.access import Limit
from windlass.core.placing.fitting import fit_to_site
from windlass.core.placing.place import Wish
from windlass.core.placing.placement import choose_place
from windlass.core.placing.queues import Queue, make_queues
from windlass.core.placing.shapes import Shape
from windlass.core.placing.sizing import choose_share, list_kin, make_size, spell_gpu
from windlass.core.plan import Plan, PlannedData, Reason
from windlass.core.run import RunSpec
from windlass.core.site import Accounting, CostUnit, GpuDialect, Site
from windlass.core.source.code import NO_CODE, Code
from windlass.core.source.reach import find_reached
from windlass.core.spending.own import count_allowed_s, list_limits
from windlass.core.staging import find_local_disk_gb, get_limits_gb, plan_data
from windlass.core.units import format_human_duration
from windlass.errors import PlanError
from windlass_job import wire

_TIME_WHEN_NOTHING_IS_SAID = timedelta(hours=1)
_TAKE_AN_INTERFACE = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Which submission of which run this is; a resumed run goes on counting its links."""

    run_id: str
    number: int = 1
    first_link: int = 1


def make_plan(
    spec: RunSpec,
    site: Site,
    facts: Facts,
    attempt: Attempt,
    *,
    launchers: Mapping[str, Launcher],
    code: Code = NO_CODE,
    data: Sequence[DataSeen] = (),
    environment: EnvironmentSeen | None = None,
) -> Plan:
    """Fill every gap in the spec with the site's facts."""
    queues = make_queues(site, facts)
    spec, cuts = fit_to_site(spec, site, queues)
    asked = spec.resources.time or _TIME_WHEN_NOTHING_IS_SAID
    wish = Wish(
        resources=spec.resources,
        total=asked,
        notice=choose_notice(spec.checkpoint, spec.resources.link_time or asked, is_chain=True),
    )
    choice = choose_place(wish, site, facts, queues)
    place, queue, shape = choice.place, choice.place.queue, choice.place.shape
    total, time_reason = _choose_time(spec.resources.time, queue)
    links, link_reason = _choose_links(spec, total, place.limits, site.rules.advised_link_time)
    processes = spec.resources.processes_per_node or max(1, shape.gpus_per_node)
    launcher, launcher_reason = _choose_launcher(spec, shape, processes, launchers, code)
    tasks = processes if launcher.task_for_each_process else 1
    kin = list_kin(spec.resources, site, place, queues)
    gpu_spelled, gpu_reason = spell_gpu(spec.resources, site, place, kin)
    share = choose_share(
        spec.resources, site, place, tasks=tasks, kin=() if gpu_spelled else kin, is_counted=facts.memory_is_counted
    )
    exclusive = bool(spec.resources.exclusive)
    size = make_size(place, share, tasks=tasks, is_exclusive=exclusive, bills_the_largest=facts.bills_the_largest)
    limits = list_limits(spec.budget)
    folder = f"{facts.root or site.root}/{wire.RUNS}/{attempt.run_id}"
    planned, data_reasons = plan_data(
        spec,
        site,
        facts,
        run_folder=folder,
        memory_mb=share.memory_mb or queue.memory_mb,
        disk_gb=find_local_disk_gb(site, queue.name),
        seen=data,
    )
    in_memory_gb, on_node_gb = get_limits_gb(site)
    entering = environment.entering if environment is not None else Entering()
    around = Around(
        workdir=make_code_folder(folder, spec.workdir),
        gpus_per_node=shape.gpus_per_node,
        gpu=spec.resources.gpu or gpu_spelled,
        folders=_list_folders(spec, site, facts, planned),
    )
    is_left_out = environment is not None and environment.is_left_out  # and with it what is done inside of it
    entering = add_activation(settle(entering, around), None if is_left_out else spec.environment.activate)
    reasons = (
        *choice.reasons,
        gpu_reason,
        time_reason,
        link_reason,
        launcher_reason,
        *share.reasons,
        *data_reasons,
        *(environment.reasons if environment is not None else ()),
        *cuts,
    )
    plan = Plan(
        run_id=attempt.run_id,
        number=attempt.number,
        first_link=attempt.first_link,
        site=site.name,
        folder=folder,
        command=spec.command,
        workdir=spec.workdir,
        launcher=launcher.name,
        account=place.account.value if place.account else None,
        partition=_name_partition(spec, site, queue),
        qos=spec.resources.qos or (place.level.name if place.level and not place.level.is_default else None),
        reservation=spec.resources.reservation,
        dependency=spec.resources.dependency,
        constraint=_choose_constraint(spec, site, shape, queue),
        exclude=spec.resources.exclude,
        nodes=shape.nodes,
        tasks_per_node=tasks,
        processes_per_node=processes if launcher.task_for_each_process or launcher.starts_the_rest else 1,
        cpus_per_task=share.cpus_per_task,
        threads=_count_threads(share.cpus_per_task, queue, processes if launcher.starts_the_rest else 1),
        gpus_per_node=shape.gpus_per_node,
        gpu_spelled=gpu_spelled,
        gpu_dialect=site.rules.gpu_dialect if shape.gpus_per_node else GpuDialect.NONE,
        memory_mb=share.memory_mb,
        exclusive=exclusive,
        requeue=site.rules.requeue,
        links=links.count,
        link_time=links.time,
        link_limit=min((limit for limit, _ in place.limits), default=None),
        total_time=total,
        chain=spec.checkpoint.chain or site.rules.chain,
        stop_signal=spec.checkpoint.signal,
        notice=choose_notice(spec.checkpoint, links.time, is_chain=links.count > 1),
        checkpoint_folder=spec.checkpoint.folder,
        done_file=spec.checkpoint.done_file,
        done_pattern=spec.checkpoint.done_pattern,
        restart=spec.checkpoint.folder is not None if spec.checkpoint.restart is None else spec.checkpoint.restart,
        network_test=shape.nodes > 1 if spec.network_test is None else spec.network_test,
        replace_nodes=spec.replace_nodes and site.rules.jobs_submit_jobs is not False,
        interface=site.network.interface,
        data=planned,
        data_in_memory_gb=in_memory_gb,
        data_on_node_gb=on_node_gb,
        local_scratch=site.local_scratch,
        bring_back=spec.bring_back,
        bring_back_every=spec.bring_back_every,
        modules=list_modules(spec.environment, site),
        purge_modules=choose_purge(spec.environment, site),
        login_shell=site.software.modules.value != "none",
        environment=_name_environment(environment),
        environment_left_out=_name_left_out(environment),
        image=environment.built.pinned if environment is not None and environment.built is not None else None,
        activate=entering.lines,
        packed=environment.packed if environment is not None else None,
        inside=entering.inside,
        env=dict(sorted({**entering.env, **spec.env}.items())),
        network_env=_make_network_env(site) if shape.nodes > 1 else {},
        host_suffix=site.network.host_suffix,
        python=site.software.python,
        slurm_path=site.software.slurm_path,
        cost=make_cost(size, link_time=links.time, links=links.count, accounting=_choose_unit(site, queue)),
        size=size,
        limits=limits,
        allowed_s=count_allowed_s(limits, size, site.accounting),
        reasons=tuple(reason for reason in reasons if reason is not None),
        runner_up=choice.runner_up,
    )
    return replace(plan, argv=launcher.make_argv(plan), launch_env=dict(sorted(launcher.make_env(plan).items())))


def _list_folders(spec: RunSpec, site: Site, facts: Facts, data: Sequence[PlannedData]) -> tuple[str, ...]:
    """What the command reads and writes, wherever it lies: a container shows only what it is told to."""
    checkpoints = spec.checkpoint.folder or ""
    data_paths = (one.path for one in data if "://" not in one.path)
    found = (facts.root or site.root, site.local_scratch, *data_paths, checkpoints)
    return tuple(dict.fromkeys(path for path in found if path.startswith(("/", "$", "~"))))


def _choose_time(asked: timedelta | None, queue: Queue) -> tuple[timedelta, Reason | None]:
    if asked is not None:
        return asked, None
    if queue.default_time is not None:
        taken, why = queue.default_time, f"the default of {queue.name}; set resources.time"
    else:
        taken, why = _TIME_WHEN_NOTHING_IS_SAID, "no time was given; set resources.time"
    return taken, Reason(field="time", value=format_human_duration(taken), why=why)


def _name_partition(spec: RunSpec, site: Site, queue: Queue) -> str | None:
    """Where the site chooses itself, only one that the user insists on."""
    if not queue.name or spec.resources.partition:
        return spec.resources.partition
    return queue.name if site.rules.names_partition else None


def _choose_unit(site: Site, queue: Queue) -> Accounting:
    """Where the file does not say what is counted and Slurm has weights, these are it."""
    if site.accounting.unit is CostUnit.UNKNOWN and queue.billing_weights:
        return replace(site.accounting, unit=CostUnit.BILLING)
    return site.accounting


def _count_threads(cpus: int, queue: Queue, processes: int) -> int:
    """Of one process, on cores: two hardware threads of one core share what makes numbers fast."""
    threads = max(1, (queue.cpus or 0) // queue.cores) if queue.cores else 1
    return max(1, cpus // max(1, processes) // threads)


def _choose_links(
    spec: RunSpec, total: timedelta, limits: Sequence[Limit], advised: timedelta | None
) -> tuple[Links, Reason | None]:
    limit, whose = min(limits, default=(None, ""))
    links = _cut(spec, total, limit)
    most = spec.checkpoint.max_links
    if links.count > 1 and advised is not None and limit is not None and advised < limit:
        shorter = _cut(spec, total, advised)
        if spec.resources.link_time is None and (most is None or shorter.count <= most):
            links, limit, whose = shorter, advised, "what the site advises for a chain"
    if most is not None and links.count > most:
        raise PlanError(
            f"{_tell(total)} needs {links.count} links of at most {_tell(limit)}, and max_links is {most}",
            hint="raise checkpoint.max_links or lower resources.time",
            about="time",
        )
    if links.count == 1:
        return links, None
    value = f"{links.count} x {format_human_duration(links.time)}"
    return links, Reason(
        field="links", value=value, why=f"{_tell(limit)} is {whose}{_tell_saving(spec, limit or total)}"
    )


def _tell_saving(spec: RunSpec, limit: timedelta) -> str:
    """Why the links together are longer than the run."""
    kept = min(choose_notice(spec.checkpoint, limit, is_chain=True), limit / 2)
    return f"; each link keeps {format_human_duration(kept)} at its end for saving" if kept else ""


def _cut(spec: RunSpec, total: timedelta, limit: timedelta | None) -> Links:
    return cut_into_links(total, limit, choose_notice(spec.checkpoint, limit or total, is_chain=True))


def _tell(limit: timedelta | None) -> str:
    return "no limit" if limit is None else format_human_duration(limit)


def _choose_launcher(
    spec: RunSpec, shape: Shape, processes: int, launchers: Mapping[str, Launcher], code: Code
) -> tuple[Launcher, Reason | None]:
    if spec.launcher is not None:
        if spec.launcher not in launchers:
            known = ", ".join(launchers)
            raise PlanError(f"there is no launcher {spec.launcher!r}; there are {known}")
        return launchers[spec.launcher], None
    sight = Sight(
        reached=find_reached(code, spec.command, spec.workdir),
        command=spec.command,
        nodes=shape.nodes,
        processes_per_node=processes,
    )
    for launcher in launchers.values():
        why = launcher.recognise(sight)
        if why is not None:
            return launcher, Reason(field="launcher", value=launcher.name, why=why)
    raise PlanError("no launcher fits this run", hint=f'[run] launcher = "{next(iter(launchers))}"')


def _make_network_env(site: Site) -> dict[str, str]:
    """What the site's file says itself counts more than what follows from the name of its interface."""
    interface = site.network.interface
    follows = dict.fromkeys(_TAKE_AN_INTERFACE, interface) if interface else {}
    return dict(sorted({**follows, **site.network.env}.items()))


def _choose_constraint(spec: RunSpec, site: Site, shape: Shape, queue: Queue) -> str | None:
    asked = spec.resources.constraint
    if site.rules.gpu_dialect is not GpuDialect.CONSTRAINT:
        return asked
    # Such a site wants every job to say which kind of node it is for, also one without GPUs.
    feature = "gpu" if shape.gpus_per_node else "&".join(queue.written_features)
    if not feature or not asked or feature in asked.split("&"):
        return asked or feature or None
    # `&` binds no tighter than `|` in Slurm; brackets of either kind cannot be nested.
    alternatives = "|" in asked and not set(asked) & set("([")
    return f"{feature}&({asked})" if alternatives else f"{feature}&{asked}"


def _name_environment(seen: EnvironmentSeen | None) -> str | None:
    """Of what was built for it."""
    return seen.recipe.id if seen and seen.recipe.existing is None and not seen.is_left_out else None


def _name_left_out(seen: EnvironmentSeen | None) -> str | None:
    """Of what could be built; a rehearsal leaves out without having asked."""
    return seen.recipe.id if seen and seen.is_left_out and seen.is_asked and seen.recipe.existing is None else None
