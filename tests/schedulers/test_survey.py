"""What a site has, read from recorded answers."""

from datetime import timedelta

import pytest

from tests.schedulers.recorded import VERSIONS, load_answer
from windlass.schedulers.slurm import survey
from windlass.schedulers.slurm.fields import drop_refused, make_fields


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_with_their_nodes(version: str) -> None:
    found = survey.read_partitions(load_answer(version, "partitions").out, load_answer(version, "nodes").out)
    partitions = {partition.name: partition for partition in found}

    assert list(partitions) == ["cpu", "gpu", "dev", "preempt"]
    assert [name for name, one in partitions.items() if one.is_default] == ["cpu"]
    assert (partitions["dev"].max_time, partitions["dev"].default_time) == (
        timedelta(minutes=20),
        timedelta(minutes=10),
    )
    assert partitions["gpu"].gpus == (("a100", 4), ("v100", 2))
    assert (partitions["cpu"].nodes, partitions["cpu"].cpus_per_node, partitions["cpu"].memory_mb_per_node) == (
        2,
        8,
        64000,
    )
    assert partitions["cpu"].max_nodes is None
    assert partitions["cpu"].allow_accounts == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_without_sinfo_the_nodes_stay_unknown(version: str) -> None:
    first = survey.read_partitions(load_answer(version, "partitions").out)[0]

    assert (first.name, first.cpus_per_node, first.gpus) == ("cpu", None, ())


@pytest.mark.parametrize("version", VERSIONS)
def test_configuration(version: str) -> None:
    config = survey.read_config(load_answer(version, "config").out)

    assert survey.read_max_array(config) == 10001
    assert survey.read_has_accounting(config) is True
    assert survey.read_enforces_partition_limits(config) is True
    assert survey.read_enforces_limits(config) is True
    assert survey.read_memory_is_counted(config) is True
    assert survey.read_bills_the_largest(config) is False
    assert (survey.read_version(load_answer(version, "version").out) or "").startswith(version)


def test_what_the_configuration_does_not_say_stays_unknown() -> None:
    reads = (
        survey.read_enforces_partition_limits,
        survey.read_enforces_limits,
        survey.read_memory_is_counted,
        survey.read_bills_the_largest,
    )

    assert [read({}) for read in reads] == [None] * 4
    assert survey.read_enforces_partition_limits({"EnforcePartLimits": "NO"}) is False
    assert survey.read_enforces_limits({"AccountingStorageEnforce": "associations"}) is False
    assert survey.read_memory_is_counted({"SelectTypeParameters": "CR_CORE"}) is False


@pytest.mark.parametrize("version", VERSIONS)
def test_the_kinds_of_node_in_a_partition(version: str) -> None:
    found = survey.read_partitions(load_answer(version, "partitions").out, load_answer(version, "nodes").out)
    cpu, gpu = found[0].shapes, found[1].shapes

    assert [(one.gpus, one.features) for one in cpu] == [
        ((("v100", 2),), ("v100", "volta")),
        ((), ("cpuonly", "avx512")),
    ]
    assert [one.gpus for one in gpu] == [(("a100", 4),), (("a100", 4),), (("v100", 2),)]
    assert {(one.nodes, one.cpus, one.cores, one.memory_mb) for one in cpu + gpu} == {(1, 8, 8, 64000)}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_of_a_lower_tier_may_be_pushed_out(version: str) -> None:
    text = load_answer(version, "partitions").out
    config = survey.read_config(load_answer(version, "config").out)

    known = {one.name: one.preempts for one in survey.read_partitions(text, config=config)}
    unknown = {one.preempts for one in survey.read_partitions(text)}
    none = {one.preempts for one in survey.read_partitions(text, config={"PreemptType": "preempt/none"})}

    assert known == {"cpu": False, "gpu": False, "dev": False, "preempt": True}
    assert (unknown, none) == ({None}, {False})


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("gpu:a100:4", {"a100": 4}),
        ("gpu:a100:4(S:0-1)", {"a100": 4}),
        ("gpu:4(S:0,2),craynetwork:2", {"": 4}),
        ("gpu:a100_3g.20gb:2(S:0),gpu:a100_4g.20gb:1(S:0),mps:400", {"a100_3g.20gb": 2, "a100_4g.20gb": 1}),
        ("shard:gpu:8,tmpdisk:gpu", {}),
        ("gpu:v100:no_consume:2", {"v100": 2}),
        ("(null)", {}),
        ("", {}),
    ],
)
def test_gpus_of_a_node(gres: str, gpus: dict[str, int]) -> None:
    assert survey.read_gpus(gres) == gpus


def test_whole_nodes_as_slurm_26_05_writes_them() -> None:
    (partition,) = survey.read_partitions("PartitionName=g OverSubscribe=NO Exclusive=NODE State=UP TotalNodes=9")

    assert partition.whole_nodes


def test_whole_nodes_and_allowed_accounts() -> None:
    line = "PartitionName=g AllowAccounts=a,b AllowQos=q OverSubscribe=EXCLUSIVE State=DOWN MaxNodes=4 TotalNodes=9"

    (partition,) = survey.read_partitions(line)

    assert (partition.whole_nodes, partition.state, partition.max_nodes) == (True, "DOWN", 4)
    assert (partition.allow_accounts, partition.allow_qos) == (("a", "b"), ("q",))


@pytest.mark.parametrize(("version", "allows"), [(None, None), ("22.05.8", False), ("23.02.1", True), ("26.05", True)])
def test_since_when_a_list_of_accounts_holds_for_those_below(version: str | None, allows: bool | None) -> None:
    assert survey.read_allows_children(version) is allows


def test_everything_a_partition_says_of_its_jobs() -> None:
    line = (
        "PartitionName=g AllowGroups=staff DenyAccounts=x,y DenyQos=z QoS=part MinNodes=2 MaxCPUsPerNode=24 ReqResv=YES"
        " RootOnly=YES JobDefaults=DefCpuPerGPU=6,DefMemPerGPU=4000 MaxMemPerNode=UNLIMITED"
        " TRESBillingWeights=CPU=1.0,Mem=0.25G"
    )

    (one,) = survey.read_partitions(line, config={"MaxMemPerNode": "90000"})

    assert (one.allow_groups, one.deny_accounts, one.deny_qos, one.qos) == (("staff",), ("x", "y"), ("z",), "part")
    assert (one.min_nodes, one.max_cpus_per_node, one.max_memory_mb_per_node) == (2, 24, 90_000)
    assert (one.default_cpus_per_gpu, one.default_memory_mb_per_gpu) == (6, 4000)
    assert (one.needs_reservation, one.only_root, one.billing_weights) == (True, True, {"cpu": 1.0, "mem": 0.25})


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_fields_of_sinfo_and_sacctmgr(version: str) -> None:
    node_fields, qos_fields = make_fields(name="%R", odd="%~"), make_fields(name="Name", odd="NoSuch")

    assert drop_refused(node_fields, load_answer(version, "nodes-field-refused").err) == make_fields(name="%R")
    assert drop_refused(qos_fields, load_answer(version, "qos-field-refused").err) == make_fields(name="Name")
