"""Histories that are rare, and must be read right all the same."""

from dataclasses import replace

from windlass.core.jobs import JobSeen, JobState
from windlass.schedulers.slurm.fields import SEPARATOR
from windlass.schedulers.slurm.history import HISTORY_FIELDS, make_history_by_name_command, read_history
from windlass.schedulers.slurm.merge import merge_jobs
from windlass.schedulers.slurm.queue import QUEUE_FIELDS, read_queue


def test_a_number_given_out_twice_is_two_jobs() -> None:
    text = _row(id="82", state="COMPLETED", submitted="100", comment="windlass:a-aaaaa:1", name="a-aaaaa") + _row(
        id="82", state="FAILED", submitted="900", comment="windlass:b-bbbbb:1", name="b-bbbbb"
    )

    jobs = read_history(text)

    assert [(job.token, job.state) for job in jobs] == [
        ("windlass:a-aaaaa:1", JobState.DONE),
        ("windlass:b-bbbbb:1", JobState.FAILED),
    ]


def test_every_earlier_life_is_a_restart() -> None:
    text = "".join(
        _row(id="9", state=state, submitted=str(100 * place), name="a-aaaaa")
        for place, state in enumerate(("NODE_FAIL", "PREEMPTED", "REQUEUED", "COMPLETED"))
    )

    (job,) = read_history(text)

    assert (job.state, job.restarts) == (JobState.DONE, 3)
    assert job.past == (JobState.NODE_FAILED, JobState.PREEMPTED, JobState.REQUEUED)


def test_a_job_that_waits_to_start_again_knows_how_its_last_life_ended() -> None:
    (ended,) = read_history(_row(id="9", state="PREEMPTED", name="a-aaaaa"))
    waiting = replace(ended, state=JobState.WAITING, word="PENDING", past=())

    (job,) = merge_jobs([waiting], [ended])

    assert (job.state, job.past) == (JobState.WAITING, (JobState.PREEMPTED,))


def test_accounting_tells_who_cancelled_a_job() -> None:
    (told,) = read_history(_row(id="9", state="CANCELLED by 1001", name="a-aaaaa"))
    (job,) = merge_jobs([replace(told, word="CANCELLED", cancelled_by=None)], [told])

    assert (told.state, told.cancelled_by, job.cancelled_by) == (JobState.CANCELLED, 1001, 1001)
    assert [one.cancelled_by for one in read_history(_row(id="9", state="CANCELLED", name="a-aaaaa"))] == [None]


def test_half_a_record_tells_nothing() -> None:
    text = _row(id="19", state="PENDING", start="1794822929", nodes="node3", name="allocation")

    assert read_history(text) == []


def test_steps_are_no_jobs() -> None:
    assert read_history(_row(id="19.batch", state="COMPLETED", name="batch")) == []


def test_what_accounting_believes_alive_is_doubted_when_the_queue_has_forgotten_it() -> None:
    runaway = read_history(_row(id="7", state="RUNNING", name="a-aaaaa"))

    (job,) = merge_jobs([], runaway)

    assert (job.state, job.word) == (JobState.UNKNOWN, "RUNNING")


def test_a_job_that_waits_again_is_not_ended_by_its_earlier_life() -> None:
    now = JobSeen(job_id="7", state=JobState.WAITING, word="PENDING", name="a-aaaaa", token="windlass:a-aaaaa:1")
    earlier = read_history(_row(id="7", state="NODE_FAIL", exit="0:0", name="a-aaaaa", comment="windlass:a-aaaaa:1"))

    (job,) = merge_jobs([now], earlier)

    assert (job.state, job.exit_code) == (JobState.WAITING, None)


def test_the_same_number_under_another_token_stays_another_job() -> None:
    now = JobSeen(job_id="7", state=JobState.RUNNING, word="RUNNING", name="b-bbbbb", token="windlass:b-bbbbb:1")
    old = read_history(_row(id="7", state="COMPLETED", name="a-aaaaa", comment="windlass:a-aaaaa:1"))

    assert [job.token for job in merge_jobs([now], old)] == ["windlass:b-bbbbb:1", "windlass:a-aaaaa:1"]


def test_the_search_begins_a_day_early_because_clocks_and_zones_differ() -> None:
    assert "--starttime=2026-11-15T09:46:40" in make_history_by_name_command("a-aaaaa", 1794822400)


def test_a_job_cancelled_in_the_queue_never_started() -> None:
    row = {"id": "7", "state": "CANCELLED", "start": "1794822852", "end": "1794822852", "name": "a-aaaaa"}

    (job,) = read_queue(SEPARATOR.join(row.get(field.name, "") for field in QUEUE_FIELDS) + "\n")

    assert (job.started, job.ended) == (None, 1794822852.0)


def _row(**values: str) -> str:
    unknown = set(values) - {field.name for field in HISTORY_FIELDS}
    assert not unknown
    defaults = {"raw_id": values.get("id", ""), "partition": "" if values.get("name") == "allocation" else "cpu"}
    return SEPARATOR.join({**defaults, **values}.get(field.name, "") for field in HISTORY_FIELDS) + "\n"
