"""Limits of accounts, QOS and budgets, reservations and maintenance: what Slurm refuses, or takes and never starts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.centres.judging import Court, assert_accepted, assert_quoted, list_errors, take_facts, try_alone
from tests.centres.wishes import HOUR, MINUTE
from tests.cluster.house import Look
from windlass.checks import run_checks
from windlass.core.job import make_script
from windlass.core.run import Resources

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("centres")]
_SDUMONT = Resources(partition="nvidia_dev", time=10 * MINUTE, gpus=1, cpus=2, account="tight")
_WILSON = Resources(partition="gpu_gce", gpu="v100", gpus=1, time=HOUR, account="wc_test")


@pytest.mark.parametrize("name", ["sdumont"])
@pytest.mark.parametrize(
    ("changes", "quoted"),
    [
        pytest.param({"partition": "nvidia", "link_time": HOUR}, "(AssocMaxWallDurationPerJobLimit)", id="time"),
        pytest.param({"cpus_per_task": 6}, "(AssocMaxCpuPerJobLimit)", id="cores"),
        pytest.param({"links": 4}, "AssocMaxSubmitJobLimit", id="links"),
    ],
)
def test_account_with_tight_limits(court: Court, name: str, changes: dict[str, Any], quoted: str) -> None:
    case = court.make_case(_SDUMONT, **changes)
    assert quoted in [one.refusal for one in list_errors(case)]
    assert_quoted(case, try_alone(court, case))


@pytest.mark.parametrize("name", ["sdumont"])
def test_estimate_is_no_verdict(court: Court, name: str) -> None:
    """`sbatch --test-only` promises a start to a job that never starts: only a check tells it before."""
    case = court.make_case(_SDUMONT, partition="nvidia", link_time=HOUR)
    promised = court.live.run("sbatch", "--test-only", stdin=make_script(case.plan))
    assert "to start at" in promised.stderr
    assert [one.refusal for one in list_errors(case)] == ["(AssocMaxWallDurationPerJobLimit)"]


@pytest.mark.parametrize("name", ["sdumont"])
def test_account_with_tight_limits_takes_what_is_within(court: Court, name: str) -> None:
    case = court.make_case(_SDUMONT)
    assert_accepted(case, try_alone(court, case))


@pytest.mark.parametrize("name", ["sdumont"])
def test_account_for_one_partition_is_refused_in_another(court: Court, name: str) -> None:
    wanted = replace(_SDUMONT, account="dev-only")
    case = court.make_case(wanted)
    assert_accepted(case, try_alone(court, case))
    elsewhere = court.make_case(wanted, partition="nvidia")
    assert_quoted(elsewhere, try_alone(court, elsewhere))


@pytest.mark.parametrize("name", ["sdumont", "wilson"])
def test_user_without_an_account_is_refused(court: Court, name: str) -> None:
    facts = take_facts(court.live, user="piet")
    case = replace(court, facts=facts).make_case(Resources(time=10 * MINUTE, gpus=1))
    verdict = court.live.submit(make_script(case.plan), user="piet")
    assert_quoted(case, verdict)


@pytest.mark.parametrize("name", ["wilson"])
@pytest.mark.parametrize(
    ("qos", "most"), [pytest.param("opp", 50, id="WI-06-opp"), pytest.param("test", 3, id="WI-08-test")]
)
def test_one_job_more_than_the_qos_takes(court: Court, name: str, qos: str, most: int) -> None:
    """An array counts with all its tasks, at once or added to what waits already."""
    wanted = replace(_WILSON, qos=qos)
    chain = court.make_case(wanted, links=most + 1)
    assert_quoted(chain, try_alone(court, chain))
    with _queued(court, wanted, links=most):
        case = replace(court, facts=take_facts(court.live)).make_case(wanted)
        assert_quoted(case, court.submit(case))


@pytest.mark.parametrize("name", [pytest.param("wilson", id="WI-08")])
def test_second_job_of_the_test_qos_waits_for_the_first(court: Court, name: str) -> None:
    """It starts when the first one ends, so no check refuses it; one says that it waits."""
    wanted = replace(_WILSON, qos="test")
    with _queued(court, wanted):
        case = replace(court, facts=take_facts(court.live)).make_case(wanted)
        assert list_errors(case) == []
        assert "C110" in {one.code for one in run_checks(case)}
        verdict = court.submit(case)
        assert verdict.job_id is not None
        look = court.see_fates([verdict.job_id], timeout_s=10)[verdict.job_id]
        assert look.reason == "QOSMaxJobsPerUserLimit"


@pytest.mark.parametrize("name", [pytest.param("daint", id="CS-04")])
def test_account_whose_budget_is_spent(court: Court, name: str) -> None:
    case = court.make_case(Resources(gpus=1, time=HOUR, account="spent"))
    assert_quoted(case, try_alone(court, case))


@pytest.mark.parametrize("name", ["jureca-dc", "narval", "sdumont@NO"])
def test_job_that_reaches_into_a_maintenance(court: Court, name: str) -> None:
    """Slurm takes it and holds it back, though a shorter one could run before."""
    times = ("starttime=now+120minutes", "duration=600")
    with _reservation(court, "repair", *times, "users=root", "flags=maint,ignore_jobs", "nodes=ALL"):
        seen = replace(court, facts=take_facts(court.live))
        account = court.live.centre.members[0].account
        wanted = Resources(gpus=1, time=4 * HOUR, account=account)
        if name == "sdumont@NO":
            wanted = replace(wanted, partition="nvidia")
        case = seen.make_case(wanted)
        assert_quoted(case, try_alone(court, case))
        shorter = seen.make_case(replace(wanted, time=HOUR))
        assert_accepted(shorter, try_alone(court, shorter))


@pytest.mark.parametrize("name", [pytest.param("jureca-dc", id="JS-24")])
def test_reservation_of_a_course(court: Court, name: str) -> None:
    account = court.live.centre.members[0].account
    wanted = Resources(gpus=1, time=HOUR, account=account, reservation="training")
    where = ("starttime=now", "duration=600", "nodecnt=2", "partition=dc-gpu")
    with _reservation(court, "training", *where, f"accounts={account}"):
        seen = replace(court, facts=take_facts(court.live))
        case = seen.make_case(wanted)
        assert_accepted(case, try_alone(court, case))
        other = seen.make_case(replace(wanted, account=court.live.centre.members[1].account))
        assert_quoted(other, try_alone(court, other))
    over = replace(court, facts=take_facts(court.live)).make_case(wanted)
    assert_quoted(over, try_alone(court, over))


@pytest.mark.parametrize("name", ["daint"])
def test_chain_never_waits_for_a_dependency_that_cannot_be_satisfied(court: Court, name: str) -> None:
    """Why chains are arrays: a job after one that failed stays for ever, and nothing says so before."""
    account = court.live.centre.members[0].account
    script = make_script(court.make_case(Resources(gpus=1, time=timedelta(days=3), account=account)).plan)
    assert "--dependency" not in script
    first = court.live.submit(script, "--array=1", "--hold")
    second = court.live.submit(script, "--array=1", f"--dependency=afterok:{first.job_id}")
    assert first.job_id is not None
    assert second.job_id is not None
    court.live.run("scancel", first.job_id)
    deadline = time.monotonic() + 10
    look: Look | None = None
    while time.monotonic() < deadline and (look is None or look.reason != "DependencyNeverSatisfied"):
        look = court.live.look().get(second.job_id)
    court.live.cancel_all()
    assert look is not None
    assert look.reason == "DependencyNeverSatisfied"


@contextmanager
def _queued(court: Court, wanted: Resources, **changes: Any) -> Iterator[None]:
    """With a job of the user's in the queue already."""
    verdict = court.submit(court.make_case(wanted, **changes))
    assert verdict.job_id is not None, verdict
    try:
        yield
    finally:
        court.live.cancel_all()


@contextmanager
def _reservation(court: Court, name: str, *words: str) -> Iterator[None]:
    court.live.manage("scontrol", "create", "reservation", f"reservationname={name}", *words)
    try:
        yield
    finally:
        court.live.manage("scontrol", "delete", f"reservationname={name}")
