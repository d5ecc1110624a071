"""What the agent leaves in the run folder, as values."""

import json

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.ending.papers import read_events, read_gauges
from windlass.core.ending.symptoms import Event, NodeGauges


def lines(*values: object) -> str:
    return "\n".join(json.dumps(one) for one in values) + "\n"


def test_events() -> None:
    text = lines(
        {"t": 1.5, "kind": "link_started", "link": 1, "job": "45", "restart": 2},
        {"t": 2.0, "kind": "stop_requested", "signal": "TERM", "why": "notice"},
        {"t": 3.0, "kind": "command_ended", "exit_code": None, "signal": 9},
    )

    assert read_events(text) == (
        Event(kind="link_started", time=1.5, link=1, restart=2),
        Event(kind="stop_requested", time=2.0, text="notice"),
        Event(kind="command_ended", time=3.0, signal=9),
    )


def test_gauges_are_summed_up() -> None:
    def sample(t: float, first: float, second: float) -> object:
        gpus = [{"uuid": "a", "utilisation": first}, {"uuid": "b", "utilisation": second}]
        return {"t": t, "memory_anonymous_mb": 100 * t, "memory_limit_mb": 1000, "cpu_s": 2 * t, "gpus": gpus}

    assert read_gauges("n1", lines(sample(1, 10, 0), sample(3, 30, 0))) == NodeGauges(
        node="n1", seconds=2, memory_mb=300, limit_mb=1000, gpu_utilisation=10, idle_gpus=1, gpus=2, cpus_used=2
    )


def test_nothing_is_made_up() -> None:
    assert read_gauges("n1", "") is None
    assert read_gauges("n1", lines({"t": 1.0, "gpus": [{"uuid": "a", "utilisation": None}]})) == NodeGauges(node="n1")


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_events(text)
    read_gauges("n1", text)
    read_events(text + '{"kind": [], "t": 1}\n{"kind": "note", "t": "x", "restart": true}\n{"kin')
