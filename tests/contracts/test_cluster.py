"""What every cluster does, pocket and real Slurm alike: jobs are seen with their token in every state."""

import platform
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.contracts.backends import Backend
from tests.contracts.backends import backend as backend
from windlass.core.exactly_once import Outcome
from windlass.core.jobs import JobSeen, JobState
from windlass.core.site import Site, Software
from windlass.edges.cluster import Cluster
from windlass.edges.local_host import LocalHost
from windlass.edges.submission import submit
from windlass.edges.survey import take_survey
from windlass.errors import ClusterUnavailable, SiteNotReady
from windlass.schedulers.answers import ExpectedStart, Refusal, RefusalKind


def test_a_job_that_succeeds_is_done(backend: Backend) -> None:
    order, job_id = backend.send("true")

    backend.wait_for(order, job_id, _is(JobState.DONE), "done")

    (job,) = backend.look_at(order, job_id)
    assert (job.exit_code, job.token, job.name, job.base_id) == (0, order.token, order.run_id, job_id)
    assert job.started is not None
    assert job.ended is not None


def test_a_job_that_fails_tells_its_exit_code(backend: Backend) -> None:
    order, job_id = backend.send("exit 3")

    backend.wait_for(order, job_id, lambda jobs: _is(JobState.FAILED)(jobs) and jobs[0].exit_code is not None, "failed")

    assert backend.look_at(order, job_id)[0].exit_code == 3


def test_a_waiting_job_is_seen_and_cancelled(backend: Backend) -> None:
    order, job_id = backend.send("true", "--begin=now+1hour")
    backend.wait_for(order, job_id, _is(JobState.WAITING), "waiting")
    assert backend.look_at(order, job_id)[0].reason == "BeginTime"

    backend.cluster.cancel([job_id])

    backend.wait_for(order, job_id, _is(JobState.CANCELLED), "cancelled")


def test_a_running_job_is_seen_and_cancelled(backend: Backend) -> None:
    order, job_id = backend.send("exec sleep 300", "--time=10")
    backend.wait_for(order, job_id, _is(JobState.RUNNING), "running")
    assert (backend.look_at(order, job_id)[0].limit_s, backend.look_at(order, job_id)[0].ended) == (600, None)

    backend.cluster.cancel([job_id, job_id, "999999"])

    backend.wait_for(order, job_id, _is(JobState.CANCELLED), "cancelled")
    backend.cluster.cancel([job_id])


@pytest.mark.slow
def test_a_job_at_its_time_limit_is_timed_out(backend: Backend) -> None:
    order, job_id = backend.send("exec sleep 300", f"--time={backend.shortest}")

    backend.wait_for(order, job_id, _is(JobState.TIMED_OUT), "timed out")


def test_the_links_of_a_chain_run_one_after_the_other(backend: Backend) -> None:
    order, job_id = backend.send("sleep 1; echo $SLURM_ARRAY_TASK_ID >> order", "--array=1-3%1", "--time=5")
    most_running = 0

    def is_over(jobs: tuple[JobSeen, ...]) -> bool:
        nonlocal most_running
        most_running = max(most_running, sum(job.state is JobState.RUNNING for job in jobs))
        return [job.state for job in jobs if job.task is not None] == [JobState.DONE] * 3

    backend.wait_for(order, job_id, is_over, "three links")

    assert most_running <= 1
    assert backend.run("cat", f"{order.folder}/order").split() == ["1", "2", "3"]
    assert {job.base_id for job in backend.look_at(order, job_id)} == {job_id}


def test_a_chain_is_cancelled_as_a_whole(backend: Backend) -> None:
    order, job_id = backend.send("exec sleep 300", "--array=1-4%1", "--time=5")
    backend.wait_for(
        order, job_id, lambda jobs: {job.state for job in jobs} == {JobState.WAITING, JobState.RUNNING}, "one runs"
    )

    backend.cluster.cancel([job_id])

    backend.wait_for(order, job_id, lambda jobs: all(job.state is JobState.CANCELLED for job in jobs), "all cancelled")


def test_numbers_that_never_were_are_nobody(backend: Backend) -> None:
    assert "99999999" not in {job.base_id for job in backend.cluster.look(["99999999"]).jobs}
    backend.cluster.cancel(["99999999"])
    backend.cluster.cancel([])


def test_all_jobs_are_seen_in_one_round_trip(backend: Backend) -> None:
    before = backend.host.round_trips

    look = backend.cluster.look(["1", "2", "3_1"])

    assert backend.host.round_trips == before + 1
    assert (look.history_unavailable, look.refused_fields) == (None, ())


def test_a_submission_is_found_by_its_token_only(backend: Backend) -> None:
    order, job_id = backend.send("true", "--begin=now+1hour")

    found = backend.find_jobs(order)
    other = backend.find_jobs(replace(order, token=order.token + "1"))

    assert {job.base_id for job in found} == {job_id}
    assert other == ()
    backend.cluster.cancel([job_id])


