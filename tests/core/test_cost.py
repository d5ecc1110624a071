"""The price of a plan, in the unit in which the site counts."""

from dataclasses import replace

import pytest

from tests.builders import GPU_NODE, HOUR, SITE, plan_for
from windlass.core.cost import Cost, make_cost
from windlass.core.run import Resources
from windlass.core.site import Accounting, CostUnit, Rules
from windlass.core.size import Size

SIZE = Size(nodes=2, cores=32, gpus=8)


@pytest.mark.parametrize(
    ("unit", "an_hour"),
    [(CostUnit.NODE_HOURS, 2), (CostUnit.GPU_HOURS, 8), (CostUnit.CORE_HOURS, 32), (CostUnit.NONE, 0)],
)
def test_each_unit_counts_its_own_thing(unit: CostUnit, an_hour: int) -> None:
    cost = make_cost(SIZE, link_time=3 * HOUR, links=4, accounting=Accounting(unit=unit))

    assert cost == Cost(unit=unit, one_link=3 * an_hour, whole=12 * an_hour)


def test_a_site_may_charge_more_cores_than_are_used() -> None:
    accounting = Accounting(unit=CostUnit.CORE_HOURS, charged_cores_per_node=68)

    assert make_cost(SIZE, link_time=HOUR, links=1, accounting=accounting).whole == 136


def test_whole_nodes_are_paid_whole() -> None:
    one_gpu = Resources(gpus=1, time=HOUR)
    site = replace(SITE, accounting=Accounting(unit=CostUnit.GPU_HOURS))

    shared = plan_for(one_gpu, site=site)
    whole = plan_for(one_gpu, site=replace(site, rules=Rules(whole_nodes=True)))
    exclusive = plan_for(replace(one_gpu, exclusive=True), site=site)

    assert (shared.cost.whole, whole.cost.whole, exclusive.cost.whole) == (1, GPU_NODE.gpus, GPU_NODE.gpus)


def test_a_chain_is_paid_link_by_link() -> None:
    site = replace(SITE, accounting=Accounting(unit=CostUnit.GPU_HOURS))

    plan = plan_for(Resources(gpus=4, time=46 * HOUR), site=site)

    assert plan.links == 2
    assert plan.cost.whole == 2 * plan.cost.one_link == 8 * (plan.link_time / HOUR)
