"""Where a run goes, who pays for it, and how it is spread."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import BARE_SITE, CPU, GPU, GPU_NODE, HOUR, SITE, plan_for
from windlass.core.facts import NOTHING_SEEN, Association, Facts, SeenPartition
from windlass.core.placing.access import choose_account, find_association
from windlass.core.placing.place import Wish
from windlass.core.placing.placement import choose_place
from windlass.core.placing.queues import Queue, make_queues
from windlass.core.placing.shapes import Shape, make_shapes
from windlass.core.plan import RunnerUp
from windlass.core.run import Resources
from windlass.core.site import Partition, Site
from windlass.errors import PlanError

FOUR = Queue(name="gpu", gpu="a100", gpus=4)
DEV = Partition(name="dev", nodes=("fat",), max_time=2 * HOUR, for_tests=True)


def partition_for(resources: Resources, *, site: Site = SITE, facts: Facts = NOTHING_SEEN) -> str:
    choice = choose_place(
        Wish(resources=resources, total=resources.time or HOUR), site, facts, make_queues(site, facts)
    )
    (reason,) = [one for one in choice.reasons if one.field == "partition"]
    assert reason.value == choice.place.queue.name
    return reason.value


@pytest.mark.parametrize(
    ("asked", "shape"),
    [
        (Resources(), (1, 0)),
        (Resources(nodes=3), (3, 0)),
        (Resources(gpus=0), (1, 0)),
        (Resources(gpu="a100"), (1, 1)),
        (Resources(gpus=1), (1, 1)),
        (Resources(gpus=4), (1, 4)),
        (Resources(gpus=6), (2, 3)),
        (Resources(gpus=8), (2, 4)),
        (Resources(gpus=4, nodes=4), (4, 1)),
        (Resources(gpus_per_node=2, nodes=3), (3, 2)),
    ],
)
def test_gpus_go_to_as_few_nodes_as_hold_them(asked: Resources, shape: tuple[int, int]) -> None:
    assert make_shapes(asked, FOUR) == Shape(nodes=shape[0], gpus_per_node=shape[1])


def test_where_the_nodes_are_not_known_all_gpus_are_asked_of_one() -> None:
    assert make_shapes(Resources(gpus=8), Queue(name="")) == Shape(nodes=1, gpus_per_node=8)


def test_gpus_that_cannot_be_spread_evenly_are_refused_with_a_number_that_can() -> None:
    with pytest.raises(PlanError, match="7 GPUs cannot be spread evenly over 2 nodes") as told:
        make_shapes(Resources(gpus=7), FOUR)

    assert told.value.hint == "gpus = 8"


@pytest.mark.parametrize(
    ("asked", "queue", "hint"),
    [
        (Resources(gpus=7, nodes=2), replace(FOUR, gpus=3), "gpus = 6"),  # 8 do not fit two such nodes
        (Resources(gpus=3, nodes=4), FOUR, "gpus = 4"),
        (Resources(gpus=3, nodes=4), replace(FOUR, gpus=0), "gpus = 4"),
    ],
)
def test_the_number_that_can_is_one_that_the_nodes_have(asked: Resources, queue: Queue, hint: str) -> None:
    with pytest.raises(PlanError) as told:
        make_shapes(asked, queue)

    assert told.value.hint == hint


@pytest.mark.parametrize(("nodes", "offered"), [(1, 2), (2, 4)])
def test_no_more_gpus_are_offered_than_there_are(nodes: int, offered: int) -> None:
    old = replace(GPU_NODE, name="old", gpu="v100", gpus=2, count=nodes)
    site = replace(SITE, node_types=(*SITE.node_types, old), partitions=(replace(GPU, nodes=("fat", "old", "thin")),))

    with pytest.raises(PlanError) as told:
        partition_for(Resources(gpus=3, gpu="v100"), site=site)

    (detail,) = told.value.details  # not also that other nodes are of another kind, or have none
    assert detail.endswith(f"; gpus = {offered}")
    assert partition_for(Resources(gpus=offered, gpu="v100"), site=site) == "gpu"


@given(st.integers(1, 64), st.integers(1, 16))
def test_no_gpu_gets_lost(gpus: int, per_node: int) -> None:
    try:
        shape = make_shapes(Resources(gpus=gpus), Queue(name="gpu", gpus=per_node))
    except PlanError:
        return

    assert shape.nodes * shape.gpus_per_node == gpus
    assert shape.gpus_per_node <= per_node


def test_a_run_without_gpus_leaves_them_to_others() -> None:
    only_gpu_is_default = replace(SITE, partitions=(replace(CPU, is_default=False), replace(GPU, is_default=True)))

    assert partition_for(Resources(), site=only_gpu_is_default) == "cpu"


def test_a_run_with_gpus_goes_where_they_are() -> None:
    assert partition_for(Resources(gpus=4)) == "gpu"


def test_a_test_partition_is_offered_for_what_fits_it_and_taken_by_who_asks() -> None:
    site = replace(SITE, partitions=(DEV, GPU))

    short, long = (plan_for(Resources(gpus=1, time=time), site=site) for time in (HOUR, 20 * HOUR))

    assert (short.partition, long.partition) == ("gpu", "gpu")
    assert short.runner_up == RunnerUp(partition="dev", why_not="it is for short tests; name it for one")
    assert plan_for(Resources(gpus=1, partition="dev"), site=site).partition == "dev"
    assert partition_for(Resources(gpus=1, time=HOUR), site=replace(site, partitions=(DEV,))) == "dev"


def test_fewer_links_win_over_the_default() -> None:
    long = Partition(name="long", nodes=("fat",), max_time=200 * HOUR)
    site = replace(SITE, partitions=(replace(GPU, is_default=True), long))

    assert partition_for(Resources(gpus=1, time=100 * HOUR), site=site) == "long"
    assert partition_for(Resources(gpus=1, time=HOUR), site=site) == "gpu"


def test_a_partition_that_is_down_is_the_last_choice() -> None:
    other = replace(GPU, name="other")
    facts = Facts(partitions=(SeenPartition(name="gpu", state="DOWN"), SeenPartition(name="other")))

    site = replace(SITE, partitions=(replace(GPU, is_default=True), other))

    assert partition_for(Resources(gpus=1), site=site, facts=facts) == "other"
    assert partition_for(Resources(gpus=1, partition="gpu"), site=site, facts=facts) == "gpu"


def test_when_nothing_fits_each_partition_has_its_reason() -> None:
    closed = replace(GPU, name="closed", forbidden="for staff only")
    site = replace(SITE, partitions=(CPU, closed, replace(GPU, max_nodes=1)))

    with pytest.raises(PlanError, match="no partition of alpha can take this run") as told:
        partition_for(Resources(gpus=8), site=site)

    assert told.value.details == (
        "cpu: its nodes have no GPUs",
        "closed: for staff only",
        "gpu: it gives at most 1 node, 8 GPUs need 2; gpus = 4",
    )


def test_a_site_without_gpus_says_so_for_each_partition() -> None:
    site = replace(SITE, partitions=(CPU, replace(CPU, name="long")))

    with pytest.raises(PlanError) as told:
        partition_for(Resources(gpu="a100"), site=site)

    assert told.value.details == ("cpu: its nodes have no GPUs", "long: its nodes have no GPUs")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (Resources(gpus_per_node=5), "its nodes have 4 GPUs, you ask for 5 on each"),
        (Resources(gpus=7), "7 GPUs cannot be spread evenly over 2 nodes; gpus = 8"),
        (Resources(gpu="h100"), "its GPUs are a100, you ask for h100"),
        (Resources(gpus=4, nodes=9, gpus_per_node=4), "it gives at most 8 nodes, you ask for 9"),
        (Resources(cpus=65, gpus=1), "its nodes have 64 cores, you ask for 65 in one task"),
        (Resources(memory_mb=600_000, gpus=1), "its nodes have 512000 MB of memory, you ask for 600000 MB"),
    ],
)
def test_a_request_too_large_is_told_with_both_numbers(asked: Resources, why: str) -> None:
    with pytest.raises(PlanError) as told:
        partition_for(asked, site=replace(SITE, partitions=(GPU,)))

    assert told.value.details == (f"gpu: {why}",)


def test_a_partition_for_large_jobs_does_not_take_small_ones() -> None:
    site = replace(SITE, partitions=(replace(GPU, name="large", min_nodes=4, is_default=True), GPU))

    assert partition_for(Resources(gpus=4), site=site) == "gpu"
    assert partition_for(Resources(gpus=16), site=site) == "large"


def test_gpus_that_fit_no_node_here_may_fit_elsewhere() -> None:
    big = replace(GPU_NODE, name="big", gpus=8)
    site = replace(
        SITE, node_types=(GPU_NODE, big), partitions=(GPU, Partition(name="dgx", nodes=("big",), max_time=HOUR))
    )

    assert partition_for(Resources(gpus=7), site=site) == "dgx"


def test_no_gpus_at_all_means_no_kind_either() -> None:
    assert partition_for(Resources(gpus=0, gpu="h100")) == "cpu"


def test_what_is_not_known_refuses_nothing() -> None:
    site = replace(BARE_SITE, partitions=(Partition(name="pocket"),))

    assert partition_for(Resources(gpus=2, gpu="a100", cpus=900, memory_mb=10**9, nodes=2), site=site) == "pocket"


def test_an_unknown_partition_is_refused_with_the_nearest() -> None:
    with pytest.raises(PlanError, match="alpha has no partition 'gpus'; it has cpu, gpu") as told:
        partition_for(Resources(partition="gpus"))

    assert told.value.hint == "did you mean 'gpu'?"


def test_a_site_that_tells_of_no_partition_is_asked_without_one() -> None:
    assert plan_for(site=BARE_SITE).partition is None
    assert plan_for(Resources(partition="gpu"), site=BARE_SITE).partition == "gpu"


# ---- who pays -------------------------------------------------------------------------------------

ONE = Association(account="def-prof")
TWO = Association(account="rrg-prof")


def account_for(*associations: Association, queue: Queue | None = FOUR, asked: str | None = None) -> str | None:
    reason = choose_account(Resources(account=asked), Facts(associations=associations), queue)
    return reason.value if reason else None


def test_the_account_asked_for_is_taken() -> None:
    assert account_for(ONE, TWO, asked="other") == "other"


def test_the_only_account_is_taken() -> None:
    assert account_for(ONE, replace(ONE, partition="gpu")) == "def-prof"


def test_the_default_account_is_taken_among_several() -> None:
    assert account_for(ONE, replace(TWO, is_default=True)) == "rrg-prof"


def test_nothing_is_guessed_among_several() -> None:
    assert account_for(ONE, TWO) is None
    assert account_for() is None
    assert choose_account(Resources(), NOTHING_SEEN, None) is None


def test_an_account_for_another_partition_does_not_count() -> None:
    assert account_for(replace(ONE, is_default=True, partition="cpu"), TWO) == "rrg-prof"


def test_a_partition_that_names_its_accounts_gets_one_of_them() -> None:
    queue = replace(FOUR, accounts=("rrg-prof",))

    assert account_for(replace(ONE, is_default=True), TWO, queue=queue) == "rrg-prof"


def test_a_list_may_name_the_account_above_mine() -> None:
    queue = replace(FOUR, accounts=("parent",))

    assert (
        account_for(replace(ONE, is_default=True), replace(TWO, parents=("parent", "root")), queue=queue) == "rrg-prof"
    )


def test_a_partition_may_bar_accounts() -> None:
    assert (
        account_for(replace(ONE, is_default=True), TWO, queue=replace(FOUR, not_accounts=("def-prof",))) == "rrg-prof"
    )


def test_a_list_that_names_none_of_mine_decides_nothing() -> None:
    assert account_for(replace(ONE, is_default=True), TWO, queue=replace(FOUR, accounts=("parent",))) == "def-prof"


def test_the_limits_of_an_account_are_those_of_this_partition() -> None:
    general = replace(ONE, max_time=24 * HOUR)
    here = replace(ONE, partition="gpu", max_time=2 * HOUR)
    elsewhere = replace(ONE, partition="cpu", max_time=HOUR)
    facts = Facts(associations=(elsewhere, general, here))

    assert find_association(facts, "def-prof", "gpu") == here
    assert find_association(facts, "def-prof", "long") == general
    assert find_association(facts, "other", "gpu") is None
