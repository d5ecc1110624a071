"""Exactly once, on pocket and on real Slurm: whatever gets lost, a job is sent once and known by its token."""

import json
from pathlib import Path

import pytest

from tests.contracts.backends import Backend
from tests.contracts.backends import backend as backend
from windlass.core.exactly_once import Outcome
from windlass.edges.cluster import Cluster
from windlass.edges.host import Request
from windlass.edges.local_host import LocalHost
from windlass.edges.submission import Order, reconcile, submit
from windlass.errors import RunFolderGone, WindlassError
from windlass_job import wire

LATER = "--begin=now+1hour"


def test_submitting_twice_sends_once(backend: Backend) -> None:
    order, job_id = backend.send("true", LATER)

    again = submit(backend.cluster, order)

    assert (again.outcome, again.job_id, again.existed) == (Outcome.SUBMITTED, job_id, True)
    assert _find(backend, order) == {job_id}


def test_a_lost_answer_is_found_by_the_token(backend: Backend) -> None:
    order = backend.make_order("true", LATER)
    sent = backend.submit_lost(order)

    unclear = submit(backend.cluster, order)
    found = reconcile(backend.cluster, order)
    again = submit(backend.cluster, order)

    assert unclear.outcome is Outcome.UNCLEAR
    assert (found.outcome, found.job_id) == (Outcome.SUBMITTED, sent.job_id)
    assert (again.outcome, again.job_id) == (Outcome.SUBMITTED, sent.job_id)
    assert _find(backend, order) == {sent.job_id}


def test_a_lost_answer_of_a_job_that_ended_is_found_too(backend: Backend) -> None:
    order = backend.make_order("true")
    sent = backend.submit_lost(order)
    assert sent.job_id is not None
    backend.wait_for(order, sent.job_id, lambda jobs: bool(jobs) and jobs[0].state.is_final, "ended")

    found = reconcile(backend.cluster, order)

    assert (found.outcome, found.job_id) == (Outcome.SUBMITTED, sent.job_id)


def test_an_intent_that_led_to_nothing_may_be_sent_again(backend: Backend) -> None:
    first, first_id = backend.send("true", LATER)
    order = backend.make_order("true", LATER, run_id=first.run_id, number=2)
    _copy_intent(backend, first, order)

    unclear = submit(backend.cluster, order)
    found = reconcile(backend.cluster, order, grace_s=0.1)
    again = submit(backend.cluster, order)

    assert unclear.outcome is Outcome.UNCLEAR
    assert (found.outcome, found.job_id) == (Outcome.NOT_SUBMITTED, None)
    assert again.outcome is Outcome.SUBMITTED
    assert again.job_id not in (None, first_id)


def test_nothing_was_begun(backend: Backend) -> None:
    order = backend.make_order("true")

    assert reconcile(backend.cluster, order).outcome is Outcome.NOT_SUBMITTED


def test_a_refusal_stays_a_refusal(backend: Backend) -> None:
    order = backend.make_order("true", "--mem=9999G")
    submit(backend.cluster, order)
    place = f"{order.folder}/{wire.SUBMISSIONS}/1"

    settled = reconcile(backend.cluster, order)
    backend.run("rm", f"{place}/{wire.RECEIPT}")
    from_its_words = reconcile(backend.cluster, order)

    assert (settled.outcome, from_its_words.outcome) == (Outcome.REFUSED, Outcome.REFUSED)
    assert from_its_words.refusal is not None
    assert "Memory specification" in from_its_words.refusal.said


def test_a_number_that_is_another_jobs_now_is_a_lost_job(backend: Backend) -> None:
    _, stranger_id = backend.send("true", LATER)
    forgotten = backend.make_order("true")  # never sent: as if Slurm had lost its memory of it
    _write_receipt(backend, forgotten, stranger_id)

    found = reconcile(backend.cluster, forgotten)

    assert (found.outcome, found.job_id) == (Outcome.LOST, stranger_id)


def test_a_claim_proves_the_job(backend: Backend) -> None:
    first, _ = backend.send("true", LATER)
    order = backend.make_order("true", LATER, run_id=first.run_id, number=2)
    _copy_intent(backend, first, order)
    _write(backend, f"{order.folder}/{wire.CLAIMS}/1.2.1", {"job": "77_1", "token": order.token, "submission": 2})

    found = reconcile(backend.cluster, order)

    assert (found.outcome, found.job_id) == (Outcome.SUBMITTED, "77")


def test_a_folder_that_is_gone_is_told(backend: Backend) -> None:
    order = backend.make_order("true")
    backend.run("rm", "-r", order.folder)

    with pytest.raises(RunFolderGone):
        submit(backend.cluster, order)


@pytest.mark.slow
def test_a_silent_controller_leaves_it_unclear(backend: Backend) -> None:
    if backend.slurm is None:
        pytest.skip("pocket has no controller")
    lost, order = backend.make_order("true", LATER), backend.make_order("true", LATER)
    backend.submit_lost(lost)
    backend.slurm.stop_controller()
    try:
        unclear, found = submit(backend.cluster, order), reconcile(backend.cluster, lost)
    finally:
        backend.slurm.start_controller()

    assert (unclear.outcome, found.outcome) == (Outcome.UNCLEAR, Outcome.UNCLEAR)
    backend.wait_for(lost, "", lambda _: len(_find(backend, lost)) == 1, "the controller is back")
    assert reconcile(backend.cluster, lost).outcome is Outcome.SUBMITTED
    assert reconcile(backend.cluster, order).outcome is Outcome.NOT_SUBMITTED


@pytest.mark.parametrize("point", ["after-intent", "after-spawn", "after-sbatch", "before-receipt", "after-receipt"])
def test_a_deputy_that_dies_anywhere_sends_at_most_once(backend: Backend, point: str) -> None:
    if backend.slurm is not None:
        pytest.skip("the points to die at are reached on this machine only")
    order = backend.make_order("true", LATER)
    dying = LocalHost(env={"WINDLASS_TEST_DIE_AT": point})
    with pytest.raises(WindlassError):
        submit(Cluster(dying, backend.cluster.site), order)
    dying.close()

    found = reconcile(backend.cluster, order, wait_s=20, grace_s=0.5)
    sent = submit(backend.cluster, order) if found.outcome is Outcome.NOT_SUBMITTED else found

    assert sent.outcome is Outcome.SUBMITTED
    assert _find(backend, order) == {sent.job_id}


def _find(backend: Backend, order: Order) -> set[str]:
    try:
        return {job.base_id for job in backend.find_jobs(order)}
    except WindlassError:
        return set()


def _copy_intent(backend: Backend, source: Order, target: Order) -> None:
    """As if the deputy had died right after it wrote the intent."""
    places = [f"{order.folder}/{wire.SUBMISSIONS}/{order.number}" for order in (source, target)]
    backend.run("mkdir", "-p", places[1])
    backend.run("cp", f"{places[0]}/{wire.INTENT}", places[1])


def _write_receipt(backend: Backend, order: Order, job_id: str) -> None:
    receipt = {"job_id": job_id, "exit_code": 0, "refused": False, "out": f"{job_id}\n", "err": ""}
    _write(backend, f"{order.folder}/{wire.SUBMISSIONS}/{order.number}/{wire.RECEIPT}", receipt)


def _write(backend: Backend, path: str, value: object) -> None:
    content = json.dumps(value).encode()
    files = {"files": [{"path": path, "bytes": len(content), "mode": 0o644}]}
    backend.run("mkdir", "-p", str(Path(path).parent))
    (reply,) = backend.host.ask([Request(operation="write", arguments=files, payload=content)])
    assert reply.ok, reply.problem
