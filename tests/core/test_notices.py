"""What is worth a notice: each thing once, nothing that is old, and nothing that the user did himself."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import RECORD
from windlass.core.gauges.idleness import Idle
from windlass.core.notices import EventKind, Notices, list_events, make_variables
from windlass.core.record import RunRecord, RunState, Submission
from windlass.core.toml.user_file import read_notices

NOW = 1_000_000.0
ALL = Notices()
WAITING = replace(RECORD, links=3)
RUNNING = replace(
    WAITING, state=RunState.RUNNING, link=1, nodes="node1", started=NOW - 60, link_started=NOW - 60, saved=0.0
)
DONE = replace(RUNNING, state=RunState.DONE, link=3, ended=NOW - 5)


def kinds(old: RunRecord | None, new: RunRecord, settings: Notices = ALL, **more: Idle) -> list[EventKind]:
    return [event.kind for event in list_events(old, new, settings, NOW, **more)]


def test_a_run_that_starts_and_ends_is_told() -> None:
    (started,) = list_events(WAITING, RUNNING, ALL, NOW)
    (ended,) = list_events(RUNNING, DONE, ALL, NOW)

    assert (started.kind, started.text) == (EventKind.STARTED, "digits-k3f9w at alpha: started on node1")
    assert (ended.kind, ended.hint) == (EventKind.ENDED, "windlass fetch digits-k3f9w")
    assert ended.text == "digits-k3f9w at alpha: is done after 55 s"


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        (replace(RUNNING, state=RunState.FAILED, links=1, reason="exit code 4"), EventKind.FAILED),
        (replace(RUNNING, state=RunState.FAILED, link=1), EventKind.CHAIN_BROKEN),
        (replace(RUNNING, state=RunState.OUT_OF_TIME, link=3, links_needed=2), EventKind.CHAIN_BROKEN),
        (replace(RUNNING, state=RunState.OUT_OF_TIME, link=3), EventKind.FAILED),
        (replace(RUNNING, state=RunState.OUT_OF_BUDGET), EventKind.BUDGET),
        (replace(RUNNING, state=RunState.LOST, links=1), EventKind.FAILED),
        (replace(RUNNING, state=RunState.CANCELLED, links=1, reason="cancelled by an operator"), EventKind.FAILED),
    ],
)
def test_each_bad_end_has_its_kind(new: RunRecord, kind: EventKind) -> None:
    assert kinds(RUNNING, replace(new, updated=NOW)) == [kind]


def test_what_the_user_cancelled_is_no_news() -> None:
    assert kinds(RUNNING, replace(RUNNING, state=RunState.CANCELLED, reason="cancelled", updated=NOW)) == []


def test_an_end_of_long_ago_is_no_news() -> None:
    assert kinds(None, replace(DONE, ended=NOW - 8 * 86_400)) == []
    assert kinds(None, DONE) == [EventKind.ENDED]


def test_links_of_one_chain_start_once_and_a_resume_is_another() -> None:
    second = replace(RUNNING, link=2)
    resumed = replace(second, submissions=(*RUNNING.submissions, Submission(number=2, token="t", job_id="46")))

    keys = [
        event.key
        for old, new in ((WAITING, RUNNING), (WAITING, second), (WAITING, resumed))
        for event in list_events(old, new, ALL, NOW)
    ]

    assert keys == ["started:1", "started:1", "started:2"]


def test_a_run_that_saves_nothing_for_long_is_told_once_for_each_save() -> None:
    quiet = replace(RUNNING, link_started=NOW - 9000, saved=NOW - 8000)

    (told,) = list_events(RUNNING, quiet, ALL, NOW)
    (again,) = list_events(quiet, replace(quiet, updated=NOW), ALL, NOW + 600)

    assert told.kind is EventKind.SAVES_NOTHING
    assert "has saved nothing for 2 h 13 min" in told.text
    assert again.key == told.key
    assert list_events(quiet, replace(quiet, saved=NOW - 10), ALL, NOW) == ()
    assert list_events(quiet, replace(quiet, link_started=NOW - 60), ALL, NOW) == ()  # it has waited since
    assert list_events(quiet, replace(quiet, saved=None), ALL, NOW) == ()  # nobody knows


def test_a_link_that_was_lost_is_told_while_the_chain_goes_on() -> None:
    lost = replace(WAITING, interrupted="link 1: preempted")

    assert kinds(RUNNING, lost) == [EventKind.INTERRUPTED]
    assert kinds(lost, lost) == []


def test_idle_gpus_are_told_when_somebody_measured_them() -> None:
    idle = Idle(words="its 4 GPUs are 2 % busy", since=NOW)

    assert kinds(RUNNING, RUNNING, idle=idle) == [EventKind.IDLE_GPU]
    assert kinds(RUNNING, RUNNING) == []
    assert kinds(RUNNING, replace(RUNNING, state=RunState.WAITING), idle=idle) == []


def test_each_idle_period_is_an_event_of_its_own() -> None:
    def key(words: str, since: float) -> str:
        (event,) = list_events(RUNNING, RUNNING, ALL, NOW, idle=Idle(words=words, since=since))
        return event.key

    assert key("its GPU is 2 % busy in the last 10 min", NOW) == key("its GPU is 1 % busy in the last 15 min", NOW)
    assert key("its GPU is 2 % busy", NOW) != key("its GPU is 2 % busy", NOW + 3600)


def test_a_limit_that_is_used_up_is_told_once_whether_it_still_saves_or_not() -> None:
    stopping = replace(RUNNING, over_budget="budget.month of 9 GPU-h is used up")
    over = replace(stopping, state=RunState.OUT_OF_BUDGET, ended=NOW)

    (first,) = list_events(RUNNING, stopping, ALL, NOW)
    (second,) = list_events(stopping, over, ALL, NOW)

    assert first.key == second.key


def test_only_what_was_asked_for_is_told() -> None:
    assert kinds(WAITING, RUNNING, Notices(events=(EventKind.ENDED,))) == []


records = st.builds(
    lambda state, link, saved, interrupted, ended: replace(
        RUNNING, state=state, link=link, saved=saved, interrupted=interrupted, ended=ended
    ),
    st.sampled_from(list(RunState)),
    st.none() | st.integers(min_value=1, max_value=5),
    st.none() | st.floats(min_value=0, max_value=NOW),
    st.none() | st.sampled_from(["link 1: preempted", "link 2: node failed"]),
    st.none() | st.floats(min_value=0, max_value=NOW),
)


def tell_all(history: list[RunRecord]) -> set[str]:
    pairs = itertools.pairwise(history)
    return {event.key for now, (old, new) in enumerate(pairs) for event in list_events(old, new, ALL, NOW + now)}


@given(st.lists(records, min_size=2, max_size=8))
def test_who_looks_twice_as_often_tells_nothing_more(history: list[RunRecord]) -> None:
    often = [one for one in history for _ in range(2)]

    assert tell_all(often) == tell_all(history) | tell_all([history[0], history[0]])


def test_values_of_variables_are_whole_texts() -> None:
    (event,) = list_events(WAITING, replace(RUNNING, nodes="$(touch oops); `x`"), ALL, NOW)

    assert make_variables(event)["WINDLASS_EVENT"] == "started"
    assert "$(touch oops); `x`" in make_variables(event)["WINDLASS_EVENT_TEXT"]


def test_the_users_file_is_read_and_mistakes_are_told() -> None:
    good, problems = read_notices(
        {
            "notices": {
                "command": "say 'a run' ended",
                "events": ["failed"],
                "saves_nothing_for": "30m",
                "desktop": False,
            }
        }
    )
    bad, told = read_notices({"notices": {"command": "say 'x", "events": ["feiled"], "desktp": True}})

    assert problems == ()
    assert good == Notices(
        command="say 'a run' ended",
        events=(EventKind.FAILED,),
        saves_nothing_for=timedelta(minutes=30),
        desktop=False,
    )
    assert bad is None
    assert {problem.key for problem in told} == {"notices.command", "notices.events[1]", "notices.desktp"}
    assert read_notices({}) == (None, ())
