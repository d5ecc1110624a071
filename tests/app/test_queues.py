"""What is free, reserved and left of a budget: seen on pocket and on a real Slurm."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.app.conftest import ENGINES
from tests.cluster.cluster import SlurmCluster
from tests.waiting import wait_until
from windlass.app.queues import QueuesSeen, look_at_queues
from windlass.app.session import Session
from windlass.errors import UsageError

ON_POCKET = pytest.mark.parametrize("session", [ENGINES[0]], indirect=True)
ON_SLURM = pytest.mark.parametrize("session", [ENGINES[2]], indirect=True)


@contextmanager
def reserved(name: str, *words: str) -> Iterator[None]:
    subprocess.run(["scontrol", "create", "reservation", f"ReservationName={name}", *words], check=True)
    try:
        yield
    finally:
        subprocess.run(["scontrol", "delete", f"ReservationName={name}"], check=True)


@contextmanager
def budget(account: str, limits: str) -> Iterator[None]:
    subprocess.run(["sacctmgr", "-i", "add", "account", account, f"GrpTRESMins={limits}"], check=True)
    try:
        subprocess.run(["sacctmgr", "-i", "add", "user", "alice", f"account={account}"], check=True)
        yield
    finally:
        subprocess.run(["sacctmgr", "-i", "delete", "user", "alice", f"account={account}"], check=True)
        subprocess.run(["sacctmgr", "-i", "delete", "account", account], check=True)


def row(seen: QueuesSeen, name: str) -> tuple[int, int, int, int | None, int | None]:
    one = next(one for one in seen.queues if one.name == name)
    assert one.free is not None
    return one.free.nodes_idle, one.free.nodes_mixed, one.free.cores_free, one.running, one.waiting


@ON_POCKET
def test_pocket_tells_what_is_free(session: Session) -> None:
    seen = look_at_queues(session, "here")

    assert seen.note is None
    assert row(seen, "pocket") == (1, 0, 4, 0, 0)


@ON_POCKET
def test_a_site_that_cannot_be_reached_is_shown_from_its_file(session: Session) -> None:
    seen = look_at_queues(session, "sdumont", category="standard")

    assert seen.note is not None
    assert "from the site file alone" in seen.note
    assert len(seen.queues) == 8
    assert "sequana_gpu_shared" in [one.name for one in seen.queues]
    assert len(look_at_queues(session, "sdumont", category="premium").queues) == 11


@ON_POCKET
@pytest.mark.parametrize(("site", "category"), [("sdumont", "gold"), ("here", "standard")])
def test_an_unknown_category_is_refused(session: Session, site: str, category: str) -> None:
    with pytest.raises(UsageError, match=f"{category}|categories"):
        look_at_queues(session, site, category=category)


@ON_SLURM
def test_a_real_slurm_tells_what_is_free(session: Session, site_name: str, slurm: SlurmCluster) -> None:
    options = "-p gpu -c 4 --gres=gpu:a100:3 -t 5 -o /dev/null"
    slurm.run_as("alice", f"sbatch {options} --wrap='sleep 60'; sbatch {options} --begin=now+1hour --wrap=true")
    wait_until(lambda: "RUNNING" in slurm.run_as("alice", "squeue -h -o %T").stdout, "a job that runs")

    seen = look_at_queues(session, site_name)

    gpu = next(one for one in seen.queues if one.name == "gpu")
    assert row(seen, "gpu") == (2, 1, 20, 1, 1)
    assert gpu.free is not None
    assert gpu.free.gpus == {"a100": (5, 8), "v100": (2, 2)}
    assert "high" in [one.name for one in seen.qos]
    assert seen.queues[-1].name == "cpu"  # the fewest free GPUs


@ON_SLURM
def test_a_drained_node_is_not_free(session: Session, site_name: str) -> None:
    subprocess.run(["scontrol", "update", "NodeName=node4", "State=DRAIN", "Reason=test"], check=True)
    try:
        cpu = next(one for one in look_at_queues(session, site_name).queues if one.name == "cpu")
    finally:
        subprocess.run(["scontrol", "update", "NodeName=node4", "State=RESUME"], check=True)

    assert cpu.free is not None
    assert (cpu.free.nodes_idle, cpu.free.nodes_down, cpu.free.cores_free) == (1, 1, 8)


@ON_SLURM
def test_a_maintenance_of_the_whole_machine_is_seen(session: Session, site_name: str) -> None:
    begins = time.time() + 5 * 3600
    with reserved("service", f"StartTime={time.strftime('%Y-%m-%dT%H:%M:%S', time.localtime(begins))}",
                  "Duration=120", "Nodes=ALL", "Users=root", "Flags=MAINT"):  # fmt: skip
        seen = look_at_queues(session, site_name)

    assert {one.maintenance.name for one in seen.queues if one.maintenance} == {"service"}
    assert all(one.maintenance and one.maintenance.starts == int(begins) for one in seen.queues)


@ON_SLURM
def test_a_reservation_of_one_partition_covers_only_it(session: Session, site_name: str) -> None:
    with reserved("some", "StartTime=now+1hour", "Duration=60", "Nodes=node[3-4]", "Accounts=rrg-prof"):
        (found,) = session.facts(session.site(site_name), max_age_s=0).reservations or ()

    assert (found.name, found.partitions_covered, found.accounts) == ("some", ("cpu",), ("rrg-prof",))
    assert (found.all_nodes, found.is_maintenance) == (False, False)


@ON_SLURM
def test_the_budget_of_an_account_is_seen(session: Session, site_name: str) -> None:
    with budget("small-lab", "cpu=600,gres/gpu=120"):
        facts = session.facts(session.site(site_name), max_age_s=0)

    found = {one.unit: one for one in facts.balances or () if one.account == "small-lab"}
    assert {unit: (one.limit, one.used) for unit, one in found.items()} == {
        "core-hours": (10, 0),
        "gpu-hours": (2, 0),
    }
