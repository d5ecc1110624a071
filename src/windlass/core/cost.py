"""What a plan costs in the site's own unit."""

from dataclasses import dataclass
from datetime import timedelta

from windlass.core.site import Accounting, CostUnit
from windlass.core.size import Size


@dataclass(frozen=True, kw_only=True)
class Cost:
    """At most: a run that ends early costs less."""

    unit: CostUnit
    one_link: float
    whole: float


def make_cost(size: Size, *, link_time: timedelta, links: int, accounting: Accounting) -> Cost:
    hours = link_time.total_seconds() / 3600
    one_link = count_charged(size, accounting) * hours
    return Cost(unit=accounting.unit, one_link=one_link, whole=one_link * links)


def count_charged(size: Size, accounting: Accounting) -> float:
    """For one hour."""
    match accounting.unit:
        case CostUnit.NODE_HOURS:
            return size.nodes
        case CostUnit.GPU_HOURS:
            return size.gpus
        case CostUnit.CORE_HOURS:
            per_node = accounting.charged_cores_per_node
            return size.nodes * per_node if per_node else size.cores
        case CostUnit.BILLING:
            return size.billing
        case CostUnit.NONE | CostUnit.UNKNOWN:
            return 0
