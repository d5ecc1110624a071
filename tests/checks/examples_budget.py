"""C701 to C703: what the run costs against what is left."""

from dataclasses import replace

from tests.builders import HOUR
from tests.checks.cases import ALICE, MINE, PAID, Example, case
from windlass.core.cost import Cost
from windlass.core.facts import Balance, Facts, SeenQos
from windlass.core.site import CostUnit

RICH = Balance(account="def-prof", unit="core-hours", limit=1000, used=0, source="sshare")
PLAN = replace(
    PAID, cpus_per_task=10, link_time=HOUR, links=4, cost=Cost(unit=CostUnit.CORE_HOURS, one_link=10, whole=40)
)


def with_budget(core_hours: float, *, left: float | None = None, safe: bool = True) -> Facts:
    """Slurm keeps the account to so many hours; `left` of them."""
    balance = None if left is None else replace(RICH, limit=core_hours, used=core_hours - left)
    return replace(
        MINE,
        associations=(replace(ALICE, group_minutes={"cpu": int(core_hours * 60)}),),
        balances=None if balance is None else (balance,),
        starts_only_what_is_paid=safe,
    )


def with_left(left: float) -> Facts:
    return replace(MINE, balances=(replace(RICH, used=1000 - left),))


EXAMPLES = {
    "C701": Example(
        trips=case(plan=PLAN, facts=with_budget(1000, left=9)),
        passes=case(plan=PLAN, facts=with_budget(1000, left=10)),
        says="one job may use 10 core-hours; account def-prof has 9 left",
        refusal="(AssocGrpCPUMinutesLimit)",
        also_trips=(
            case(plan=PLAN, facts=with_budget(9)),  # whatever was used
            case(plan=PLAN, facts=with_budget(1000, left=9, safe=False)),
            case(
                plan=replace(PLAN, qos="poor"),
                facts=replace(MINE, qos=(SeenQos(name="poor", group_minutes={"cpu": 60}),)),
            ),
        ),
        also_passes=(
            case(plan=PLAN, facts=with_left(1)),  # nothing holds the account to it
            case(plan=PLAN, facts=replace(MINE, associations=(replace(ALICE, group_minutes={"fs/disk": 1}),))),
            case(plan=PLAN, facts=replace(with_budget(9), enforces_limits=False)),
        ),
    ),
    "C702": Example(
        trips=case(plan=PLAN, facts=with_left(39)),
        passes=case(plan=PLAN, facts=with_left(40)),
        says="the run may use 40 core-hours; account def-prof has 39 left: enough for 3 of 4 jobs",
        also_passes=(
            case(plan=PLAN, facts=with_budget(1000, left=9)),  # C701 tells it
            case(plan=PLAN, facts=replace(with_left(1), balances=(replace(RICH, unit="node-hours", limit=1),))),
            case(plan=PLAN, facts=replace(MINE, balances=(replace(RICH, limit=None),))),
            case(plan=PLAN),
        ),
    ),
    "C703": Example(
        trips=case(plan=PLAN, facts=with_left(79)),
        passes=case(plan=PLAN, facts=with_left(80)),
        says="the run may use 40 core-hours, 51% of the 79 left to account def-prof",
        also_passes=(case(plan=PLAN, facts=with_left(39)), case(plan=PLAN)),
    ),
}
