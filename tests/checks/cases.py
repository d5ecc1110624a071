"""What an example of a check is, and the values to build its cases with."""

from dataclasses import dataclass, replace

from tests.builders import PLAN, SITE, SPEC
from windlass.core.case import Case, DataSeen
from windlass.core.facts import NOTHING_SEEN, Association, Facts, NodeShape, SeenPartition
from windlass.core.jobs import JobSeen
from windlass.core.plan import Plan
from windlass.core.run import RunSpec
from windlass.core.site import GpuDialect, Login, Rules, Site
from windlass.core.source.code import NO_CODE, Code
from windlass.core.spending.own import OwnUse

NOW = 1_800_000_000.0


def case(
    *,
    plan: Plan = PLAN,
    site: Site = SITE,
    facts: Facts = NOTHING_SEEN,
    spec: RunSpec = SPEC,
    sent_mb: float = 1.0,
    sent_files: int = 10,
    code: Code = NO_CODE,
    data: tuple[DataSeen, ...] = (),
    awaited: tuple[JobSeen, ...] | None = None,
    own_use: tuple[OwnUse, ...] | None = (),
    now: float | None = NOW,
) -> Case:
    return Case(
        spec=spec,
        plan=plan,
        site=site,
        facts=facts,
        snapshot_mb=sent_mb,
        snapshot_files=sent_files,
        code=code,
        data=data,
        awaited=awaited,
        own_use=own_use,
        now=now,
    )


@dataclass(frozen=True, kw_only=True)
class Example:
    trips: Case
    passes: Case  # nearly the same
    says: str
    refusal: str | None = None  # what Slurm says to it
    also_trips: tuple[Case, ...] = ()
    also_passes: tuple[Case, ...] = ()


ALICE = Association(account="def-prof", qos=("normal", "high"), max_submit=10, is_default=True)
MINE = Facts(associations=(ALICE,), enforces_limits=True)
PAID = replace(PLAN, account="def-prof")
CHAIN = replace(PLAN, links=4)
ONE_GPU = replace(PLAN, partition="gpu", gpus_per_node=1, gpu_dialect=GpuDialect.GRES)
REMOTE = replace(SITE, login=Login(host="login.example.org"))
FAT = NodeShape(nodes=8, cpus=64, memory_mb=512_000, gpus=(("a100", 4),), features=("a100", "gpu"))
GPU_SEEN = SeenPartition(
    name="gpu", nodes=8, cpus_per_node=64, memory_mb_per_node=512_000, gpus=(("a100", 4),), shapes=(FAT,)
)


def seen(partition: SeenPartition = GPU_SEEN, *, enforces: bool | None = True, **more: object) -> Facts:
    """Facts with this partition; `enforces` its limits at once, or lets jobs wait."""
    return replace(Facts(partitions=(partition,), enforces_partition_limits=enforces), **more)  # type: ignore[arg-type]


def with_rules(**rules: object) -> Site:
    return replace(SITE, rules=replace(Rules(), **rules))  # type: ignore[arg-type]
