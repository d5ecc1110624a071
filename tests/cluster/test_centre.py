"""From a site file to the lines that Slurm reads."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import CPU, GPU, GPU_NODE, SITE
from tests.cluster.centre import (
    OUTSIDERS,
    Centre,
    Member,
    list_partitions,
    make_account_commands,
    make_files,
    make_gres_conf,
    make_router,
    make_slurm_conf,
)
from windlass.core.site import Partition, Qos, Rules, Site


def _find_line(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def _make_conf(site: Site = SITE) -> str:
    return make_slurm_conf(Centre(site=site, members=(Member(account="proj"),)))


def test_nodes_have_what_the_profile_says() -> None:
    line = _find_line(_make_conf(), "NodeName=fat")
    assert line.startswith("NodeName=fat-[1-8] ")
    assert "CoresPerSocket=64" in line
    assert "RealMemory=512000" in line
    assert "Gres=gpu:a100:4" in line
    assert make_gres_conf(SITE) == "NodeName=fat-[1-8] Name=gpu Type=a100 Count=4\n"


def test_partition_has_its_limits() -> None:
    site = replace(SITE, partitions=(CPU, replace(GPU, max_nodes=4, default_time=timedelta(hours=8), whole_nodes=True)))
    words = _find_line(_make_conf(site), "PartitionName=gpu").split()
    assert {"Nodes=fat-[1-8]", "MaxTime=1440", "MaxNodes=4", "DefaultTime=480", "OverSubscribe=EXCLUSIVE"} <= set(words)
    assert "Default=YES" in _find_line(_make_conf(site), "PartitionName=cpu")


@pytest.mark.parametrize("closed", [{"forbidden": "not for you"}, {"category": "premium"}])
def test_closed_partition_belongs_to_others(closed: dict[str, str]) -> None:
    site = replace(SITE, partitions=(CPU, Partition(name="gpu", nodes=("fat",), **closed)))  # type: ignore[arg-type]
    assert f"AllowAccounts={OUTSIDERS}" in _find_line(_make_conf(site), "PartitionName=gpu")


def test_site_that_chooses_has_a_partition_for_each_kind_and_bin() -> None:
    bins = (timedelta(hours=3), timedelta(days=7))
    site = replace(SITE, rules=Rules(names_partition=False, time_bins=bins))
    assert [one.name for one in list_partitions(site)] == ["thin_b1", "thin_b2", "fat_b1", "fat_b2"]
    assert '{name = "fat_b1", minutes = 180, kind = "a100"}' in make_router(site)
    assert "job_submit.lua" in make_files(Centre(site=site, members=()))


def test_qos_and_accounts() -> None:
    qos = (
        Qos(name="test", max_time=timedelta(hours=4), max_running=1, max_submitted=3, priority=75, is_default=True),
        Qos(name="admin", hidden=True),
    )
    members = (Member(account="one"), Member(account="two"), Member(account="tight", limits={"MaxWall": "30"}))
    first, *rest = make_account_commands(Centre(site=replace(SITE, qos=qos), members=members))
    assert ["add", "qos", "test", "Priority=75", "MaxWall=240", "MaxJobsPU=1", "MaxSubmitJobsPU=3"] in first
    assert rest == [
        [["add", "user", "rosa", "Account=one,two", "QOS=test", "DefaultQOS=test"]],
        [["add", "user", "rosa", "Account=tight", "QOS=test", "DefaultQOS=test", "MaxWall=30"]],
    ]


def test_architecture_is_a_feature() -> None:
    power = replace(GPU_NODE, architecture="ppc64le", features=("nvlink",))
    assert "Feature=ppc64le,nvlink" in _find_line(_make_conf(replace(SITE, node_types=(power,))), "NodeName=fat")
