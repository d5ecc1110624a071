"""Reservations, budgets and what is free, from answers of a real Slurm 22.05."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schedulers.recorded import load_answer
from windlass.core.facts import Balance
from windlass.core.seen.free import Free
from windlass.core.spending.periods import find_period_start, format_day
from windlass.schedulers.slurm.balance import make_use_command, read_shares, read_use
from windlass.schedulers.slurm.free import read_counts, read_free
from windlass.schedulers.slurm.hostlist import expand_hosts
from windlass.schedulers.slurm.reservations import read_reservations

PARTITIONS = load_answer("22.05", "partitions").out
NOVEMBER = 1_794_830_000.0  # 16 Nov 2026

# sshare of a user in an account that lies below one with a budget.
TREE = """\
root|||cpu=100
 lab||cpu=600|cpu=540
  lab-a||cpu=6000,gres/gpu=120|cpu=60,gres/gpu=30
   lab-a|bob|billing=60|cpu=60,gres/gpu=30,billing=6
  lab-b|||cpu=480
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node[1-3]", {"node1", "node2", "node3"}),
        ("n[08-10],login", {"n08", "n09", "n10", "login"}),
        ("r[1-2]n[1,4]", {"r1n1", "r1n4", "r2n1", "r2n4"}),
        ("", set()),
        ("(null)", set()),
        ("n[1-999999999]", set()),
    ],
)
def test_a_folded_list_of_hosts_is_unfolded(text: str, names: set[str]) -> None:
    assert expand_hosts(text) == names


def test_a_maintenance_of_all_nodes_covers_every_partition() -> None:
    first = read_reservations(load_answer("22.05", "reservations").out, PARTITIONS)[0]

    assert (first.name, first.is_maintenance, first.all_nodes, first.nodes) == ("service_all", True, True, 4)
    assert first.partitions_covered == ("cpu", "gpu", "dev", "preempt")
    assert first.ends - first.starts == 7200
    assert first.users == ("root",)


def test_a_reservation_covers_the_partitions_that_have_no_node_outside_it() -> None:
    _, gpu, cpu, _ = read_reservations(load_answer("22.05", "reservations").out, PARTITIONS)

    assert (gpu.partitions_covered, gpu.accounts, gpu.is_maintenance) == (("gpu",), ("def-prof", "rrg-prof"), False)
    assert (cpu.partitions_covered, cpu.partition, cpu.all_nodes) == (("cpu",), "cpu", False)


def test_a_reservation_of_some_cores_of_a_node_covers_nothing() -> None:
    one_node = PARTITIONS.replace("Nodes=node[3-4]", "Nodes=node3")

    cores = read_reservations(load_answer("22.05", "reservations").out, one_node)[-1]

    assert (cores.name, cores.partitions_covered) == ("service_cores", ())


def test_no_reservations_are_none() -> None:
    assert read_reservations("No reservations in the system\n", PARTITIONS) == ()


def test_the_budget_of_an_account_is_read_in_hours() -> None:
    balances = {one.unit: one for one in read_shares(load_answer("22.05", "shares").out)}

    assert set(balances) == {"core-hours", "gpu-hours"}
    assert balances["core-hours"] == Balance(
        account="test-budget", unit="core-hours", limit=10, used=0.05, source="sshare"
    )


def test_the_tightest_budget_on_the_way_up_counts() -> None:
    found = {one.unit: (one.account, one.limit, one.used) for one in read_shares(TREE)}

    assert found == {
        "core-hours": ("lab-a", 10, 9),  # the lab's, of which all its groups have used
        "gpu-hours": ("lab-a", 2, 0.5),
        "billing-hours": ("lab-a", 1, 0.1),
    }


def test_a_users_row_that_stands_at_the_top_belongs_to_its_account() -> None:
    # As 22.05 prints it for a while after an association was made.
    text = "lab|ann||cpu=30\nroot|||cpu=100\n lab||cpu=600|cpu=60\n other||cpu=6|cpu=0\n"

    assert [(one.account, one.limit, one.used) for one in read_shares(text)] == [("lab", 10, 1)]


def test_sreport_tells_what_was_used() -> None:
    found = {one.unit: (one.account, one.used) for one in read_use(load_answer("22.05", "use").out, "windlass")}

    assert found["core-hours"] == ("test-budget", 3 / 60)
    assert set(found) == {"core-hours", "node-hours", "gpu-hours", "billing-hours"}


def test_what_was_used_is_that_of_the_whole_account() -> None:
    text = "alpha|lab||cpu|600\nalpha|lab|ann|cpu|400\nbeta|lab||cpu|1\nalpha|lab||mem|9\nalpha|lab||gres/gpu|30\n"

    found = read_use(text, cluster="alpha")

    assert [(one.unit, one.used, one.limit) for one in found] == [("core-hours", 10, None), ("gpu-hours", 0.5, None)]


@pytest.mark.parametrize(
    ("period", "start"), [("quarter", "2026-10-01"), ("year", "2026-01-01"), ("month", "2026-11-01")]
)
def test_use_is_counted_from_the_first_day_of_the_period(period: str, start: str) -> None:
    assert format_day(find_period_start(period, NOVEMBER) or 0) == start
    assert f"start={start}" in (make_use_command(period, NOVEMBER) or [""])[-1]


def test_without_a_period_use_is_not_asked_for() -> None:
    assert make_use_command(None, NOVEMBER) is None


def test_what_is_free_is_counted_by_partition() -> None:
    gpu = read_free(load_answer("22.05", "free").out)["gpu"]

    assert gpu == Free(nodes_idle=2, nodes_mixed=1, cores_free=20, cores=24, gpus={"a100": (5, 8), "v100": (2, 2)})


@pytest.mark.parametrize("state", ["down*", "drained", "draining", "reserved", "maint", "idle*", "idle$", "mixed@"])
def test_nothing_is_free_on_nodes_that_take_no_jobs(state: str) -> None:
    free = read_free(f"gpu|{state}|2|0/8/8/16|gpu:a100:4|gpu:a100:0(IDX:N/A)|\n")["gpu"]

    assert free == Free(nodes_down=2, cores=16, gpus={"a100": (0, 8)})


@pytest.mark.parametrize("state", ["idle", "idle~", "idle#"])
def test_nodes_that_are_switched_on_for_a_job_are_free(state: str) -> None:
    assert read_free(f"gpu|{state}|2|0/16/0/16|(null)|(null)|\n")["gpu"].nodes_idle == 2


def test_used_gpus_without_a_kind_are_of_the_only_kind() -> None:
    assert read_free("p|mixed|1|1/1/0/2|gpu:k40:2|gpu:1|\n")["p"].gpus == {"k40": (1, 2)}


def test_a_job_for_several_partitions_waits_in_each() -> None:
    assert read_counts(load_answer("22.05", "counts").out) == {"cpu": (1, 0), "gpu": (1, 2), "preempt": (0, 1)}


def test_names_of_partitions_are_never_cut() -> None:
    counts = read_counts("   1234 sequana_gpu_shared|RUNNING\n")

    assert counts == {"sequana_gpu_shared": (1234, 0)}


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(["a", "|", "=", ",", "\n", " ", "gpu:a:1", "[1-", "9" * 30, "cpu=", "²"])).map(
            "".join
        ),
    )
)
def test_whatever_a_site_prints_no_reader_raises(text: str) -> None:
    read_reservations(text, text)
    read_shares(text)
    read_use(text)
    read_free(text)
    read_counts(text)
    expand_hosts(text)
