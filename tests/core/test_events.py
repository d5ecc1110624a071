"""What the agent leaves in the run folder, as values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.events import Event, read_events
from windlass.core.gauges.nodes import read_gauges
from windlass.core.gauges.series import NodeGauges


def lines(*values: object) -> str:
    return "\n".join(json.dumps(one) for one in values) + "\n"


def test_events() -> None:
    text = lines(
        {"t": 1.5, "kind": "link_started", "link": 1, "job": "45", "restart": 2},
        {"t": 2.0, "kind": "stop_requested", "signal": "TERM", "why": "notice"},
        {"t": 3.0, "kind": "command_ended", "exit_code": None, "signal": 9},
    )

    assert read_events(text) == (
        Event(kind="link_started", time=1.5, link=1, restart=2, job="45"),
        Event(kind="stop_requested", time=2.0, text="notice"),
        Event(kind="command_ended", time=3.0, signal=9),
    )


def test_gauges_are_summed_up() -> None:
    columns = ["t", "memory_mb", "cpu_cores", "gpu0.use", "gpu1.use"]
    gpus = [{"uuid": "a"}, {"uuid": "b"}]
    head = {"gauges": 2, "columns": columns, "gpus": gpus, "memory_limit_mb": 1000}

    assert read_gauges("n1", lines(head, [1, 100, None, 10, 0], [3, 300, 2, 30, 0])) == NodeGauges(
        node="n1", seconds=2, memory_mb=300, limit_mb=1000, gpu_utilisation=15, idle_gpus=1, gpus=2, cpus_used=2
    )


def test_nothing_is_made_up() -> None:
    assert read_gauges("n1", "") is None
    head = {"gauges": 2, "columns": ["t", "gpu0.use"], "gpus": [{"uuid": "a"}]}
    assert read_gauges("n1", lines(head, [1, None])) == NodeGauges(node="n1")


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_events(text)
    read_gauges("n1", text)
    read_events(text + '{"kind": [], "t": 1}\n{"kind": "note", "t": "x", "restart": true}\n{"kin')


@pytest.mark.parametrize("t", [0, -1, -1e18, 1e18, 4_102_444_800, 1e999, None, "12", True])
def test_a_time_that_no_calendar_has_is_dropped_and_the_event_is_not(t: object) -> None:
    (event,) = read_events(lines({"t": t, "kind": "saved", "at": t, "link": 1, "exit_code": 3}))

    assert event == Event(kind="saved", time=0.0, link=1, exit_code=3)
    assert (event.number("t"), event.number("at")) == (None, None)


@pytest.mark.parametrize("t", [0.5, 1_800_000_000, 4_102_444_799.5])
def test_a_time_that_can_be_true_is_kept(t: float) -> None:
    (event,) = read_events(lines({"t": t, "kind": "saved", "at": t, "seconds": 0}))

    assert (event.time, event.number("at"), event.number("seconds")) == (t, t, 0)


@pytest.mark.parametrize(("link", "kept"), [(-3, None), (0, None), (True, None), (1, 1), (500, 500)])
def test_links_are_counted_from_one(link: int, kept: int | None) -> None:
    (event,) = read_events(lines({"t": 1, "kind": "link_started", "link": link}))

    assert event.link == kept


@pytest.mark.parametrize("seconds", [-1, 1e18, "3"])
def test_a_time_that_nothing_takes_is_dropped(seconds: object) -> None:
    (event,) = read_events(lines({"t": 1, "kind": "saved", "seconds": seconds}))

    assert event.number("seconds") is None


@pytest.mark.parametrize("t", [-1e18, 0, 1e18])
def test_rows_of_gauges_without_a_true_time_are_passed_over(t: float) -> None:
    head = {"gauges": 2, "columns": ["t", "memory_mb"]}

    seen = read_gauges("n1", lines(head, [t, 900], [1, 100], [3, 300]))

    assert seen == NodeGauges(node="n1", seconds=2, memory_mb=300)
