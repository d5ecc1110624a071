"""Queues: the site file and the survey, joined."""

from dataclasses import replace

from tests.builders import BARE_SITE, GPU, GPU_NODE, HOUR, SITE
from windlass.core.facts import NOTHING_SEEN, Facts, NodeShape, SeenPartition
from windlass.core.placing.queues import Queue, make_queues
from windlass.core.site import GpuKind, NodeType, Partition, Rules, Site

SEEN = SeenPartition(name="gpu", nodes=6, cpus_per_node=48, memory_mb_per_node=380_000, gpus=(("a100", 4),))


def the_queue(site: Site, *partitions: SeenPartition) -> Queue:
    (queue,) = make_queues(site, Facts(partitions=partitions))
    return queue


def test_a_site_that_says_nothing_has_no_queues() -> None:
    assert make_queues(BARE_SITE, NOTHING_SEEN) == ()


def test_a_written_partition_has_one_queue_for_each_kind_of_node() -> None:
    big = replace(GPU_NODE, name="big", gpus=8)
    site = replace(SITE, node_types=(GPU_NODE, big), partitions=(replace(GPU, nodes=("fat", "big")),))

    queues = make_queues(site, NOTHING_SEEN)

    assert [(queue.name, queue.gpus) for queue in queues] == [("gpu", 4), ("gpu", 8)]


def test_a_seen_partition_has_one_queue_for_each_kind_of_gpu() -> None:
    queues = make_queues(BARE_SITE, Facts(partitions=(replace(SEEN, gpus=(("a100", 4), ("", 2))),)))

    assert [(queue.gpu, queue.gpus) for queue in queues] == [("a100", 4), ("", 2)]


def test_a_kind_of_node_counts_only_its_own_and_a_job_may_have_larger_ones_too() -> None:
    gpu = NodeShape(nodes=2, cpus=8, memory_mb=64_000, gpus=(("a100", 4),), features=("old",))
    thin = NodeShape(nodes=1, cpus=8, memory_mb=64_000)
    facts = Facts(partitions=(replace(SEEN, shapes=(gpu, replace(gpu, nodes=1, features=("new",)), thin)),))

    queues = make_queues(BARE_SITE, facts)

    assert [(one.gpus, one.count, one.max_nodes, one.is_mixed) for one in queues] == [
        (4, 3, 3, True),
        (0, 1, 4, False),
    ]


def test_the_limits_that_were_seen_win() -> None:
    queue = the_queue(replace(SITE, partitions=(GPU,)), replace(SEEN, max_time=2 * HOUR, max_nodes=3))

    assert (queue.max_time, queue.max_nodes) == (2 * HOUR, 3)


def test_the_node_that_was_written_wins_since_the_survey_tells_only_the_largest() -> None:
    queue = the_queue(replace(SITE, partitions=(GPU,)), replace(SEEN, cpus_per_node=128))

    assert queue.cores == GPU_NODE.cores


def test_words_of_the_file_stay_where_nodes_were_only_seen() -> None:
    partition = Partition(
        name="gpu", for_tests=True, max_nodes=2, min_nodes=2, whole_nodes=True, max_time=HOUR, accounts=("prof",)
    )

    queue = the_queue(replace(BARE_SITE, partitions=(partition,)), SEEN)

    assert (queue.gpu, queue.gpus, queue.cores) == ("a100", 4, 48)
    assert (queue.for_tests, queue.min_nodes, queue.max_nodes) == (True, 2, 2)
    assert (queue.whole_nodes, queue.max_time, queue.accounts) == (True, HOUR, ("prof",))


def test_one_partition_may_share_nodes_where_the_site_gives_whole_ones() -> None:
    whole = replace(BARE_SITE, rules=Rules(whole_nodes=True))
    shared = replace(whole, partitions=(Partition(name="gpu", whole_nodes=False),))

    assert the_queue(whole, SEEN).whole_nodes
    assert not the_queue(shared, SEEN).whole_nodes
    assert the_queue(BARE_SITE, replace(SEEN, whole_nodes=True)).whole_nodes


def test_gpus_are_spelled_as_slurm_wants_them() -> None:
    site = replace(SITE, gpus=(GpuKind(name="a100", spelled="nvidia_a100"),), partitions=(GPU,))

    (queue,) = make_queues(site, NOTHING_SEEN)

    assert queue.gpu == "nvidia_a100"


def test_no_gpus_is_told_from_not_known() -> None:
    unseen = replace(BARE_SITE, partitions=(Partition(name="pocket"),))
    written = replace(unseen, node_types=(NodeType(name="n"),), partitions=(Partition(name="pocket", nodes=("n",)),))

    (not_looked_at,) = make_queues(unseen, NOTHING_SEEN)
    sinfo_failed = the_queue(BARE_SITE, SeenPartition(name="x"))
    without = the_queue(BARE_SITE, SeenPartition(name="x", cpus_per_node=8))
    (said_without,) = make_queues(written, NOTHING_SEEN)

    assert [one.knows_gpus for one in (not_looked_at, sinfo_failed, without, said_without)] == [
        *(False, False),
        *(True, True),
    ]


def test_a_partition_that_takes_no_jobs_is_closed_and_one_that_is_down_only_waits() -> None:
    states = {state: the_queue(BARE_SITE, replace(SEEN, state=state)) for state in ("UP", "DOWN", "DRAIN", "INACTIVE")}

    assert {state for state, queue in states.items() if queue.is_up} == {"UP"}
    assert {state for state, queue in states.items() if queue.forbidden} == {"DRAIN", "INACTIVE"}
    assert the_queue(replace(SITE, partitions=(GPU,)), replace(SEEN, state="DRAIN")).forbidden == "it is DRAIN now"
