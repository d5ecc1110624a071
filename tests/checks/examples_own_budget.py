"""C704 to C706: what the run could use against the limits that the user set."""

from dataclasses import replace

from tests.builders import HOUR, SPEC
from tests.checks.cases import NOW, PAID, Example, case
from windlass.core.run import Budget, OverBudget, RunSpec
from windlass.core.size import Size
from windlass.core.spending.limit import OwnLimit
from windlass.core.spending.own import OwnUse

RUN = OwnLimit(scope="run", hours=16, unit="gpu-hours")
MONTH = OwnLimit(scope="month", hours=100, unit="gpu-hours")
SITE = OwnLimit(scope="site", hours=100, unit="gpu-hours")
FOUR_GPUS = Size(nodes=1, cores=12, gpus=4)
PLAN = replace(PAID, links=4, link_time=HOUR, size=FOUR_GPUS, limits=(RUN,))  # 16 GPU-h in all
USE = OwnUse(limit=MONTH, used=60, still=24, since=NOW - 86_400, until=NOW + 10 * 86_400)
WARNED: RunSpec = replace(SPEC, budget=Budget(over=OverBudget.WARN))


EXAMPLES = {
    "C704": Example(
        trips=case(plan=replace(PLAN, links=5)),
        passes=case(plan=PLAN),
        says="the run may use 20 GPU-h; budget.run is 16 GPU-h: enough for 4 of 5 links",
        also_trips=(
            case(plan=replace(PLAN, links=5), spec=WARNED),
            case(plan=replace(PLAN, limits=(MONTH,)), own_use=(replace(USE, still=25),)),
            case(plan=replace(PLAN, limits=(SITE,)), own_use=(replace(USE, limit=SITE, used=90, still=None),)),
        ),
        also_passes=(
            case(plan=replace(PLAN, limits=(MONTH,)), own_use=(USE,)),  # 60 + 24 + 16
            # What comes after the month counts there.
            case(plan=replace(PLAN, limits=(MONTH,)), own_use=(replace(USE, used=97, still=2, until=NOW + 900),)),
            case(plan=replace(PLAN, limits=(MONTH,)), own_use=(replace(USE, used=100),)),  # C705 tells it
            case(plan=replace(PLAN, links=5, size=replace(FOUR_GPUS, gpus=0))),
        ),
    ),
    "C705": Example(
        trips=case(plan=replace(PLAN, limits=(MONTH,)), own_use=(replace(USE, used=100),)),
        passes=case(plan=replace(PLAN, limits=(MONTH,)), own_use=(replace(USE, used=99),)),
        says="budget.month of 100 GPU-h is used up (100 GPU-h) by runs of this name",
    ),
    "C706": Example(
        trips=case(plan=replace(PLAN, limits=(replace(RUN, unit="billing-hours"),))),
        passes=case(plan=PLAN),
        says="budget.run is 16 billing-h, which cannot be counted at alpha: the run is not kept to it",
        also_trips=(case(plan=replace(PLAN, limits=(RUN, SITE)), own_use=None),),
        also_passes=(case(plan=replace(PLAN, limits=(RUN, SITE)), own_use=(replace(USE, limit=SITE),)),),
    ),
}
