"""A site file against the living site: each difference is told, and what is merely counted otherwise is not."""

from dataclasses import replace

import pytest

from tests.builders import CPU, GPU, GPU_NODE, HOUR, SITE
from windlass.core.facts import Facts, NodeShape, SeenPartition, SeenQos, SeenQuota
from windlass.core.seen.comparing import compare, list_unwritten
from windlass.core.site import Area, Qos, Site

SEEN_CPU = SeenPartition(name="cpu", max_time=72 * HOUR, shapes=(NodeShape(cpus=128, memory_mb=252_000),))
SEEN_GPU = SeenPartition(
    name="gpu",
    max_time=24 * HOUR,
    gpus=(("a100", 4),),
    shapes=(NodeShape(cpus=64, memory_mb=510_000, gpus=(("a100", 4),)),),
)
FACTS = Facts(partitions=(SEEN_CPU, SEEN_GPU))
SHORT = replace(SITE, partitions=(CPU, replace(GPU, max_nodes=4)))
LEVELS = replace(SITE, qos=(Qos(name="opp", max_time=8 * HOUR, max_submitted=50),))
SCRATCH = replace(SITE, storage=(Area(name="scratch", path="/scratch", quota_gb=20_000, quota_files=1_000_000),))


def with_gpu(**changes: object) -> Facts:
    return replace(FACTS, partitions=(SEEN_CPU, replace(SEEN_GPU, **changes)))  # type: ignore[arg-type]


def test_a_file_that_is_right_differs_in_nothing() -> None:
    assert compare(SITE, FACTS) == ()


def test_nothing_seen_is_no_difference() -> None:
    assert compare(SITE, Facts()) == ()


@pytest.mark.parametrize(
    ("site", "facts", "key", "written", "seen"),
    [
        (SITE, with_gpu(max_time=48 * HOUR), "partition.gpu.max_time", "1 d", "2 d"),
        (SITE, with_gpu(max_time=None), "partition.gpu.max_time", "1 d", "no limit"),
        (SITE, Facts(partitions=(SEEN_CPU,)), "partition.gpu", "there", None),
        (SHORT, with_gpu(max_nodes=2), "partition.gpu.max_nodes", "4", "2"),
        (SITE, with_gpu(gpus=(("a100", 2),)), "node.fat.gpus", "4 x a100", "2 x a100"),
        (SITE, with_gpu(gpus=(("h100", 4),)), "node.fat.gpus", "4 x a100", "4 x h100"),
        (SITE, with_gpu(shapes=(NodeShape(cpus=32, memory_mb=512_000),)), "node.fat.cores", "64", "32"),
        (SITE, with_gpu(shapes=(NodeShape(cpus=64, memory_mb=250_000),)), "node.fat.memory_gb", "512", "250"),
        (LEVELS, Facts(qos=(SeenQos(name="opp", max_time=4 * HOUR, max_submit=50),)), "qos.opp.max_time", "8 h", "4 h"),
        (LEVELS, Facts(qos=(SeenQos(name="opp", max_time=8 * HOUR),)), "qos.opp.max_submitted", "50", "no limit"),
        (LEVELS, Facts(qos=()), "qos.opp", "there", None),
        (
            SCRATCH,
            Facts(quotas=(SeenQuota(area="scratch", path="/scratch", limit_bytes=10**13),)),
            "storage.scratch.quota_gb",
            "20000",
            "1e+04",
        ),
        (
            SCRATCH,
            Facts(quotas=(SeenQuota(area="scratch", path="/scratch", limit_files=500_000),)),
            "storage.scratch.quota_files",
            "1000000",
            "500000",
        ),
    ],
)
def test_a_difference_is_told(site: Site, facts: Facts, key: str, written: str, seen: str | None) -> None:
    (told,) = compare(site, facts)

    assert (told.key, told.written, told.seen) == (key, written, seen)


@pytest.mark.parametrize(
    "facts",
    [
        with_gpu(shapes=(NodeShape(cpus=64, memory_mb=500_000, gpus=(("a100", 4),)), NodeShape(cpus=4))),
        with_gpu(gpus=(("", 4),)),  # a site that does not type its GPUs
        with_gpu(max_nodes=7),  # the file says nothing about it
    ],
)
def test_what_only_looks_different_is_not_told(facts: Facts) -> None:
    assert compare(SITE, facts) == ()


def test_threads_may_be_counted_as_cores() -> None:
    threaded = replace(SITE, node_types=(SITE.node_types[0], replace(GPU_NODE, threads_per_core=2)))

    assert compare(threaded, with_gpu(shapes=(NodeShape(cpus=128, memory_mb=512_000),))) == ()


def test_partitions_the_file_does_not_tell_of() -> None:
    facts = replace(FACTS, partitions=(*(FACTS.partitions or ()), SeenPartition(name="new")))

    assert list_unwritten(SITE, facts) == ("new",)
