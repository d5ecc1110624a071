"""A chain of jobs that wait for one another, on pocket and on real Slurm: one round trip, each job once, in order."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.contracts.backends import Backend
from tests.contracts.backends import backend as backend
from windlass.core.exactly_once import Outcome
from windlass.core.jobs import JobState
from windlass.edges.cluster import Cluster
from windlass.edges.local_host import LocalHost
from windlass.edges.submission import (
    Order,
    SubmitResult,
    make_submit_request,
    read_submit_reply,
    reconcile,
    submit,
)
from windlass.errors import WindlassError

LATER = "--begin=now+1hour"


def make_chain(backend: Backend, *options: str, body: str = "true", count: int = 3) -> list[Order]:
    first = backend.make_order(body, *options)
    others = [backend.make_order(body, run_id=first.run_id, number=number) for number in range(2, count + 1)]
    return [first, *(replace(one, first_link=one.number, after=one.number - 1) for one in others)]


def send(backend: Backend, orders: list[Order]) -> list[SubmitResult]:
    site = backend.cluster.site
    requests = [make_submit_request(one, site, only_if_ok=place > 0) for place, one in enumerate(orders)]
    return [read_submit_reply(reply) for reply in backend.host.ask(requests)]


def find_states(backend: Backend, orders: list[Order]) -> list[set[JobState]]:
    return [{job.state for job in backend.find_jobs(order)} for order in orders]


def test_a_chain_is_sent_in_one_round_trip_and_each_waits_for_the_one_before(backend: Backend) -> None:
    orders = make_chain(backend, LATER)
    before = backend.host.round_trips

    results = send(backend, orders)
    trips = backend.host.round_trips - before
    shown = [backend.run(*_slurm(backend, "scontrol", "show", "job", one.job_id or "")) for one in results]

    assert trips == 1
    assert [one.outcome for one in results] == [Outcome.SUBMITTED] * 3
    assert f"Dependency=afterany:{results[0].job_id}" in shown[1]
    assert f"Dependency=afterany:{results[1].job_id}" in shown[2]


def test_sent_twice_each_is_there_once(backend: Backend) -> None:
    orders = make_chain(backend, LATER)
    first = send(backend, orders)

    again = send(backend, orders)

    assert [one.job_id for one in again] == [one.job_id for one in first]
    assert [len(backend.find_jobs(order)) for order in orders] == [1, 1, 1]


def test_the_links_run_one_after_another_however_each_ends(backend: Backend) -> None:
    orders = make_chain(backend, body=f"date +%s.%N >> {backend.root}/starts; sleep 1; exit 3")
    results = send(backend, orders)

    backend.wait_for(orders[2], results[2].job_id or "", lambda jobs: any(job.state.is_final for job in jobs), "ended")

    starts = [float(line) for line in backend.run("cat", f"{backend.root}/starts").split()]
    assert len(starts) == 3
    assert all(later - earlier >= 1 for earlier, later in pairwise(starts))


def test_when_the_first_is_refused_nothing_else_is_sent(backend: Backend) -> None:
    orders = make_chain(backend, "--mem=9999G")

    results = send(backend, orders)

    assert [one.outcome for one in results] == [Outcome.REFUSED, Outcome.NOT_SUBMITTED, Outcome.NOT_SUBMITTED]
    assert find_states(backend, orders[1:]) == [set(), set()]


@pytest.mark.parametrize("point", ["after-intent", "after-sbatch", "after-receipt"])
def test_a_deputy_that_dies_in_the_middle_leaves_a_shorter_chain_and_no_late_link(backend: Backend, point: str) -> None:
    if backend.slurm is not None:
        pytest.skip("the points to die at are reached on this machine only")
    orders = make_chain(backend, LATER)
    assert submit(backend.cluster, orders[0]).outcome is Outcome.SUBMITTED
    dying = LocalHost(env={"WINDLASS_TEST_DIE_AT": point})
    with pytest.raises(WindlassError):
        submit(Cluster(dying, backend.cluster.site), orders[1])
    dying.close()

    found = [reconcile(backend.cluster, order, wait_s=20, grace_s=0.5) for order in orders]
    late = submit(backend.cluster, orders[2])

    taken = Outcome.NOT_SUBMITTED if point == "after-intent" else Outcome.SUBMITTED
    assert [one.outcome for one in found] == [Outcome.SUBMITTED, taken, Outcome.NOT_SUBMITTED]
    assert late.outcome is Outcome.REFUSED, "an order that comes late finds the door shut"
    assert find_states(backend, orders[2:]) == [set()]


def test_an_owner_may_lower_the_time_of_links_that_wait(backend: Backend) -> None:
    """As the agent does when less than a link is left to train."""
    _, number = backend.send("sleep 60", "--array=1-3%1", "--time=10", LATER)
    jobs = make_chain(backend, LATER, "--time=10", count=2)
    ids = [one.job_id or "" for one in send(backend, jobs)]

    for names in (f"{number}_[2-3]", ",".join(ids)):
        backend.run(*_slurm(backend, "scontrol", "update", f"JobId={names}", "TimeLimit=0-00:03:00"))

    shown = backend.run(*_slurm(backend, "squeue", "--me", "--array", "--noheader", "--format=%i %l"))
    limits = dict(line.split() for line in shown.splitlines())
    assert [limits[f"{number}_{task}"] for task in (1, 2, 3)] == ["10:00", "3:00", "3:00"]
    assert [limits[one] for one in ids] == ["3:00", "3:00"]


def _slurm(backend: Backend, program: str, *arguments: str) -> tuple[str, ...]:
    path = backend.cluster.site.software.slurm_path
    return (f"{path}/{program}" if path else program, *arguments)
