"""Whose limits hold for a plan: of the partition's QOS, the job's QOS and the account, the first that sets one wins."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.facts import Association, Facts, SeenPartition, SeenQos
from windlass.core.plan import Plan
from windlass.core.site import GpuDialect

_QOS_OF_ROOT = "normal"  # what a job gets that names none, where nobody set a default
AMOUNTS = {"cpu": "CPUs", "node": "nodes", "mem": "MB of memory", "gres/gpu": "GPUs"}


@dataclass(frozen=True, kw_only=True)
class Holder:
    """One who may set limits."""

    name: str
    whose: str  # "QOS strict", "account tiny"
    fact: str  # the command that shows them
    prefix: str  # of Slurm's words for them
    max_time: timedelta | None
    max_jobs: int | None
    max_submit: int | None
    max_per_job: Mapping[str, int]
    group_at_once: Mapping[str, int]
    group_minutes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Standing:
    association: Association | None = None
    qos: SeenQos | None = None  # of the job
    partition_qos: SeenQos | None = None
    holders: tuple[Holder, ...] = ()  # the first that sets a limit wins

    @property
    def refuses(self) -> bool:
        """Slurm refuses a job over a limit, whosever it is, instead of letting it wait for ever."""
        return any(one is not None and one.denies_on_limit for one in (self.partition_qos, self.qos))

    def format_refusal(self, word: str) -> str:
        return word if self.refuses else f"({word})"

    def first(self, limit: Callable[[Holder], timedelta | int | None]) -> Holder | None:
        return next((one for one in self.holders if limit(one) is not None), None)


def find_standing(plan: Plan, facts: Facts) -> Standing:
    """What is not known or not enforced holds nobody back."""
    if facts.enforces_limits is False:
        return Standing()
    association = find_own_association(plan, facts)
    seen = facts.partition(plan.partition or "")
    partition_qos = facts.seen_qos(seen.qos) if seen is not None and seen.qos else None
    qos = facts.seen_qos(find_qos_name(plan, association))
    holders = [_from_qos(one) for one in (partition_qos, qos) if one is not None]
    if association is not None:
        holders.append(_from_association(association))
    return Standing(association=association, qos=qos, partition_qos=partition_qos, holders=tuple(holders))


def find_own_association(plan: Plan, facts: Facts) -> Association | None:
    """Of the plan's account, or the user's default; the one for this partition before the one for all."""
    account = plan.account.lower() if plan.account else None
    mine = [
        one
        for one in facts.associations or ()
        if (one.account.lower() == account if account else one.is_default) and one.partition in (None, plan.partition)
    ]
    return max(mine, key=lambda one: one.partition is not None, default=None)


def find_qos_name(plan: Plan, association: Association | None) -> str | None:
    """As Slurm finds it: the one named, the default, the only one, and then the one everybody has."""
    if plan.qos or association is None:
        return plan.qos
    only = association.qos[0] if len(association.qos) == 1 else None
    return association.default_qos or only or _QOS_OF_ROOT


def find_place(plan: Plan, facts: Facts) -> SeenPartition | None:
    """The partition; where the site chooses it itself, the most of what any of its partitions has."""
    if plan.partition is not None or not facts.partitions:
        return facts.partition(plan.partition or "")
    limits = [one.max_time for one in facts.partitions if one.max_time is not None]
    gpus: dict[str, int] = {}
    for kind, count in (pair for one in facts.partitions for pair in one.gpus):
        gpus[kind] = max(count, gpus.get(kind, 0))
    return SeenPartition(
        name="any partition",
        max_time=max(limits) if len(limits) == len(facts.partitions) else None,
        nodes=_most(one.nodes for one in facts.partitions),
        cpus_per_node=_most(one.cpus_per_node for one in facts.partitions),
        memory_mb_per_node=_most(one.memory_mb_per_node for one in facts.partitions),
        gpus=tuple(sorted(gpus.items())),
    )


def name_command(plan: Plan, command: str, option: str = "") -> str:
    """A command that shows the partition, or all where the site chooses: `sinfo -p gpu -o %c`, `sinfo -o %c`."""
    where = f" {option}{plan.partition}" if plan.partition else ""
    return command.replace(" @", where)


def count_cpus(seen: SeenPartition) -> int | None:
    """Of the whole partition."""
    if not seen.shapes or any(one.nodes is None or one.cpus is None for one in seen.shapes):
        return None
    return sum((one.nodes or 0) * (one.cpus or 0) for one in seen.shapes)


def choose_refusal(facts: Facts, *, refused: str, waits: str) -> str | None:
    """What Slurm says to a job over a partition's limit: by EnforcePartLimits it refuses, or lets it wait for ever."""
    if facts.enforces_partition_limits is None:
        return None
    return refused if facts.enforces_partition_limits else f"({waits})"


