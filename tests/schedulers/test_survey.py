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
def test_accounts_and_their_limits(version: str) -> None:
    default = survey.read_default_account(load_answer(version, "default-account").out)
    found = survey.read_associations(load_answer(version, "associations").out, default_account=default)
    accounts = {one.account: one for one in found}

    assert {name for name, one in accounts.items() if one.is_default} == {"def-prof"}
    tiny = accounts["tiny"]
    assert (tiny.max_jobs, tiny.max_submit, tiny.max_time, tiny.qos) == (1, 3, timedelta(minutes=30), ("normal",))
    assert "strict" in accounts["def-prof"].qos
    assert survey.read_associations(load_answer(version, "associations").out, cluster="another") == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_qos_and_configuration(version: str) -> None:
    qos = {one.name: one for one in survey.read_qos(load_answer(version, "qos").out)}
    config = survey.read_config(load_answer(version, "config").out)

    assert (qos["devqos"].max_jobs, qos["devqos"].max_submit) == (1, 2)
    assert qos["strict"].max_time == timedelta(minutes=30)
    assert qos["normal"].max_jobs is None
    assert survey.read_max_array(config) == 10001
    assert survey.read_has_accounting(config) is True
    assert (survey.read_version(load_answer(version, "version").out) or "").startswith(version)


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


def test_whole_nodes_and_allowed_accounts() -> None:
    line = "PartitionName=g AllowAccounts=a,b AllowQos=q OverSubscribe=EXCLUSIVE State=DOWN MaxNodes=4 TotalNodes=9"

    (partition,) = survey.read_partitions(line)

    assert (partition.whole_nodes, partition.state, partition.max_nodes) == (True, "DOWN", 4)
    assert (partition.allow_accounts, partition.allow_qos) == (("a", "b"), ("q",))


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_fields_of_sinfo_and_sacctmgr(version: str) -> None:
    node_fields, qos_fields = make_fields(name="%R", odd="%~"), make_fields(name="Name", odd="NoSuch")

    assert drop_refused(node_fields, load_answer(version, "nodes-field-refused").err) == make_fields(name="%R")
    assert drop_refused(qos_fields, load_answer(version, "qos-field-refused").err) == make_fields(name="Name")
