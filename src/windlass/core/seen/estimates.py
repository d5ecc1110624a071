"""When a job would start: what to ask Slurm about, and how wrong its answers have been."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.core.chain import cut_into_links
from windlass.core.plan import Plan
from windlass.core.site import GpuDialect, Site
from windlass.core.units import format_human_duration

MOST_QUESTIONS = 5  # each uses up a number of a job, and the controller thinks about each
AS_PLANNED = "as planned"
_SHORTEST_LINK = timedelta(minutes=30)  # below it there is nothing to win by less
_HOUR = timedelta(hours=1)
_NEVER_S = 300 * 86_400.0  # what cannot tell says: in a year
_MOST_PAST = 12
_AT_ONCE_S = 60.0  # nobody plans by less than a minute
_EARLY_S = 60.0  # clocks differ; a start before the question was of another life of the job


@dataclass(frozen=True, kw_only=True)
class Question:
    """A plan to ask about. `what` says how it differs from the one that was made."""

    what: str
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What Slurm said of one plan. It moves with every job that ends early or comes in before it."""

    what: str
    partition: str | None = None
    expected: float | None = None  # seconds since 1970; None: it could not tell
    asked: float  # seconds since 1970
    refused: str | None = None  # it would not be taken like this: why
    source: str = "sbatch --test-only"


@dataclass(frozen=True, kw_only=True)
class Past:
    """How far past estimates were off: a start later than expected counts above 0."""

    jobs: int
    earliest_s: float
    latest_s: float


@dataclass(frozen=True, kw_only=True)
class Estimates:
    chosen: Estimate
    variants: tuple[Estimate, ...] = ()
    past: Past | None = None  # None: no job in this partition had an estimate yet


@dataclass(frozen=True, kw_only=True)
class Noted:
    """What was expected of one submission, and what came; kept on the laptop."""

    partition: str | None
    submitted: float
    expected: float | None = None
    asked: float | None = None  # when
    started: float | None = None


def make_questions(plan: Plan, site: Site) -> tuple[Question, ...]:
    """The plan, and what is cheaper: fewer nodes or GPUs, shorter links, the partition that came second."""
    asked = (
        Question(what=AS_PLANNED, plan=plan),
        *_make_smaller(plan),
        *_make_second(plan),
        *_make_shorter(plan, site),
    )
    return asked[:MOST_QUESTIONS]


def make_estimate(what: str, *, expected: float | None, partition: str | None, asked: float) -> Estimate:
    """A start in a year is how Slurm says that it cannot tell; one in the past is now."""
    is_told = expected is not None and expected - asked < _NEVER_S
    return Estimate(what=what, partition=partition, expected=expected if is_told else None, asked=asked)


def judge_past(noted: Iterable[Noted], partition: str | None) -> Past | None:
    """Of the last jobs in this partition that had an estimate and have started."""
    known = [one for one in noted if one.partition == partition]
    newest = sorted(known, key=lambda one: one.submitted, reverse=True)
    errors = [error for one in newest if (error := _find_error(one)) is not None][:_MOST_PAST]
    return Past(jobs=len(errors), earliest_s=min(errors), latest_s=max(errors)) if errors else None


def is_at_once(estimate: Estimate) -> bool:
    return estimate.expected is not None and estimate.expected - estimate.asked < _AT_ONCE_S


def is_worth_telling(estimate: Estimate, chosen: Estimate) -> bool:
    """A variant that would start no sooner is no advice."""
    if estimate.expected is None:
        return False
    return chosen.expected is None or estimate.expected < chosen.expected - _AT_ONCE_S


def _find_error(one: Noted) -> float | None:
    if one.expected is None or one.started is None or one.asked is None or one.started < one.asked - _EARLY_S:
        return None
    # Whoever was told "now" cannot be early.
    return one.started - max(one.expected, one.asked)


def _make_smaller(plan: Plan) -> Sequence[Question]:
    if plan.nodes > 1:
        nodes = plan.nodes // 2
        what = f"{nodes} node{'s' if nodes > 1 else ''} instead of {plan.nodes}"
        return (Question(what=what, plan=replace(plan, nodes=nodes)),)
    is_divisible = plan.gpus_per_node > 1 and not plan.exclusive and plan.gpu_dialect is not GpuDialect.CONSTRAINT
    if not is_divisible:
        return ()
    gpus = plan.gpus_per_node // 2
    share = gpus / plan.gpus_per_node
    has_task_each = plan.tasks_per_node == plan.gpus_per_node
    half = replace(
        plan,
        gpus_per_node=gpus,
        tasks_per_node=gpus if has_task_each else plan.tasks_per_node,
        cpus_per_task=plan.cpus_per_task if has_task_each else max(1, int(plan.cpus_per_task * share)),
        memory_mb=int(plan.memory_mb * share) if plan.memory_mb else plan.memory_mb,
    )
    return (Question(what=f"{gpus} GPU{'s' if gpus > 1 else ''} instead of {plan.gpus_per_node}", plan=half),)


def _make_second(plan: Plan) -> Sequence[Question]:
    second = plan.runner_up
    if second is None or (second.partition, second.qos) == (plan.partition, plan.qos):
        return ()
    place = f"partition {second.partition}" if second.partition not in ("", plan.partition) else ""
    what = ", ".join(part for part in (place, f"QOS {second.qos}" if second.qos else "") if part)
    # A second place without a QOS is one with the default, and without a partition one where the site chooses it.
    other = replace(plan, partition=second.partition or plan.partition, qos=second.qos)
    return (Question(what=what or "the default QOS", plan=other),)


def _make_shorter(plan: Plan, site: Site) -> Sequence[Question]:
    """The length the site advises, its next lower limit or the half; and an hour, which fits into most gaps."""
    advised = (*((site.rules.advised_link_time,) if site.rules.advised_link_time else ()), *site.rules.time_bins)
    below = [time for time in advised if _SHORTEST_LINK <= time < plan.link_time]
    times = [max(below, default=_whole_minutes(plan.link_time / 2)), _HOUR]
    wanted = [time for time in dict.fromkeys(times) if _SHORTEST_LINK <= time < plan.link_time]
    return [Question(what=_say_shorter(plan, time), plan=_cut(plan, time)) for time in wanted]


def _cut(plan: Plan, time: timedelta) -> Plan:
    return replace(plan, link_time=time, links=cut_into_links(plan.total_time, time, plan.notice).count)


def _say_shorter(plan: Plan, time: timedelta) -> str:
    links = cut_into_links(plan.total_time, time, plan.notice).count
    now = f"{plan.links} of {format_human_duration(plan.link_time)}"
    return f"{links} links of {format_human_duration(time)} instead of {now}"


def _whole_minutes(time: timedelta) -> timedelta:
    return time // timedelta(minutes=1) * timedelta(minutes=1)
