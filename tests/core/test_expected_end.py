"""When a training will be done, by the pace it told of."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.builders import RECORD, make_job
from windlass.core.expected_end import Outlook, Pace, estimate_end, read_pace
from windlass.core.jobs import JobState
from windlass.core.progress import Seen, judge
from windlass.core.record import RunRecord, RunState
from windlass_job import wire

# Ten seconds an epoch; a link of 100 s gives up 10 s for saving, and needs 5 s until the first word.
PACE = Pace(done=12, of=20, unit_s=10, at=1000, warm_up_s=5)
LINK = {"link_s": 100.0, "notice_s": 10.0}
TOLD = {"done": 12, "of": 90, "unit": "epoch", "link": 1, "t": 1620.0, "first_done": 0, "first_t": 1500.0}
CHAIN = replace(RECORD, link_s=600.0, notice_s=60.0, links=3, submissions=(replace(RECORD.submissions[0], links=3),))


def look(told: Mapping[str, object], record: RunRecord = CHAIN, **values: object) -> RunRecord:
    """At 1700, in the first of three links of 600 s, which began at 1480."""
    status = {"state": wire.RUNNING, "link": 1, "submission": 1, "started": 1480.0, "ended": None, "progress": told}
    state = JobState.RUNNING if values.get("state", wire.RUNNING) == wire.RUNNING else JobState.WAITING
    return judge(record, Seen(jobs=(make_job(state),), status={**status, **values}), 1700.0)


def test_what_fits_into_this_link_ends_in_it() -> None:
    assert estimate_end(PACE, link_ends=1100, **LINK) == Outlook(end=1080, links_needed=0)


def test_what_does_not_goes_on_in_links_of_which_each_has_its_warm_up_and_its_saving() -> None:
    # 50 s are left in this link, so 30 s after 5 s of the next.
    assert estimate_end(PACE, link_ends=1060, **LINK) == Outlook(end=1095, links_needed=1)
    # 150 s after this link: 85 s in each of the two that follow.
    assert estimate_end(replace(PACE, of=32), link_ends=1060, **LINK) == Outlook(end=1230, links_needed=2)


def test_a_link_that_is_all_warm_up_leads_nowhere() -> None:
    assert estimate_end(replace(PACE, warm_up_s=95), link_ends=1000, **LINK) == Outlook()


@pytest.mark.parametrize(
    "change",
    [{"of": None}, {"done": 0}, {"first_t": None}, {"t": 1500.0}, {"done": "12"}, {"done": True}],
)
def test_too_little_was_told(change: Mapping[str, object]) -> None:
    assert read_pace({**TOLD, **change}, 1480.0) is None


def test_the_pace_is_measured_from_the_first_word_of_the_link() -> None:
    assert read_pace(TOLD, 1480.0) == Pace(done=12, of=90, unit_s=10, at=1620, warm_up_s=20)


def test_a_record_learns_how_far_it_is_and_when_it_will_be_done() -> None:
    record = look({**TOLD, "of": 40})

    assert (record.progress_done, record.progress_of, record.progress_unit) == (12, 40, "epoch")
    assert (record.expected_end, record.links_needed, record.missing_links) == (1900, 0, 0)


def test_a_training_that_needs_more_links_than_there_are_says_how_many() -> None:
    # 78 epochs are 780 s: 400 s in this link, 380 s in one more. 200 epochs: 3 more, and 2 are there.
    assert (look(TOLD).links_needed, look(TOLD).missing_links) == (1, 0)
    record = look({**TOLD, "of": 200})

    assert (record.links_needed, record.missing_links, record.expected_end) == (3, 1, None)


def test_between_two_links_the_next_one_counts_as_if_it_started_now() -> None:
    record = look({**TOLD, "of": 40}, state=wire.CUT, ended=1690.0)

    assert (record.expected_end, record.links_needed, record.missing_links) == (2000, 1, 0)


def test_a_run_that_is_over_ends_no_more() -> None:
    record = look({**TOLD, "of": 40}, state=wire.DONE, ended=1690.0)

    assert (record.state, record.expected_end, record.links_needed) == (RunState.DONE, None, None)
    assert (record.progress_done, record.progress_of) == (12, 40)


def test_a_training_that_tells_nothing_has_no_end() -> None:
    record = judge(CHAIN, Seen(jobs=(make_job(JobState.RUNNING),), status={"state": wire.RUNNING, "link": 1}), 1700.0)

    assert (record.progress_done, record.expected_end, record.missing_links) == (None, None, 0)
