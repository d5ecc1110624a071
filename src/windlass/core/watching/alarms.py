"""What somebody should know now: a run that burns hours for nothing, a door that closes, a disk that fills up."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from windlass.core.facts import SeenQuota
from windlass.core.gauges.idleness import tell_idle
from windlass.core.gauges.series import NodeGauges
from windlass.core.logins import LoginEnd
from windlass.core.record import RunRecord, RunState
from windlass.core.services.shaping import is_notebook
from windlass.core.units import format_bytes, format_seconds
from windlass.core.watching.attendance import count_left_s, is_left
from windlass.core.watching.looks import NEVER, Look

_SILENT_AFTER_S = 1800.0
_FULL = 0.9
_LOGIN_CODES = ("E401", "E402")
_LOGIN_SOON_S = 1800.0


class Urgency(StrEnum):
    NOW = "now"  # hours are lost while nobody acts
    SOON = "soon"


@dataclass(frozen=True, kw_only=True)
class Alarm:
    kind: str  # its name in ALARMS
    message: str
    urgency: Urgency = Urgency.SOON
    run_id: str | None = None
    site: str | None = None
    hint: str | None = None  # a command to paste


@dataclass(frozen=True, kw_only=True)
class WatchedRun:
    """One run as far as alarms look at it."""

    record: RunRecord
    attended: float | None = None  # when this laptop had a way to it open last; None: never
    log_changed: float | None = None  # when its newest log grew last; None: not known
    gauges: tuple[NodeGauges, ...] = ()  # of the last part of it
    metrics: Mapping[str, float] = field(default_factory=dict)  # the last value of each


@dataclass(frozen=True, kw_only=True)
class WatchedSite:
    name: str
    look: Look = NEVER
    quotas: tuple[SeenQuota, ...] = ()
    quotas_seen: float | None = None  # when they were told
    login_end: LoginEnd | None = None  # when something has to be renewed by hand; None: not known


@dataclass(frozen=True, kw_only=True)
class Watched:
    now: float
    runs: tuple[WatchedRun, ...] = ()
    sites: tuple[WatchedSite, ...] = ()


def find_alarms(watched: Watched) -> tuple[Alarm, ...]:
    """Those that cost most first."""
    found = [alarm for rule in ALARMS.values() for alarm in rule(watched)]
    return tuple(sorted(dict.fromkeys(found), key=lambda alarm: alarm.urgency is not Urgency.NOW))


def idle_gpu(watched: Watched) -> Iterator[Alarm]:
    """GPUs of a run that do nothing, or next to nothing, for ten minutes."""
    for run in _list_running(watched):
        words = tell_idle(run.gauges)
        if words is not None:
            yield _about(run, "idle-gpu", words, urgency=Urgency.NOW, verb="logs")


def silent_log(watched: Watched) -> Iterator[Alarm]:
    """A run that has printed nothing for half an hour: it may hang."""
    for run in _list_running(watched):
        if run.record.farm is not None or is_notebook(run.record.command):
            continue  # a pilot says little, and what its tasks print lies elsewhere; a notebook has a rule of its own
        since = run.log_changed if run.log_changed is not None else run.record.started
        if since is not None and watched.now - since > _SILENT_AFTER_S:
            said = f"nothing in its log for {format_seconds(watched.now - since)}"
            yield _about(run, "silent-log", said, urgency=Urgency.NOW, verb="explain")


def left_notebook(watched: Watched) -> Iterator[Alarm]:
    """A notebook that runs while nobody has it open: its tab or terminal was closed, and its job forgotten."""
    for run in watched.runs:
        if is_left(run.record, run.attended, watched.now):
            left = format_seconds(count_left_s(run.record, run.attended, watched.now))
            words = f"nobody on this machine has had this notebook open for {left}, and its job goes on"
            yield _about(run, "left-notebook", words, verb="jupyter")


def nan_loss(watched: Watched) -> Iterator[Alarm]:
    """A loss that is no number any more: the rest of the training is in vain."""
    for run in _list_running(watched):
        broken = [name for name, value in run.metrics.items() if "loss" in name.lower() and not math.isfinite(value)]
        if broken:
            words = f"{broken[0]} is {run.metrics[broken[0]]}: the training has broken down"
            yield _about(run, "nan-loss", words, urgency=Urgency.NOW, verb="cancel")


def broken_chain(watched: Watched) -> Iterator[Alarm]:
    """A run that will not be finished by the links it has, or whose links are used up."""
    for run in watched.runs:
        record = run.record
        missing = f"{record.missing_links} more link{'s' if record.missing_links > 1 else ''}"
        if record.state is RunState.OUT_OF_TIME:
            need = f"; it needs {missing}" if record.missing_links else ""
            yield _about(run, "broken-chain", f"its time is used up and it is not finished{need}", verb="resume")
        elif not record.state.is_final and record.missing_links:
            yield _about(run, "broken-chain", f"it needs {missing} than were planned", verb="resume")


def budget(watched: Watched) -> Iterator[Alarm]:
    """A run that was stopped because a limit that the user set is used up."""
    for run in watched.runs:
        if run.record.state is RunState.OUT_OF_BUDGET:
            yield _about(run, "budget", run.record.reason or "its budget is used up")


def quota(watched: Watched) -> Iterator[Alarm]:
    """A storage area that is nine tenths full, in bytes or in files."""
    for site in watched.sites:
        for area in site.quotas:
            words = _find_full(area)
            if words and not area.is_shared:
                age = f" ({format_seconds(watched.now - site.quotas_seen)} ago)" if site.quotas_seen is not None else ""
                message = f"{area.area} at {site.name} is nearly full: {words}{age}"
                hint = f"windlass quota --on {site.name}"
                yield Alarm(kind="quota", message=message, site=site.name, hint=hint)


def login(watched: Watched) -> Iterator[Alarm]:
    """A site that can only be asked after a login by hand, now or soon."""
    for site in watched.sites:
        hint = f"windlass login {site.name}"
        if site.look.code in _LOGIN_CODES:
            message = f"{site.name} wants a login; its runs go on, but what is shown is old"
            yield Alarm(kind="login", message=message, site=site.name, hint=hint)
        elif site.login_end is not None and 0 < (left_s := site.login_end.until - watched.now) < _LOGIN_SOON_S:
            message = (
                f"your {site.login_end.what} for {site.name} ends in {format_seconds(left_s)}; renew it, then log in"
            )
            yield Alarm(kind="login", message=message, site=site.name, hint=hint)


ALARMS: Mapping[str, Callable[[Watched], Iterator[Alarm]]] = {
    "idle-gpu": idle_gpu,
    "silent-log": silent_log,
    "left-notebook": left_notebook,
    "nan-loss": nan_loss,
    "broken-chain": broken_chain,
    "budget": budget,
    "quota": quota,
    "login": login,
}


def _list_running(watched: Watched) -> list[WatchedRun]:
    return [run for run in watched.runs if run.record.state is RunState.RUNNING]


def _about(run: WatchedRun, kind: str, words: str, *, urgency: Urgency = Urgency.SOON, verb: str = "explain") -> Alarm:
    run_id = run.record.farm or run.record.run_id  # a farm is shown as one run
    of_farm = {"resume": "farm resume", "logs": "farm status"} if run.record.farm else {}
    hint = f"windlass {of_farm.get(verb, verb)} {run_id}"
    return Alarm(kind=kind, message=words, urgency=urgency, run_id=run_id, site=run.record.site, hint=hint)


def _find_full(area: SeenQuota) -> str | None:
    if area.used_bytes is not None and area.limit_bytes and area.used_bytes >= _FULL * area.limit_bytes:
        return f"{format_bytes(area.used_bytes)} of {format_bytes(area.limit_bytes)}"
    if area.used_files is not None and area.limit_files and area.used_files >= _FULL * area.limit_files:
        return f"{area.used_files:,} of {area.limit_files:,} files"
    return None
