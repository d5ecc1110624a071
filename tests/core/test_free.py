"""The list of queues: file, survey and what is free, joined and sorted."""

from dataclasses import replace

import pytest

from tests.builders import HOUR, SITE
from windlass.core.facts import NOTHING_SEEN, Association, Facts, Reservation, SeenPartition, SeenQos
from windlass.core.seen.free import (
    Free,
    NodeKind,
    find_maintenance,
    list_categories,
    make_qos_views,
    make_views,
    pick_category,
)
from windlass.core.site import Partition, Qos, Site

SERVICE = Reservation(name="service", starts=5000, ends=9000, is_maintenance=True, all_nodes=True)


def names_of(site: Site, **free: Free) -> list[str]:
    return [one.name for one in make_views(site, NOTHING_SEEN, free=free, counts={}, now=0)]


def test_without_slurm_the_file_is_shown_as_it_is() -> None:
    cpu, gpu = make_views(SITE, NOTHING_SEEN, free={}, counts={}, now=0)

    assert (cpu.name, cpu.is_default, cpu.max_time, cpu.free, cpu.running) == ("cpu", True, 72 * HOUR, None, None)
    assert (gpu.gpus, gpu.cores, gpu.memory_mb) == ((("a100", 4),), 64, 512_000)


def test_what_has_free_gpus_comes_first_and_what_is_closed_last() -> None:
    closed = Partition(name="old", forbidden="it is being taken down")
    site = replace(SITE, partitions=(closed, *SITE.partitions))

    assert names_of(site, gpu=Free(gpus={"a100": (2, 8)}), cpu=Free(cores_free=9)) == ["gpu", "cpu", "old"]


def test_a_partition_nobody_uses_has_no_jobs() -> None:
    views = make_views(SITE, NOTHING_SEEN, free={"gpu": Free(), "cpu": Free()}, counts={"gpu": (3, 1)}, now=0)

    assert {one.name: (one.running, one.waiting) for one in views} == {"cpu": (0, 0), "gpu": (3, 1)}


def test_a_partition_with_two_kinds_of_node_is_one_view() -> None:
    seen = SeenPartition(name="mix", nodes=6, cpus_per_node=8, gpus=(("a100", 4), ("v100", 2)))

    (view,) = make_views(replace(SITE, partitions=()), Facts(partitions=(seen,)), free={}, counts={}, now=0)

    assert (view.gpus, view.max_nodes) == ((("a100", 4), ("v100", 2)), 6)


def test_each_kind_of_node_is_told_with_its_own_numbers() -> None:
    both = Partition(name="all", nodes=("thin", "fat"))

    (view,) = make_views(replace(SITE, partitions=(both,)), NOTHING_SEEN, free={}, counts={}, now=0)

    assert view.kinds == (
        NodeKind(nodes=100, cores=128, memory_mb=256_000),
        NodeKind(nodes=8, cores=64, memory_mb=512_000, gpus=(("a100", 4),)),
    )


def test_a_partition_that_is_down_says_so() -> None:
    seen = SeenPartition(name="gpu", state="DOWN")

    view = make_views(SITE, Facts(partitions=(seen,)), free={}, counts={}, now=0)[-1]

    assert view.closed is not None
    assert "DOWN" in view.closed


def test_a_category_sees_its_own_queues_and_those_of_all() -> None:
    dear = Partition(name="dear", category="premium")
    site = replace(SITE, category="standard", partitions=(*SITE.partitions, dear))
    views = make_views(replace(site, category="premium"), NOTHING_SEEN, free={}, counts={}, now=0)

    assert [one.name for one in pick_category(site, views, "premium")] == ["cpu", "gpu", "dear"]
    assert [one.name for one in pick_category(site, views, "standard")] == ["cpu", "gpu"]
    assert list_categories(site) == ("standard", "premium")


@pytest.mark.parametrize(
    ("reservation", "is_found"),
    [
        (SERVICE, True),
        (replace(SERVICE, all_nodes=False, partitions_covered=("gpu",)), True),
        (replace(SERVICE, all_nodes=False, partitions_covered=("cpu",)), False),
        (replace(SERVICE, is_maintenance=False), False),
        (replace(SERVICE, ends=1000), False),
    ],
)
def test_a_maintenance_counts_where_no_node_is_left(reservation: Reservation, is_found: bool) -> None:
    assert (find_maintenance([reservation], "gpu", now=2000) is not None) is is_found


def test_the_next_maintenance_is_told() -> None:
    later = replace(SERVICE, name="later", starts=20_000, ends=30_000)

    found = find_maintenance([later, SERVICE], "gpu", now=2000)

    assert found is not None
    assert found.name == "service"


def test_only_qos_of_ones_own_are_listed_and_the_best_first() -> None:
    facts = Facts(
        associations=(Association(account="lab", qos=("normal", "high"), default_qos="normal"),),
        qos=(
            SeenQos(name="normal", priority=0),
            SeenQos(name="high", priority=9, max_jobs=2, max_per_user={"gres/gpu": 4}),
            SeenQos(name="admin", priority=99),
        ),
    )

    high, normal = make_qos_views(SITE, facts)

    assert (high.name, high.max_running, high.max_gpus, high.accounts) == ("high", 2, 4, ("lab",))
    assert (normal.name, normal.is_default) == ("normal", True)


def test_offline_the_qos_of_the_file_are_listed_but_hidden_ones() -> None:
    site = replace(SITE, qos=(Qos(name="regular", is_default=True), Qos(name="admin", hidden=True)))

    assert [one.name for one in make_qos_views(site, NOTHING_SEEN)] == ["regular"]
