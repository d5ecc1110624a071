"""What ended a link before its time: told apart, and told while the chain goes on."""

from dataclasses import replace

import pytest

from tests.builders import RECORD, make_job
from windlass.core.jobs import JobSeen, JobState
from windlass.core.progress import Seen, judge
from windlass.core.record import RunRecord, RunState, Submission
from windlass_job import wire

ALICE = 1001
ARRAY = replace(RECORD, links=3, submissions=(replace(RECORD.submissions[0], links=3),))
CHAIN = replace(
    RECORD,
    links=3,
    submissions=tuple(
        Submission(
            number=number,
            token=f"windlass:digits-k3f9w:{number}",
            job_id=str(44 + number),
            first_link=number,
            after=number - 1 or None,
        )
        for number in (1, 2, 3)
    ),
)


def job(number: int, state: JobState, **values: object) -> JobSeen:
    """Of the chain by dependency: link NUMBER is job 44 + NUMBER."""
    made = make_job(state, job_id=str(44 + number), started=number * 100.0)
    return replace(made, token=f"windlass:digits-k3f9w:{number}", **values)  # type: ignore[arg-type]


def look(
    record: RunRecord, *jobs: JobSeen, state: str | None = None, stop: int | None = None, **told: object
) -> RunRecord:
    status = None if state is None else {"state": state, "link": 1, "submission": 1, "ended": 1900.0, **told}
    return judge(record, Seen(jobs=jobs, status=status, uid=ALICE, stop=stop), 2000.0)


# ---- several submissions that live at the same time ----------------------------------------------------------


def test_the_link_that_runs_speaks_for_the_chain() -> None:
    record = look(CHAIN, job(3, JobState.WAITING, reason="Dependency"), job(2, JobState.RUNNING), job(1, JobState.DONE))

    assert (record.state, record.reason) == (RunState.RUNNING, None)


def test_while_all_wait_the_first_of_them_says_why() -> None:
    record = look(
        CHAIN,
        job(3, JobState.WAITING, reason="Dependency"),
        job(2, JobState.WAITING, reason="Priority"),
        state=wire.CUT,
    )

    assert (record.state, record.reason) == (RunState.WAITING, "Priority")


def test_a_word_of_any_link_of_the_chain_counts() -> None:
    record = look(CHAIN, job(3, JobState.WAITING), job(2, JobState.DONE), state=wire.DONE, link=2, submission=2)

    assert (record.state, record.link, record.job_id) == (RunState.DONE, 2, "46")


def test_when_all_links_are_over_the_last_decides() -> None:
    jobs = job(1, JobState.NODE_FAILED), job(2, JobState.TIMED_OUT), job(3, JobState.DONE)

    assert look(CHAIN, *jobs, state=wire.CUT, link=3, submission=3).state is RunState.OUT_OF_TIME


def test_a_link_that_was_never_taken_is_not_waited_for() -> None:
    shorter = replace(CHAIN, submissions=(*CHAIN.submissions[:2], replace(CHAIN.submissions[2], job_id=None)), links=2)

    record = look(shorter, job(1, JobState.DONE), job(2, JobState.DONE), state=wire.CUT, link=2, submission=2)

    assert record.state is RunState.OUT_OF_TIME


# ---- told apart ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("canceller", "stop", "reason"),
    [
        (None, None, "cancelled"),
        (ALICE, 1, "cancelled"),
        (ALICE, None, "cancelled by you, with scancel"),
        (0, None, "cancelled by an operator of the site (user number 0)"),
        (1002, None, "cancelled by an operator of the site (user number 1002)"),
    ],
)
def test_who_cancelled_it(canceller: int | None, stop: int | None, reason: str) -> None:
    record = look(RECORD, replace(make_job(JobState.CANCELLED), cancelled_by=canceller), stop=stop)

    assert (record.state, record.reason) == (RunState.CANCELLED, reason)


@pytest.mark.parametrize(
    "state", [JobState.NODE_FAILED, JobState.PREEMPTED, JobState.TIMED_OUT, JobState.OUT_OF_MEMORY]
)
def test_what_befell_an_earlier_link_is_told_while_the_next_goes_on(state: JobState) -> None:
    waiting = make_job(JobState.WAITING, job_id="45_[3%1]")
    ended = [
        make_job(JobState.DONE, job_id="45_1", task=1, started=1),
        make_job(state, job_id="45_2", task=2, started=2),
    ]

    assert look(ARRAY, *ended, waiting).interrupted == f"link 2: {state.value}"
    assert (
        look(CHAIN, job(1, JobState.DONE), job(2, state), job(3, JobState.RUNNING)).interrupted
        == f"link 2: {state.value}"
    )


def test_one_link_cancelled_by_somebody_is_told_with_who() -> None:
    cancelled = job(1, JobState.CANCELLED, cancelled_by=0)

    assert look(CHAIN, cancelled, job(2, JobState.RUNNING)).interrupted == (
        "link 1: cancelled by an operator of the site (user number 0)"
    )


def test_of_a_job_that_is_queued_again_each_life_is_a_link_and_a_cut_is_no_interruption() -> None:
    queued_again = replace(RECORD, links=4, submissions=(replace(RECORD.submissions[0], links=4),))
    lives = replace(make_job(JobState.RUNNING), past=(JobState.REQUEUED, JobState.PREEMPTED, JobState.REQUEUED))

    assert look(queued_again, lives).interrupted == "link 2: preempted"
    assert look(queued_again, replace(lives, past=(JobState.REQUEUED,))).interrupted is None


def test_a_single_job_that_slurm_started_again_stays_one_link() -> None:
    assert look(RECORD, replace(make_job(JobState.RUNNING), past=(JobState.NODE_FAILED,))).interrupted == (
        "link 1: node failed"
    )


def test_started_once_more_than_was_planned_is_out_of_time_and_not_done() -> None:
    queued_again = replace(RECORD, links=2, link=2, submissions=(replace(RECORD.submissions[0], links=2),))

    record = look(queued_again, make_job(JobState.DONE), state=wire.SKIPPED, reason=wire.NO_LINK_LEFT, link=3)

    assert (record.state, record.link) == (RunState.OUT_OF_TIME, 2)


def test_the_agents_reason_is_told_as_it_is() -> None:
    record = look(RECORD, make_job(JobState.FAILED), state=wire.FAILED, exit_code=121, reason="two links saved nothing")

    assert (record.state, record.reason) == (RunState.FAILED, "two links saved nothing")
