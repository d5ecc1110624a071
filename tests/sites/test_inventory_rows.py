"""What five centres' documents say about access, queues, limits, QOS, accounts, storage, quotas, GPUs and cost.

One case for each row of the inventory; its id is the row's, and docs/reference/inventory.md cites it.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.sites.inventory import ROWS
from tests.sites.shipped import load, look_up
from windlass.core.cost import make_cost
from windlass.core.site import Site
from windlass.core.size import Size

HOUR = timedelta(hours=1)
DAY = 24 * HOUR
IMAGENET_FILES = 1_400_000


@pytest.mark.parametrize("number", ROWS)
def test_the_file_says_what_the_document_says(number: str) -> None:
    name, facts = ROWS[number]

    assert {key: look_up(load(name), key) for key in facts} == facts


def charge(site: str, nodes: int, hours: int) -> float:
    size = Size(nodes=nodes, cores=nodes, gpus=nodes)
    return make_cost(size, link_time=hours * HOUR, links=1, accounting=load(site).accounting).whole


def list_for_prebuilt_torch(site: Site) -> list[str]:
    """Queues whose GPUs are still in the official builds."""
    kept = {one.name for one in site.gpus if one.wheels is None}
    nodes = {one.name: one for one in site.node_types}
    return [queue.name for queue in site.list_partitions(site.category) if {nodes[n].gpu for n in queue.nodes} <= kept]


def add_up(name: str) -> tuple[int, int]:
    """Hardware threads and GPUs of the whole machine."""
    nodes = [(one, one.count or 0) for one in load(name).node_types]
    return sum(n * (one.cores or 0) * one.threads_per_core for one, n in nodes), sum(n * one.gpus for one, n in nodes)


def largest_job(site: Site, queue: str) -> int:
    """Cores."""
    partition = site.partition(queue)
    assert partition is not None
    node = site.node_type(partition.nodes[0])
    assert node is not None
    return (partition.max_nodes or 0) * (node.cores or 0)


def over_all(key: str) -> dict[str, object]:
    return {name: look_up(load(name), key) for name in ("beluga", "cedar", "graham", "narval")}


def quota_of_files(name: str, area: str) -> int:
    found = load(name).area(area)
    assert found is not None
    assert found.quota_files is not None
    return found.quota_files


COMPUTED: dict[str, tuple[Callable[[], object], object]] = {
    "SD-01": (lambda: [len(load("sdumont").list_partitions(one)) for one in ("standard", "premium")], [8, 11]),
    "SD-15": (lambda: [one.name for one in load("sdumont").partitions if one.max_time is None], []),
    "SD-23": (lambda: list_for_prebuilt_torch(load("sdumont")), ["gdl", "sequana_gpu_shared"]),
    "CA-06-sizes": (
        lambda: over_all("node.cpu.local_disk_gb"),
        {"beluga": 370, "cedar": 840, "graham": 750, "narval": 800},
    ),
    "CA-34": (
        lambda: over_all("rules.compute_internet"),
        {"beluga": False, "cedar": True, "graham": False, "narval": False},
    ),
    "CA-58": (
        lambda: over_all("rules.max_time"),
        {"beluga": 7 * DAY, "cedar": 28 * DAY, "graham": 7 * DAY, "narval": 7 * DAY},
    ),
    "CA-58-jobs": (lambda: set(over_all("rules.max_submitted").values()), {1000}),
    "CA-58-length": (lambda: set(over_all("rules.min_job_time").values()), {HOUR}),
    "JS-04-sums": (lambda: add_up("jureca-dc"), (24_576, 768)),
    "JS-05-sums": (lambda: add_up("juwels-booster"), (89_856, 3_744)),
    "JS-11": (lambda: (charge("jureca-dc", 1, 1), charge("jureca-dc", 64, 8)), (128, 65_536)),
    "CS-04-one": (lambda: charge("daint", 1, 1), 1),
    "CS-04-imagenet": (lambda: 200 <= charge("daint", 16, 16) <= 300, True),
    "CS-19-imagenet": (lambda: quota_of_files("daint", "scratch") < IMAGENET_FILES, True),
    "CS-13-open": (lambda: [one.name for one in load("daint").list_partitions(None)], ["normal"]),
    "WI-01": (lambda: largest_job(load("wilson"), "cpu_gce"), 800),
    "WI-05-offered": (lambda: [one.name for one in load("wilson").qos if not one.hidden], ["opp", "regular", "test"]),
}


@pytest.mark.parametrize("number", COMPUTED)
def test_what_follows_from_the_file(number: str) -> None:
    compute, expected = COMPUTED[number]

    assert compute() == expected
