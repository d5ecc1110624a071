"""A chain as bars: what the events of its links say about waiting, staging, running, saving and loss."""

import json
from dataclasses import replace

import pytest

from tests.builders import RECORD
from windlass.core.events import read_events
from windlass.core.record import RunState, Submission
from windlass.core.watching.chain import Phase, Save, count_lost_s, make_chain
from windlass_job import wire

RUN = replace(RECORD, created=0.0, state=RunState.RUNNING, links=3)


def events(*rows: tuple[float, str, int, dict[str, object]]) -> str:
    return "".join(
        json.dumps({"t": t, "kind": kind, "link": link, "job": f"45_{link}", **more}) + "\n"
        for t, kind, link, more in rows
    )


def lengths(text: str, *, now: float = 1000.0, record: object = RUN) -> list[dict[str, float]]:
    links = make_chain(record, read_events(text), now)  # type: ignore[arg-type]
    return [{part.phase.value: part.seconds for part in link.parts} for link in links]


CUT = events(
    (100, "link_started", 1, {}),
    (130, "command_started", 1, {}),
    (400, "saved", 1, {"step": 7, "seconds": 2.5, "at": 399.0}),
    (500, "stop_requested", 1, {"why": "notice"}),
    (520, "saved", 1, {"step": 9, "seconds": 3.0, "at": 520.0}),
    (520, "command_ended", 1, {"exit_code": 0}),
    (520, "link_ended", 1, {"outcome": "cut"}),
)


def test_a_link_waits_stages_runs_and_saves() -> None:
    assert lengths(CUT, record=replace(RUN, state=RunState.OUT_OF_TIME)) == [
        {"waiting": 100, "staging": 30, "running": 370, "saving": 20}
    ]


def test_checkpoints_are_marked_with_step_and_time() -> None:
    (link,) = make_chain(RUN, read_events(CUT), 1000.0)

    assert link.saves == (Save(time=399.0, step=7, seconds=2.5), Save(time=520.0, step=9, seconds=3.0))
    assert link.why == "its time was nearly up; it was asked to stop"


def test_what_was_trained_after_the_last_checkpoint_is_lost() -> None:
    text = events(
        (5, "link_started", 1, {}),
        (10, "command_started", 1, {}),
        (100, "saved", 1, {"step": 1, "at": 100.0}),
        (160, "note", 1, {"text": "x"}),
        (300, "link_started", 2, {}),
    )
    record = replace(RUN, interrupted="link 1: a node failed")

    links = make_chain(record, read_events(text), 400.0)

    assert links[0].count_s(Phase.LOST) == 60
    assert links[0].why == "a node failed"
    assert links[1].is_open
    assert links[1].count_s(Phase.WAITING) == 140
    assert count_lost_s(links) == 60


def test_a_link_that_runs_reaches_until_now() -> None:
    text = events((100, "link_started", 1, {}), (110, "command_started", 1, {}))

    assert lengths(text) == [{"waiting": 100, "staging": 10, "running": 890}]


def test_without_word_of_checkpoints_nothing_is_called_lost() -> None:
    text = events(
        (5, "link_started", 1, {}), (10, "command_started", 1, {}), (90, "link_ended", 1, {"outcome": "failed"})
    )

    assert lengths(text) == [{"waiting": 5, "staging": 5, "running": 80}]


@pytest.mark.parametrize(
    "outcome",
    [
        wire.CUT,
        wire.FAILED,
        wire.TERMINATED,
        wire.SKIPPED,
        wire.DUPLICATE,
        wire.SPENT,
        wire.MOVED,
        wire.FENCED,
    ],
)
def test_every_end_of_a_link_is_told_in_words(outcome: str) -> None:
    text = events((5, "link_started", 1, {}), (90, "link_ended", 1, {"outcome": outcome}))

    (link,) = make_chain(RUN, read_events(text), 1000.0)

    assert link.why != outcome
    assert " " in link.why


def test_damaged_lines_and_none_at_all_do_no_harm() -> None:
    assert lengths("") == []
    assert lengths('nonsense\n{"t": "x"}\n[1]\n' + "\0" * 50) == []
    assert len(lengths('{"t": 1e999, "kind": "link_started"}\n' + CUT)) == 1


def test_between_a_failure_and_a_resume_nothing_waits() -> None:
    text = events(
        (5, "link_started", 1, {}),
        (10, "command_started", 1, {}),
        (90, "link_ended", 1, {"outcome": "failed"}),
        (200, "link_started", 2, {"job": "46"}),
        (210, "command_started", 2, {}),
    )
    first, again = (
        Submission(number=n, token="t", job_id=job, sent=at) for n, job, at in ((1, "45", 5), (2, "46", 192))
    )

    told = lengths(text, now=300, record=replace(RUN, submissions=(first, again)))

    assert told[1] == {"waiting": 8, "staging": 10, "running": 90}


def test_links_that_ran_are_counted_without_what_lies_between() -> None:
    resumed = replace(RUN, started=0.0, ended=115.0, link=2, spent_s=13.4)

    assert resumed.ran_for == "13 s of running"
    assert replace(resumed, link=1).ran_for == "1 min 55 s"
