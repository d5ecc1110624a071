"""The judge of a battle: a loss is measured from the furthest step, and excused only by a blow that explains it."""

from typing import Any

from tests.fire.battle import Loss, find_losses


def trace(*events: tuple[str, int, float]) -> list[dict[str, Any]]:
    return [{"event": event, "step": step, "t": t} for event, step, t in events]


def test_a_start_that_came_no_further_does_not_shorten_the_time_that_a_blow_may_explain() -> None:
    told = trace(
        ("start", 0, 1), ("step", 30, 2), ("start", 10, 5), ("start", 10, 9), ("step", 31, 10), ("start", 31, 12)
    )

    assert find_losses(told) == [
        Loss(steps=0, since=0.0, t=1),
        Loss(steps=20, since=1, t=5),
        Loss(steps=20, since=1, t=9),
        Loss(steps=0, since=9, t=12),
    ]


def test_going_back_a_little_at_every_start_adds_up() -> None:
    told = trace(("start", 0, 1), ("step", 100, 2), ("start", 90, 3), ("step", 91, 4), ("start", 80, 5))

    assert [loss.steps for loss in find_losses(told)] == [0, 10, 20]
