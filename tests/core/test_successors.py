"""A run that submitted its rest by itself: the record follows it into the new job."""

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import RECORD, make_job
from windlass.core.jobs import JobState
from windlass.core.progress import Seen, judge
from windlass.core.record import RunRecord, RunState, Submission
from windlass.core.successors import adopt_successors

FIRST = Submission(number=1, token=f"windlass:{RECORD.run_id}:1", job_id="45", links=3)
RUN = replace(RECORD, submissions=(FIRST,), state=RunState.RUNNING, links=3, link=1)
MADE: dict[str, Any] = {
    "number": 2,
    "token": f"windlass:{RECORD.run_id}:2",
    "job_id": "46",
    "first_link": 1,
    "links": 3,
    "replaces": 1,
    "exclude": "node3",
}
SECOND = Submission(number=2, token=f"windlass:{RECORD.run_id}:2", job_id="46", links=3)
MOVED = {"state": "moved", "submission": 1, "link": 1, "reason": "node3 is mute", "successors": [MADE]}


def look(record: RunRecord, status: dict[str, Any], *jobs: Any) -> RunRecord:
    return judge(record, Seen(status=status, jobs=jobs), now=100.0)


def test_the_record_waits_for_the_new_job_and_says_why() -> None:
    record = look(RUN, MOVED, make_job(JobState.DONE, job_id="45", task=1))

    assert record.submissions == (FIRST, SECOND)
    assert (record.state, record.reason, record.job_id) == (RunState.WAITING, "node3 is mute", "46")


def test_the_next_look_judges_by_the_new_job() -> None:
    adopted = look(RUN, MOVED)

    record = look(adopted, MOVED, replace(make_job(JobState.RUNNING, job_id="46", task=1), token=SECOND.token))

    assert (record.state, record.submissions) == (RunState.RUNNING, (FIRST, SECOND))


def test_a_laptop_that_looks_late_finds_the_whole_story() -> None:
    third = {**MADE, "number": 3, "job_id": "47", "token": f"windlass:{RECORD.run_id}:3", "replaces": 2}
    status = {"state": "done", "submission": 3, "link": 3, "exit_code": 0, "ended": 99.0, "successors": [MADE, third]}

    record = look(RUN, status)

    assert [one.job_id for one in record.submissions] == ["45", "46", "47"]
    assert (record.state, record.ended) == (RunState.DONE, 99.0)


def test_where_sbatchs_answer_was_lost_it_is_found_out() -> None:
    record = look(RUN, {**MOVED, "successors": [{**MADE, "job_id": None}]})

    assert (record.state, record.submissions[-1].job_id) == (RunState.SUBMITTING, None)


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        "nonsense",
        ["nonsense"],
        [{**MADE, "number": "2"}],
        [{**MADE, "replaces": 7}],  # of a submission that is not on record
        [{**MADE, "number": 1}],
    ],
)
def test_nothing_new_leaves_the_record_as_it_is(told: Any) -> None:
    assert adopt_successors(RUN, {"successors": told}) is RUN


def test_after_a_resume_the_resumed_submission_counts() -> None:
    resumed = replace(RUN, submissions=(FIRST, replace(SECOND, job_id="99")))

    assert adopt_successors(resumed, MOVED) is resumed


def test_a_link_on_which_nodes_could_not_talk_is_still_to_be_done() -> None:
    status = {"state": "failed", "submission": 1, "link": 1, "exit_code": 122, "reason": "node3 is mute"}

    record = look(replace(RUN, link=None), status)

    assert (record.state, record.link, record.reason) == (RunState.FAILED, None, "node3 is mute")
