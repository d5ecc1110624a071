"""What this user may do, read from recorded answers."""

from datetime import timedelta

import pytest

from tests.schedulers.recorded import VERSIONS, load_answer
from windlass.core.facts import Association
from windlass.schedulers.slurm import limits
from windlass.schedulers.slurm.tres import read_tres, read_weights

# As 22.05 printed it for an account under another: limits on jobs are inherited in the rows, those of groups are not.
ACCOUNTS = """\
windlass|root|||
windlass|parent|root|cpu=1000,mem=2G|gres/gpu=3
windlass|child|parent|cpu=5000,gres/gpu=60|
other|child|root|cpu=1|
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_accounts_and_their_limits(version: str) -> None:
    default = limits.read_default_account(load_answer(version, "default-account").out)
    found = limits.read_associations(load_answer(version, "associations").out, default_account=default)
    accounts = {one.account: one for one in found}

    assert {name for name, one in accounts.items() if one.is_default} == {"def-prof"}
    tiny = accounts["tiny"]
    assert (tiny.max_jobs, tiny.max_submit, tiny.max_time, tiny.qos) == (1, 3, timedelta(minutes=30), ("normal",))
    assert tiny.max_per_job == {"cpu": 4, "gres/gpu": 1}
    assert "strict" in accounts["def-prof"].qos
    assert limits.read_associations(load_answer(version, "associations").out, cluster="another") == ()
    with_parents = limits.add_parents(found, load_answer(version, "accounts").out, cluster="windlass")
    assert {one.parents for one in with_parents} == {("root",)}


@pytest.mark.parametrize("version", VERSIONS)
def test_qos(version: str) -> None:
    qos = {one.name: one for one in limits.read_qos(load_answer(version, "qos").out)}

    assert (qos["devqos"].max_jobs, qos["devqos"].max_submit, qos["devqos"].priority) == (1, 2, 500)
    assert (qos["strict"].max_time, qos["strict"].denies_on_limit) == (timedelta(minutes=30), True)
    assert (qos["strict"].max_per_user, qos["strict"].max_per_job) == ({"gres/gpu": 2}, {})
    assert (qos["normal"].max_jobs, qos["normal"].priority, qos["normal"].denies_on_limit) == (None, 0, False)
    assert not any(one.preempted_by for one in qos.values())


def test_group_limits_of_all_accounts_above_hold_for_mine() -> None:
    mine = Association(account="child", group_minutes={"node": 7})

    (found,) = limits.add_parents((mine,), ACCOUNTS, cluster="windlass")

    assert found.group_minutes == {"node": 7, "cpu": 1000, "gres/gpu": 60, "mem": 2048}
    assert found.group_at_once == {"gres/gpu": 3}
    assert found.parents == ("parent", "root")


def test_accounts_that_are_above_each_other_end_somewhere() -> None:
    circle = "c|a|b|cpu=1|\nc|b|a|cpu=2|\n"

    assert limits.add_parents((Association(account="a"),), circle)[0].group_minutes == {"cpu": 1}


def test_a_qos_tells_whose_jobs_may_push_out_its_own() -> None:
    text = "low|0||||||||||\nhigh|10||||||||||low,idle\n"

    assert [(one.name, one.preempted_by) for one in limits.read_qos(text)] == [("low", ("high",)), ("high", ())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cpu=4,gres/gpu:a100=2,mem=100G", {"cpu": 4, "gres/gpu:a100": 2, "mem": 102_400}),
        ("mem=512M,node=0,billing=7", {"mem": 512, "node": 0, "billing": 7}),
        ("cpu=4294967294,energy=N,=3,x", {}),
        ("", {}),
        (None, {}),
    ],
)
def test_lists_of_resources(text: str | None, found: dict[str, int]) -> None:
    assert read_tres(text) == found


def test_weights_of_memory_are_for_one_gigabyte() -> None:
    assert read_weights("CPU=1.5,Mem=0.25G,GRES/gpu=12") == {"cpu": 1.5, "mem": 0.25, "gres/gpu": 12.0}
    assert read_weights("Mem=0.001") == {"mem": 0.001 * 1024}
    assert read_weights("(null)") == {}
