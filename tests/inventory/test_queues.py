"""Queues and their limits, by the site file alone: what just fits is planned, one more is told before it is sent."""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.builders import HOUR, MINUTE, plan_for
from tests.inventory.cases import find, list_errors, make_case
from tests.sites.shipped import load
from windlass.core.run import Resources
from windlass.errors import WindlassError

DAY = 24 * HOUR


@dataclass(frozen=True, kw_only=True)
class Queue:
    site: str
    partition: str | None
    limit: timedelta
    gpus: int = 0  # of one node
    code: str = "C202"


QUEUES = {
    "SD-07": Queue(site="sdumont", partition="nvidia", limit=48 * HOUR, gpus=2),
    "SD-08": Queue(site="sdumont", partition="nvidia_small", limit=HOUR, gpus=2),
    "SD-09": Queue(site="sdumont", partition="nvidia_dev", limit=20 * MINUTE, gpus=2),
    "SD-10": Queue(site="sdumont", partition="nvidia_scal", limit=18 * HOUR, gpus=2),
    "SD-11": Queue(site="sdumont", partition="nvidia_long", limit=31 * DAY, gpus=2),
    "SD-12": Queue(site="sdumont", partition="het_scal", limit=18 * HOUR, gpus=2),
    "SD-13": Queue(site="sdumont", partition="gdl", limit=48 * HOUR, gpus=8),
    "SD-14": Queue(site="sdumont", partition="sequana_gpu_shared", limit=96 * HOUR, gpus=4),
    "CA-58-beluga": Queue(site="beluga", partition=None, limit=7 * DAY, gpus=1, code="C211"),
    "CA-58-narval": Queue(site="narval", partition=None, limit=7 * DAY, gpus=1, code="C211"),
    "CA-58-cedar": Queue(site="cedar", partition=None, limit=28 * DAY, gpus=1, code="C211"),
    "JS-08": Queue(site="jureca-dc", partition="dc-gpu", limit=24 * HOUR, gpus=4),
    "WI-10": Queue(site="wilson", partition="cpu_gce", limit=24 * HOUR),
    "WI-11": Queue(site="wilson", partition="cpu_gce_test", limit=4 * HOUR),
    "WI-12": Queue(site="wilson", partition="gpu_gce", limit=24 * HOUR, gpus=1),
    "WI-13": Queue(site="wilson", partition="gpu_gce_ppc", limit=24 * HOUR, gpus=4),
}


@pytest.mark.parametrize("row", QUEUES)
def test_the_longest_job_is_one_link_and_a_minute_more_is_an_error(row: str) -> None:
    queue = QUEUES[row]
    asked = Resources(partition=queue.partition, time=queue.limit, gpus_per_node=queue.gpus, qos=_find_qos(queue.site))
    longest = make_case(queue.site, asked)
    longer = make_case(queue.site, asked, planned={"link_time": queue.limit + MINUTE})

    assert (longest.plan.links, longest.plan.link_time) == (1, queue.limit)
    assert list_errors(longest) == []
    assert next(one.code for one in list_errors(longer) if one.code in ("C202", "C211")) == queue.code


def _find_qos(site: str) -> str | None:
    """One that is no shorter than any partition."""
    return "regular" if site == "wilson" else None


@pytest.mark.parametrize("row", [row for row, queue in QUEUES.items() if queue.partition])
def test_a_longer_training_is_cut_where_the_queue_ends(row: str) -> None:
    """SD-15: at the limit a job is interrupted, so no link is longer, and each has time to save."""
    queue = QUEUES[row]
    asked = Resources(
        partition=queue.partition, time=3 * queue.limit, gpus_per_node=queue.gpus, qos=_find_qos(queue.site)
    )
    plan = plan_for(asked, site=load(queue.site))

    assert plan.links > 3
    assert plan.link_time <= queue.limit
    assert plan.notice > timedelta(0)


@pytest.mark.parametrize(
    ("partition", "most"),
    [
        pytest.param("cpu_gce", 50, id="WI-10"),
        pytest.param("cpu_gce_test", 5, id="WI-11"),
        pytest.param("gpu_gce_ppc", 1, id="WI-13"),
    ],
)
def test_a_partition_gives_one_job_only_so_many_nodes(partition: str, most: int) -> None:
    gpus = 4 if partition == "gpu_gce_ppc" else None
    case = make_case("wilson", Resources(partition=partition, nodes=most, gpus_per_node=gpus, time=HOUR))

    assert list_errors(case) == []
    with pytest.raises(WindlassError, match=f"{most + 1}"):
        plan_for(Resources(partition=partition, nodes=most + 1, gpus_per_node=gpus, time=HOUR), site=load("wilson"))


@pytest.mark.parametrize(
    ("partition", "default"),
    [
        pytest.param("cpu_gce", 8 * HOUR, id="WI-10"),
        pytest.param("cpu_gce_test", HOUR, id="WI-11"),
        pytest.param("gpu_gce", 8 * HOUR, id="WI-12"),
    ],
)
def test_without_a_time_the_default_of_the_partition_counts(partition: str, default: timedelta) -> None:
    case = make_case("wilson", Resources(partition=partition))

    assert case.plan.total_time == default
    assert "no time was given" in find(case, "C203").message


@pytest.mark.parametrize(
    ("site", "partition"),
    [pytest.param("daint", "low", id="CS-13"), pytest.param("sdumont", "sequana_gpu_long", id="SD-01")],
)
def test_a_queue_that_is_not_for_this_project_is_refused(site: str, partition: str) -> None:
    case = make_case(site, Resources(gpus=1, time=HOUR), planned={"partition": partition})

    assert "C225" in [one.code for one in list_errors(case)]


def test_a_short_test_is_offered_the_queue_for_tests() -> None:
    """SD-09."""
    plan = plan_for(Resources(gpus=2, gpu="k40", time=10 * MINUTE), site=load("sdumont"))

    assert plan.runner_up is not None
    assert (plan.partition, plan.runner_up.partition) == ("nvidia", "nvidia_dev")
    assert "short tests" in plan.runner_up.why_not


def test_a_short_test_is_offered_the_qos_for_tests() -> None:
    """WI-08."""
    plan = plan_for(Resources(gpus=1, gpu="v100", time=HOUR), site=load("wilson"))

    assert plan.qos is None
    assert plan.runner_up is not None
    assert plan.runner_up.qos == "test"
