"""Today: what runs, what waits, what ended since one last looked, and what cries for attention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windlass.core.record import RunRecord, RunState
from windlass.core.watching.alarms import Alarm
from windlass.core.watching.looks import Look

_VISIT_S = 600.0  # who comes back within this time has not been away


@dataclass(frozen=True, kw_only=True)
class Visits:
    """When one looked last, and the time before that."""

    last: float = 0.0
    before: float = 0.0
    is_first: bool = False  # nobody looked before: `before` is a day ago


@dataclass(frozen=True, kw_only=True)
class SiteState:
    """How old what is shown of a site is."""

    name: str
    look: Look
    live: int = 0  # runs there


@dataclass(frozen=True, kw_only=True)
class Today:
    now: float
    since: float  # one last looked
    is_first: bool = False  # one never looked before: since a day ago
    running: tuple[RunRecord, ...] = ()
    waiting: tuple[RunRecord, ...] = ()
    ended: tuple[RunRecord, ...] = ()  # since then
    alarms: tuple[Alarm, ...] = ()
    sites: tuple[SiteState, ...] = ()

    @property
    def troubled(self) -> tuple[SiteState, ...]:
        return tuple(one for one in self.sites if one.look.problem is not None)


def visit(visits: Visits, now: float) -> Visits:
    """A page that is open all day is one visit: `before` moves only when one was away."""
    if now - visits.last > _VISIT_S:
        return Visits(last=now, before=visits.last)
    return replace(visits, last=now)


def make_today(
    runs: Sequence[RunRecord],
    *,
    alarms: Sequence[Alarm],
    looks: Mapping[str, Look],
    visits: Visits,
    now: float,
) -> Today:
    """runs: all that live, and those that ended last."""
    live = [one for one in runs if not one.state.is_final]
    ended = [one for one in runs if one.state.is_final and (one.ended or one.updated) > visits.before]
    running = [one for one in live if one.state is RunState.RUNNING]
    waiting = [one for one in live if one.state is not RunState.RUNNING]
    counts = {name: sum(1 for one in live if one.site == name) for name in looks}
    return Today(
        now=now,
        since=visits.before,
        is_first=visits.is_first,
        running=tuple(sorted(running, key=lambda one: one.started or one.created, reverse=True)),
        waiting=tuple(sorted(waiting, key=lambda one: (one.expected_start or float("inf"), one.created))),
        ended=tuple(sorted(ended, key=lambda one: one.ended or one.updated, reverse=True)),
        alarms=tuple(alarms),
        sites=tuple(SiteState(name=name, look=look, live=counts[name]) for name, look in sorted(looks.items())),
    )
