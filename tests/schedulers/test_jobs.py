"""The queue and the history of real Slurms, read from their recorded answers."""

from collections.abc import Iterable

import pytest

from tests.schedulers.recorded import VERSIONS, load_answer
from windlass.core.jobs import JobSeen, JobState
from windlass.schedulers.slurm.dialect import SLURM
from windlass.schedulers.slurm.fields import SEPARATOR
from windlass.schedulers.slurm.history import read_history
from windlass.schedulers.slurm.job_ids import count_tasks
from windlass.schedulers.slurm.merge import merge_jobs
from windlass.schedulers.slurm.one_job import read_jobs
from windlass.schedulers.slurm.queue import read_queue

pytestmark = pytest.mark.parametrize("version", VERSIONS)


def test_the_queue_shows_every_state_with_its_token(version: str) -> None:
    jobs = read_queue(load_answer(version, "queue").out)

    assert _state(jobs, "running-aaaaa") is JobState.RUNNING
    assert _state(jobs, "later-aaaaa") is JobState.WAITING
    assert _state(jobs, "failed-aaaaa") is JobState.FAILED
    assert _state(jobs, "cancelled-aaaaa") is JobState.CANCELLED
    assert all(job.token == f"windlass:{job.name}:1" for job in jobs if (job.name or "").endswith("aaaaa"))


def test_a_waiting_array_is_one_row_and_its_running_task_another(version: str) -> None:
    waiting, running = sorted(
        (
            job
            for job in read_queue(load_answer(version, "queue").out)
            if job.name == "array-aaaaa" and job.state.is_live
        ),
        key=lambda job: job.state is JobState.RUNNING,
    )

    assert (waiting.task, count_tasks(waiting.job_id), waiting.reason) == (None, 4, "JobArrayTaskLimit")
    assert (running.task, running.state) == (1, JobState.RUNNING)
    assert waiting.base_id == running.base_id == waiting.raw_id


def test_times_are_seconds_since_1970(version: str) -> None:
    jobs = read_queue(load_answer(version, "queue").out)
    running, later, cancelled = (_last(jobs, f"{name}-aaaaa") for name in ("running", "later", "cancelled"))

    assert running.submitted is not None
    assert running.started is not None
    assert 0 <= running.started - running.submitted < 60
    assert running.ended is None
    assert (running.limit_s, later.started) == (300, None)
    assert later.expected_start is not None
    assert 3500 < later.expected_start - running.submitted < 3700
    assert cancelled.ended is not None


def test_a_name_with_a_newline_and_delimiters_does_no_harm(version: str) -> None:
    odd = next(job for job in read_queue(load_answer(version, "queue").out) if job.token == "windlass:odd-aaaaa:1")
    one = read_jobs(load_answer(version, "job-odd").out)[0]

    assert (odd.state, odd.name) == (JobState.DONE, "odd | name")
    assert (one.state, one.token, one.exit_code) == (JobState.DONE, "windlass:odd-aaaaa:1", 0)
    assert one.name == "odd | name\nJobState=X UserId=5 é"


def test_the_parts_of_one_job_share_its_number(version: str) -> None:
    parts = [job for job in read_queue(load_answer(version, "queue").out) if job.name == "parts-aaaaa"][-2:]

    assert len({job.base_id for job in parts}) == 1
    assert [job.job_id[-2:] for job in parts] == ["+0", "+1"]


def test_the_history_knows_exit_codes_and_signals(version: str) -> None:
    jobs = read_history(load_answer(version, "history").out)
    failed, killed, running = (_last(jobs, f"{name}-aaaaa") for name in ("failed", "killed", "running"))

    assert (failed.exit_code, failed.signal, failed.token) == (3, None, "windlass:failed-aaaaa:1")
    assert (killed.exit_code, killed.signal) == (0, 9)
    assert (running.exit_code, running.limit_s) == (None, 300)
    assert _last(jobs, "cancelled-aaaaa").state is JobState.CANCELLED


def test_a_requeued_job_is_told_by_its_last_life(version: str) -> None:
    again = [job for job in read_history(load_answer(version, "history").out) if job.name == "requeued-aaaaa"]

    assert [(job.state, job.restarts, job.token) for job in again] == [
        (JobState.RUNNING, 1, "windlass:requeued-aaaaa:1")
    ]


def test_the_history_is_found_by_name(version: str) -> None:
    jobs = read_history(load_answer(version, "history-by-name").out)

    assert {job.name for job in jobs} == {"failed-aaaaa"}


def test_one_job_is_read_as_the_queue_tells_it(version: str) -> None:
    queue = {job.job_id: job for job in read_queue(load_answer(version, "queue").out)}

    for name in ("array", "running", "failed", "killed", "later", "requeued", "parts"):
        jobs = read_jobs(load_answer(version, f"job-{name}").out)
        assert jobs
        for job in jobs:
            seen = queue[job.job_id]
            assert (job.state, job.token, job.name, job.submitted) == (
                seen.state,
                seen.token,
                seen.name,
                seen.submitted,
            )
            assert (job.started, job.limit_s, job.partition) == (seen.started, seen.limit_s, seen.partition)

    assert read_jobs(load_answer(version, "job-failed").out)[0].exit_code == 3
    assert read_jobs(load_answer(version, "job-requeued").out)[0].restarts == 1
    assert read_jobs(load_answer(version, "job-unknown").err) == []


def test_queue_and_history_together_show_each_job_once(version: str) -> None:
    queue = read_queue(load_answer(version, "queue").out)
    history = read_history(load_answer(version, "history").out)

    jobs = merge_jobs(queue, history)

    assert len(jobs) == len(queue)
    assert _last(jobs, "failed-aaaaa").exit_code == 3
    assert _last(jobs, "requeued-aaaaa").restarts == 1
    assert _state(jobs, "running-aaaaa") is JobState.RUNNING


def test_a_field_this_slurm_does_not_know_is_given_up(version: str) -> None:
    queue, history = load_answer(version, "queue-field-refused"), load_answer(version, "history-field-refused")

    poorer = SLURM.without_refused(
        queue_err=queue.err.replace(": ~", ": k"), history_err=history.err.replace("NoSuch", "Reason")
    )

    assert poorer.refused == ("%k", "Reason")
    assert SLURM.without(poorer.refused) == poorer
    assert SLURM.without_refused(queue_err=queue.err, history_err=history.err) == SLURM
    assert f"%P{SEPARATOR}%j" in poorer.make_queue_command()[-1]


def _last(jobs: Iterable[JobSeen], name: str) -> JobSeen:
    """The newest: an earlier recording may still be in the queue."""
    return max((job for job in jobs if job.name == name), key=lambda job: int(job.base_id))


def _state(jobs: Iterable[JobSeen], name: str) -> JobState:
    return _last(jobs, name).state
