"""Did the advice pay off? An earlier run that was advised, and a later one of the same name that has the change.

Both outcomes are told: what became better, and what did not.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windlass.core.efficiency.summary import Given, Kept, Summary
from windlass.core.record import RunState
from windlass.core.units import Unreadable, format_gb, format_seconds, read_duration, read_memory

_NEAR = 1.25  # a wish that was met by and large
_MATTERS_S = 60.0
_MATTERS_POINTS = 10.0


@dataclass(frozen=True, kw_only=True)
class Payoff:
    code: str
    run_id: str  # of the run that was advised
    message: str


@dataclass(frozen=True, kw_only=True)
class _Amount:
    """A setting that was asked for less of: how much it was, how that is said, what became of it."""

    name: str
    find: Callable[[Summary], float | None]
    read: Callable[[object], float]
    tell: Callable[[float], str]
    outcome: Callable[[Summary, Summary], str]


def find_payoffs(after: Summary, earlier: Sequence[Kept]) -> tuple[Payoff, ...]:
    """Against the last advised run before it, for each code; the newest of `earlier` first."""
    found: dict[str, Payoff] = {}
    for kept in sorted(earlier, key=lambda one: one.summary.created, reverse=True):
        if kept.summary.created >= after.created or kept.summary.run_id == after.run_id:
            continue
        for given in kept.given:
            message = None if given.code in found else _tell(given, kept.summary, after)
            if message:
                found[given.code] = Payoff(code=given.code, run_id=kept.summary.run_id, message=message)
    return tuple(found.values())


def _tell(given: Given, before: Summary, after: Summary) -> str | None:
    changes = [words for key, value in given.settings if (words := _tell_setting(key, value, before, after))]
    if changes:
        return "; ".join(changes)
    measure = _BY_CODE.get(given.code)
    return measure(before, after) if measure else None


def _tell_setting(key: str, value: str, before: Summary, after: Summary) -> str | None:
    amount = _AMOUNTS.get(key)
    if amount is None:
        return None
    old, new = amount.find(before), amount.find(after)
    try:
        wish = amount.read(tomllib.loads(f"x = {value}")["x"])
    except (ValueError, TypeError, Unreadable):
        return None
    if old is None or new is None or not _is_followed(old, new, wish):
        return None
    told = [words for words in (_tell_wait(before, after), amount.outcome(before, after)) if words]
    return f"{amount.name} {amount.tell(old)} -> {amount.tell(new)}: {', '.join(told) or 'nothing else is known yet'}"


def _is_followed(old: float, new: float, wish: float) -> bool:
    """It went from what it was most of the way to what was advised, or beyond."""
    return new <= wish * _NEAR and new < old if wish < old else new >= wish / _NEAR and new > old


def _tell_wait(before: Summary, after: Summary) -> str:
    if before.waited_s is None or after.waited_s is None or before.site != after.site:
        return ""
    less = before.waited_s - after.waited_s
    if abs(less) < _MATTERS_S:
        return "waited as long"
    return f"waited {format_seconds(abs(less))} {'less' if less > 0 else 'more'}"


def _tell_peak(before: Summary, after: Summary) -> str:
    if after.was_out_of_memory:
        return "and ran out of memory: take more"
    return f"still peaked at {format_gb(after.memory_mb)}" if after.memory_mb is not None else ""


def _tell_end(before: Summary, after: Summary) -> str:
    if after.state is RunState.OUT_OF_TIME:
        return "and was cut off: take more"
    return f"took {format_seconds(after.ran_s)}" if after.ran_s is not None and after.state is RunState.DONE else ""


def _tell_speed(before: Summary, after: Summary) -> str:
    """Only of runs that both got done: else the times say nothing."""
    if before.ran_s is None or after.ran_s is None or {before.state, after.state} != {RunState.DONE}:
        return ""
    return f"took {format_seconds(after.ran_s)}, before {format_seconds(before.ran_s)}"


def _tell_gpus(before: Summary, after: Summary) -> str:
    if before.gpu_use is None or after.gpu_use is None:
        return _tell_speed(before, after)
    return f"GPUs {before.gpu_use:.0f} % -> {after.gpu_use:.0f} % busy"


def _tell_use(before: Summary, after: Summary) -> str | None:
    """Of an advice about the code: nobody knows whether it was followed, but what came of it is seen."""
    if before.gpu_use is None or after.gpu_use is None or after.gpu_use - before.gpu_use < _MATTERS_POINTS:
        return None
    speed = _tell_speed(before, after)
    return f"GPUs {before.gpu_use:.0f} % -> {after.gpu_use:.0f} % busy{', ' + speed if speed else ''}"


def _tell_waiting_for_data(before: Summary, after: Summary) -> str | None:
    if before.wait_share is None or after.wait_share is None:
        return None
    if 100 * (before.wait_share - after.wait_share) < _MATTERS_POINTS:
        return None
    return f"waited for data {100 * before.wait_share:.0f} % -> {100 * after.wait_share:.0f} % of the time"


def _tell_count(number: float) -> str:
    return f"{number:.0f}"


_AMOUNTS = {
    "resources.memory": _Amount(
        name="memory",
        find=lambda run: run.asked.memory_mb,
        read=lambda value: float(read_memory(str(value))),
        tell=format_gb,
        outcome=_tell_peak,
    ),
    "resources.time": _Amount(
        name="time",
        find=lambda run: run.asked.time_s,
        read=lambda value: read_duration(str(value)).total_seconds(),
        tell=format_seconds,
        outcome=_tell_end,
    ),
    "resources.cpus": _Amount(
        name="CPUs",
        find=lambda run: run.asked.cpus,
        read=lambda value: float(str(value)),
        tell=_tell_count,
        outcome=_tell_gpus,
    ),
    "resources.gpus": _Amount(
        name="GPUs",
        find=lambda run: run.asked.gpus,
        read=lambda value: float(str(value)),
        tell=_tell_count,
        outcome=_tell_gpus,
    ),
    "resources.nodes": _Amount(
        name="nodes",
        find=lambda run: run.asked.nodes,
        read=lambda value: float(str(value)),
        tell=_tell_count,
        outcome=_tell_speed,
    ),
}
_BY_CODE: dict[str, Callable[[Summary, Summary], str | None]] = {
    "A202": _tell_use,
    "A203": _tell_use,
    "A204": _tell_use,
    "A301": _tell_waiting_for_data,
}
