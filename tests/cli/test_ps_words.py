"""What `windlass ps` says in its last column about how far a run is."""

from dataclasses import replace
from datetime import datetime

import pytest

from tests.builders import RECORD
from windlass.app.record_words import format_why
from windlass.core.record import RunRecord, RunState

END = datetime(2026, 11, 17, 14, 20).astimezone().timestamp()
RUNNING = replace(
    RECORD,
    state=RunState.RUNNING,
    link=1,
    links=3,
    progress_done=12,
    progress_of=90,
    progress_unit="epoch",
    links_needed=0,
    expected_end=END,
)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (RUNNING, "ends ~ Tue 14:20 (epoch 12 of 90)"),
        (replace(RUNNING, links_needed=2), "ends ~ Tue 14:20 or later (epoch 12 of 90)"),
        (replace(RUNNING, expected_end=None, links_needed=None), "epoch 12 of 90"),
        (replace(RUNNING, expected_end=None, links_needed=None, progress_of=None, progress_unit=None), "step 12"),
        (
            replace(RUNNING, expected_end=None, links_needed=4),
            "needs 2 more links: when these are used, windlass resume digits-k3f9w (epoch 12 of 90)",
        ),
        (
            replace(RUNNING, state=RunState.OUT_OF_TIME, link=3, expected_end=None, links_needed=1, reason="used up"),
            "used up; needs 1 more link: windlass resume digits-k3f9w (epoch 12 of 90)",
        ),
        (replace(RUNNING, interrupted="link 1: preempted"), "ends ~ Tue 14:20 (epoch 12 of 90); link 1: preempted"),
        (replace(RECORD, reason="Priority", interrupted="link 2: node failed"), "Priority; link 2: node failed"),
        (replace(RUNNING, state=RunState.DONE, expected_end=None, interrupted="link 1: preempted"), ""),
    ],
)
def test_how_far_it_is_and_when_it_ends(record: RunRecord, words: str) -> None:
    assert format_why(record) == words
