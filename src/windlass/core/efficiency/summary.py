"""What a run asked for and used, in a few numbers: what `windlass report` shows first, and what the laptop keeps."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.core.efficiency.usage import Usage
from windlass.core.finding import Advice
from windlass.core.jobs import JobState
from windlass.core.record import RunState
from windlass.core.site import CostUnit


@dataclass(frozen=True, kw_only=True)
class Asked:
    nodes: int | None = None
    gpus: int | None = None  # of all nodes
    cpus: int | None = None  # of each task
    memory_mb: int | None = None  # of each node; None: all of it, or not asked
    time_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Summary:
    """None: not known."""

    run_id: str
    name: str
    site: str
    state: RunState
    created: float
    command: str = ""
    asked: Asked = Asked()
    waited_s: float | None = None  # from the submission to the first start
    ran_s: float | None = None  # all links together
    cost: float | None = None  # of what ran, in `cost_unit`
    cost_unit: CostUnit = CostUnit.UNKNOWN
    memory_mb: float | None = None  # the most that was needed on one node
    memory_peak_mb: float | None = None  # the same with caches of files
    cores: int | None = None  # that it had on one node
    cpu_cores: float | None = None  # mean, busy on one node
    gpu_use: float | None = None  # mean of all, in percent
    gpu_memory_share: float | None = None  # the most of one, 0 to 1
    power_w: float | None = None  # mean of all GPUs together
    wait_share: float | None = None  # 0 to 1: for data
    was_out_of_memory: bool = False


@dataclass(frozen=True, kw_only=True)
class Given:
    """One advice as it was given."""

    code: str
    settings: tuple[tuple[str, str], ...] = ()  # key and value as windlass.toml writes it


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A run that has ended and what was advised then, for comparison with the next one of its name."""

    summary: Summary
    given: tuple[Given, ...] = ()


def make_summary(usage: Usage) -> Summary:
    record, plan = usage.record, usage.plan
    cost = plan.cost.one_link / plan.link_time.total_seconds() if plan and plan.link_time else None
    powers = [mean for gpu in usage.gpus if (mean := gpu.power_w.mean) is not None]
    shares = [most / gpu.memory_total_mb for gpu in usage.gpus if gpu.memory_total_mb and (most := gpu.memory_mb.most)]
    return Summary(
        run_id=record.run_id,
        name=record.name,
        site=record.site,
        state=record.state,
        created=record.created,
        command=record.command,
        asked=_make_asked(usage),
        waited_s=usage.waited_s,
        ran_s=usage.ran_s,
        cost=cost * usage.ran_s if cost is not None and usage.ran_s is not None else None,
        cost_unit=plan.cost.unit if plan else CostUnit.UNKNOWN,
        memory_mb=usage.memory_mb,
        memory_peak_mb=max(
            (most for node in usage.gauges.nodes if (most := node.memory_peak_mb.most) is not None), default=None
        ),
        cores=usage.cores,
        cpu_cores=usage.cpu_cores,
        gpu_use=usage.gpu_use,
        gpu_memory_share=max(shares, default=None),
        power_w=sum(powers) if powers else None,
        wait_share=usage.wait_share,
        was_out_of_memory=_was_out_of_memory(usage),
    )


def make_kept(summary: Summary, advice: Sequence[Advice]) -> Kept:
    given = (Given(code=one.code, settings=tuple((it.key, it.value) for it in one.patch)) for one in advice)
    return Kept(summary=summary, given=tuple(given))


def _was_out_of_memory(usage: Usage) -> bool:
    by_slurm = usage.job is not None and usage.job.state is JobState.OUT_OF_MEMORY
    return by_slurm or any(node.oom_kills.most for node in usage.gauges.nodes)


def _make_asked(usage: Usage) -> Asked:
    plan = usage.plan
    if plan is None:
        return Asked()
    return Asked(
        nodes=plan.nodes,
        gpus=plan.gpus,
        cpus=plan.cpus_per_task,
        memory_mb=plan.memory_mb or None,
        time_s=plan.total_time.total_seconds(),
    )