@pytest.mark.parametrize(
    ("option", "kind"),
    [
        ("--partition=nosuch", RefusalKind.PARTITION),
        ("--array=1-99999999", RefusalKind.ARRAY),
        ("--nosuch-option", RefusalKind.OPTION),
        ("--mem=9999G", RefusalKind.MEMORY),
    ],
)
def test_a_refusal_is_told_in_words_and_quoted(backend: Backend, option: str, kind: RefusalKind) -> None:
    result = submit(backend.cluster, backend.make_order("true", option))

    assert (result.outcome, result.job_id) == (Outcome.REFUSED, None)
    assert result.refusal is not None
    assert (result.refusal.kind, "sbatch: " in result.refusal.said) == (kind, True)


def test_the_expected_start_is_told_without_submitting(backend: Backend) -> None:
    order, refused = backend.make_order("true"), backend.make_order("true", "--partition=nosuch")

    estimate, refusal = backend.cluster.estimate_starts([backend.run("cat", one.script) for one in (order, refused)])

    assert isinstance(estimate, ExpectedStart)
    assert estimate.partition == backend.partition
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.PARTITION
    assert backend.find_jobs(order) == ()


def test_a_survey_is_one_round_trip(backend: Backend) -> None:
    before = backend.host.round_trips

    facts = take_survey(backend.host, replace(backend.cluster.site, root=backend.root), 1000.0)

    assert backend.host.round_trips == before + 1
    partition = facts.partition(backend.partition)
    assert partition is not None
    assert (partition.is_default, partition.state) == (True, "UP")
    assert (partition.cpus_per_node or 0) >= 1
    assert [one for one in partition.shapes if (one.cpus or 0) >= 1 and (one.nodes or 0) >= 1 and one.cores]
    assert (partition.preempts, facts.enforces_partition_limits) in ((None, True), (False, True))
    assert (facts.architecture, facts.inside_job) == (platform.machine(), None)
    assert (facts.free_files or 0) > 0
    assert (facts.max_array or 0) > 100
    assert (facts.scheduler_version or "")[0].isdigit()
    assert (facts.user is None, facts.taken_at, facts.root) == (False, 1000.0, backend.root)


def test_the_survey_counts_every_waiting_task(backend: Backend) -> None:
    before = take_survey(backend.host, backend.cluster.site, 0.0).jobs_in_queue or 0
    _, job_id = backend.send("true", "--array=1-50%1", "--begin=now+1hour")

    after = take_survey(backend.host, backend.cluster.site, 0.0).jobs_in_queue or 0
    backend.cluster.cancel([job_id])

    assert after - before == 50


def test_a_real_survey_knows_accounts(backend: Backend) -> None:
    facts = take_survey(backend.host, backend.cluster.site, 0.0)

    if backend.slurm is None:
        # Pocket has no accounts, and those of a real Slurm beside it are not its own.
        assert (facts.associations, facts.qos) == (None, None)
    else:
        assert {one.account for one in facts.associations or () if one.is_default} == {"def-prof"}
        assert "strict" in {one.name for one in facts.qos or ()}
        assert facts.has_accounting is True


def test_a_field_that_is_not_known_here_is_given_up_once(backend: Backend) -> None:
    cluster = Cluster(backend.host, backend.cluster.site)
    odd = replace(cluster.dialect.history_fields[0], name="odd", asked="NoSuchField")
    cluster.dialect = replace(cluster.dialect, history_fields=(odd, *cluster.dialect.history_fields))
    order, job_id = backend.send("true")
    backend.wait_for(order, job_id, _is(JobState.DONE), "done")

    jobs = cluster.look([job_id]).jobs
    before = backend.host.round_trips
    cluster.look([job_id])

    assert job_id in {job.base_id for job in jobs}
    assert backend.host.round_trips == before + 1


def test_a_host_without_slurm_says_so() -> None:
    host = LocalHost(env={"PATH": "/nonexistent"})
    site = Site(name="bare", software=Software(slurm_path="/nonexistent/bin"))

    with pytest.raises(SiteNotReady, match="bare: Slurm's commands cannot be found"):
        Cluster(host, site).look()
    with pytest.raises(SiteNotReady):
        take_survey(host, site, 0.0)
    host.close()


@pytest.mark.slow
def test_without_accounting_the_queue_still_tells(backend: Backend) -> None:
    if backend.slurm is None:
        pytest.skip("pocket has no database that could be away")
    order, job_id = backend.send("exit 4")
    backend.wait_for(order, job_id, _is(JobState.FAILED), "failed")
    backend.slurm.stop_database()
    try:
        look = backend.cluster.look([job_id])
    finally:
        backend.slurm.start_database()

    assert look.history_unavailable is not None
    assert not look.history_unavailable.is_lasting
    assert [job.exit_code for job in look.jobs if job.token == order.token] == [4]


@pytest.mark.slow
def test_a_silent_controller_is_quoted(backend: Backend) -> None:
    if backend.slurm is None:
        pytest.skip("pocket has no controller")
    backend.slurm.stop_controller()
    try:
        with pytest.raises(ClusterUnavailable) as caught:
            backend.cluster.look(["1"])
    finally:
        backend.slurm.start_controller()

    assert "Unable to contact slurm controller" in (caught.value.said or "")


def _is(state: JobState) -> Callable[[tuple[JobSeen, ...]], bool]:
    return lambda jobs: [job.state for job in jobs] == [state]
