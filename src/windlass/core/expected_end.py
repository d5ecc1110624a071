"""When a training will be done, by the pace it told of: this link first, then those that wait behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from windlass.core.record import RunRecord, RunState

_LEAST_PACE_S = 1e-9  # a unit that took no time says nothing about the next


@dataclass(frozen=True, kw_only=True)
class Outlook:
    end: float | None = None  # seconds since 1970, as if each later link started at once
    links_needed: int | None = None  # after this one; None: not known


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How far a training is, and how fast it went since it started last."""

    done: float
    of: float
    unit_s: float  # one epoch or step
    at: float  # when `done` was reached
    warm_up_s: float  # from the start of the link to the first word

    @property
    def left_s(self) -> float:
        return max(0.0, self.of - self.done) * self.unit_s


def estimate_end(pace: Pace, *, link_ends: float, link_s: float, notice_s: float) -> Outlook:
    """link_ends: of the link that runs. How long later ones will wait nobody knows."""
    here_s = max(0.0, link_ends - notice_s - pace.at)
    if pace.left_s <= here_s:
        return Outlook(end=pace.at + pace.left_s, links_needed=0)
    useful_s = link_s - notice_s - pace.warm_up_s
    rest_s = pace.left_s - here_s
    if useful_s <= 0:
        return Outlook()
    needed = ceil(rest_s / useful_s)
    last_s = rest_s - (needed - 1) * useful_s
    return Outlook(end=link_ends + (needed - 1) * link_s + pace.warm_up_s + last_s, links_needed=needed)


def read_pace(progress: Mapping[str, Any], started: float | None) -> Pace | None:
    """From progress.json; None while it says too little: no end, or only one word so far."""
    names = ("done", "of", "t", "first_done", "first_t")
    done, of, at, first_done, first_at = (_number(progress.get(name)) for name in names)
    if done is None or of is None or at is None or first_done is None or first_at is None:
        return None
    if done <= first_done or at - first_at < _LEAST_PACE_S:
        return None
    warm_up_s = max(0.0, first_at - started) if started is not None else 0.0
    return Pace(done=done, of=of, unit_s=(at - first_at) / (done - first_done), at=at, warm_up_s=warm_up_s)


def with_progress(record: RunRecord, status: Mapping[str, Any], now: float) -> RunRecord:
    """How far the training is, and when it will be done. What it did not tell stays as it was."""
    progress = status.get("progress")
    if not isinstance(progress, Mapping):
        return record
    unit = progress.get("unit")
    record = replace(
        record,
        progress_done=_number(progress.get("done")),
        progress_of=_number(progress.get("of")),
        progress_unit=unit if isinstance(unit, str) else None,
        tasks_failed=failed if isinstance(failed := progress.get("tasks_failed"), int) else None,
        tasks_stopped=stopped if isinstance(stopped := progress.get("tasks_stopped"), int) else None,
        expected_end=None,
        links_needed=None,
    )
    started = _number(status.get("started"))
    pace = read_pace(progress, started)
    if pace is None or started is None or record.link_s is None:
        return record
    is_over = status.get("ended") is not None
    if is_over:  # the next link has yet to start
        started = max(now, pace.at)
        pace = replace(pace, at=started + pace.warm_up_s)
    times = {"link_ends": started + record.link_s, "link_s": record.link_s, "notice_s": record.notice_s or 0.0}
    outlook = estimate_end(pace, **times)
    needed = outlook.links_needed if outlook.links_needed is None else outlook.links_needed + is_over
    record = replace(record, links_needed=needed)
    return replace(record, expected_end=None if record.missing_links else outlook.end)


def without_outlook(record: RunRecord) -> RunRecord:
    """A run that is over ends no more; one that is out of time keeps how many links it lacks."""
    if not record.state.is_final:
        return record
    needed = record.links_needed if record.state is RunState.OUT_OF_TIME else None
    return replace(record, expected_end=None, links_needed=needed)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