def count_resources(plan: Plan) -> dict[str, int]:
    """What one job asks for, by Slurm's names. Memory only where it was asked for in megabytes."""
    counted = {"cpu": plan.tasks * plan.cpus_per_task, "node": plan.nodes}
    if plan.memory_mb:
        counted["mem"] = plan.memory_mb * plan.nodes
    if plan.gpu_dialect in (GpuDialect.GRES, GpuDialect.GPUS_PER_NODE):
        counted["gres/gpu"] = plan.gpus
        if plan.gpu_spelled:
            counted[f"gres/gpu:{plan.gpu_spelled}"] = plan.gpus
    return counted


def format_amount(name: str, amount: int) -> str:
    """`gres/gpu` and 4: "4 GPUs"."""
    words = AMOUNTS.get(name) or f"{name.removeprefix('gres/gpu:')} GPUs"
    return f"{amount} {words.removesuffix('s') if amount == 1 and words != 'MB of memory' else words}"


def find_over(standing: Standing, plan: Plan, limits: Callable[[Holder], Mapping[str, int]]) -> Iterator["Over"]:
    """Each resource of which the plan asks for more than the first holder with a limit on it gives."""
    for name, asked in count_resources(plan).items():
        holder = next((one for one in standing.holders if name in limits(one)), None)
        if holder is not None and asked > limits(holder)[name]:
            yield Over(holder=holder, name=name, asked=asked, limit=limits(holder)[name])


@dataclass(frozen=True, kw_only=True)
class Over:
    holder: Holder
    name: str  # of the resource, as Slurm says it
    asked: int
    limit: int

    @property
    def resource(self) -> str:
        """By which Slurm words differ: cpu, node, mem, gres."""
        return self.name.partition("/")[0]


def _most(values: Iterable[int | None]) -> int | None:
    """None where one of them is not known."""
    known = list(values)
    return None if None in known else max((one for one in known if one is not None), default=None)


def _from_qos(qos: SeenQos) -> Holder:
    return Holder(
        name=qos.name,
        whose=f"QOS {qos.name}",
        fact=f"sacctmgr show qos {qos.name}",
        prefix="QOS",
        max_time=qos.max_time,
        max_jobs=qos.max_jobs,
        max_submit=qos.max_submit,
        max_per_job=qos.max_per_job,
        group_at_once=qos.group_at_once,
        group_minutes=qos.group_minutes,
    )


def _from_association(association: Association) -> Holder:
    return Holder(
        name=association.account,
        whose=f"account {association.account}",
        fact=f"sacctmgr show assoc user=$USER account={association.account}",
        prefix="Assoc",
        max_time=association.max_time,
        max_jobs=association.max_jobs,
        max_submit=association.max_submit,
        max_per_job=association.max_per_job,
        group_at_once=association.group_at_once,
        group_minutes=association.group_minutes,
    )


def count_queued(facts: Facts, holder: Holder) -> tuple[int, bool]:
    """Your jobs that count against the limits of this one, and whether it is known which do."""
    by_name = facts.jobs_by_qos if holder.prefix == "QOS" else facts.jobs_by_account
    if by_name is not None:
        return by_name.get(holder.name, 0), True
    is_all_one = holder.prefix == "Assoc" and len(facts.associations or ()) == 1
    return facts.jobs_in_queue or 0, not facts.jobs_in_queue or is_all_one
