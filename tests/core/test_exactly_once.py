"""Whether a submission was taken, from all that is known about it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.exactly_once import Evidence, Outcome, decide, is_certainly_not_of
from windlass.core.jobs import JobSeen, JobState

RUN, TOKEN = "digits-k3f9w", "windlass:digits-k3f9w:2"
OURS = JobSeen(
    job_id="45_1", array_id="45", state=JobState.RUNNING, word="RUNNING", token=TOKEN, name=RUN, submitted=1000
)
STRANGER = JobSeen(
    job_id="45", state=JobState.RUNNING, word="RUNNING", token="windlass:other-aaaaa:1", name="other-aaaaa"
)
UNNAMED = JobSeen(job_id="45", state=JobState.DONE, word="COMPLETED", token="", name=None)
ONLY_NAMED = replace(OURS, job_id="46", array_id=None, token="")
INTENT = Evidence(has_intent=True, has_receipt=False, queue_answered=True, since=990)
RECEIPT = replace(INTENT, has_receipt=True, told_id="45")


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence(has_intent=False, has_receipt=False), (Outcome.NOT_SUBMITTED, None)),
        (INTENT, (Outcome.NOT_SUBMITTED, None)),
        (replace(INTENT, queue_answered=False), (Outcome.UNCLEAR, None)),
        (replace(INTENT, in_flight=True, jobs=(OURS,)), (Outcome.IN_FLIGHT, None)),
        (replace(INTENT, jobs=(STRANGER,)), (Outcome.NOT_SUBMITTED, None)),
        (replace(INTENT, jobs=(STRANGER, OURS)), (Outcome.SUBMITTED, "45")),
        (replace(INTENT, told_id="45"), (Outcome.SUBMITTED, "45")),
        (replace(INTENT, told_id="45", queue_answered=False), (Outcome.SUBMITTED, "45")),
        (replace(INTENT, claimed_id="45", queue_answered=False), (Outcome.SUBMITTED, "45")),
        (replace(INTENT, is_refused=True), (Outcome.REFUSED, None)),
        (RECEIPT, (Outcome.SUBMITTED, "45")),
        (replace(RECEIPT, queue_answered=False), (Outcome.SUBMITTED, "45")),
        (replace(RECEIPT, jobs=(OURS,)), (Outcome.SUBMITTED, "45")),
        (replace(RECEIPT, jobs=(STRANGER,)), (Outcome.LOST, "45")),
        (replace(RECEIPT, jobs=(UNNAMED,)), (Outcome.SUBMITTED, "45")),
        (replace(RECEIPT, told_id=None, is_refused=True), (Outcome.REFUSED, None)),
    ],
)
def test_outcomes(evidence: Evidence, expected: tuple[Outcome, str | None]) -> None:
    assert decide(evidence, run_id=RUN, token=TOKEN) == expected


def test_a_job_that_slurm_refused_but_kept_is_refused() -> None:
    kept = replace(OURS, state=JobState.FAILED, word="FAILED", reason="BadConstraints")

    outcome, _ = decide(replace(INTENT, is_refused=True, jobs=(kept,)), run_id=RUN, token=TOKEN)

    assert outcome is Outcome.REFUSED


def test_without_a_token_the_name_counts_for_jobs_that_are_new() -> None:
    assert decide(replace(INTENT, jobs=(ONLY_NAMED,)), run_id=RUN, token=TOKEN) == (Outcome.SUBMITTED, "46")


@pytest.mark.parametrize(
    "evidence",
    [
        replace(INTENT, jobs=(ONLY_NAMED,), other_ids=frozenset({"46"})),
        replace(INTENT, jobs=(replace(ONLY_NAMED, submitted=1000),), since=5000),
    ],
)
def test_the_name_alone_never_takes_an_earlier_submission_for_this_one(evidence: Evidence) -> None:
    assert decide(evidence, run_id=RUN, token=TOKEN) == (Outcome.NOT_SUBMITTED, None)


def test_a_row_without_comment_and_name_proves_nothing() -> None:
    assert not is_certainly_not_of(UNNAMED, run_id=RUN, token=TOKEN)


_JOBS = st.lists(st.sampled_from([OURS, STRANGER, UNNAMED, ONLY_NAMED]), max_size=3).map(tuple)


@given(
    st.builds(
        Evidence,
        has_intent=st.booleans(),
        has_receipt=st.booleans(),
        in_flight=st.booleans(),
        told_id=st.sampled_from([None, "45"]),
        is_refused=st.booleans(),
        queue_answered=st.booleans(),
        jobs=_JOBS,
        claimed_id=st.sampled_from([None, "45"]),
    )
)
def test_what_may_have_been_sent_is_never_sent_again(evidence: Evidence) -> None:
    outcome, job_id = decide(evidence, run_id=RUN, token=TOKEN)

    may_be_sent_again = outcome is Outcome.NOT_SUBMITTED
    is_begun = evidence.has_intent or evidence.has_receipt
    if is_begun and not evidence.is_refused and (evidence.told_id or evidence.claimed_id or OURS in evidence.jobs):
        assert not may_be_sent_again
    if is_begun and not evidence.queue_answered:
        assert not may_be_sent_again
    assert (job_id is not None) == (outcome in (Outcome.SUBMITTED, Outcome.LOST))
