"""Whether somebody is at a notebook that runs: who closes a tab or a terminal often forgets its job."""

from windlass.core.record import RunRecord, RunState
from windlass.core.services.shaping import is_notebook

_LEFT_AFTER_S = 300.0  # a laptop that sleeps on the way to the next room is no news


def count_left_s(record: RunRecord, attended: float | None, now: float) -> float:
    """attended: when this laptop had a way to it open last."""
    return now - max(attended or 0.0, record.started or now)


def is_left(record: RunRecord, attended: float | None, now: float) -> bool:
    is_running = record.state is RunState.RUNNING and is_notebook(record.command)
    return is_running and count_left_s(record, attended, now) > _LEFT_AFTER_S
