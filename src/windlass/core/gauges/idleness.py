"""When a GPU stands idle: the one answer for alarms, notices, advice, diagnoses and the hours that were wasted.

A GPU is idle that does nothing at all (`IDLE_PERCENT`). GPUs of a run that together do next to nothing
(`LITTLE_PERCENT`) burn hours as well, and those that do little more (`STARVED_PERCENT`) are fed too slowly: worth an
answer when somebody asks, not worth a call.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.core.gauges.series import GpuGauges, NodeGauges, RunGauges, Series
from windlass.core.units import format_seconds

IDLE_PERCENT = 1.0  # of the time: drivers count a little where nothing is done
LITTLE_PERCENT = 5.0  # mean of all GPUs of a run
STARVED_PERCENT = 10.0
LONG_ENOUGH_S = 600.0  # a shorter look tells of a start or of a checkpoint, not of the training


@dataclass(frozen=True, kw_only=True)
class IdlePeriod:
    """From when GPUs of a run were found idle until they worked again, and went on working."""

    begin: float
    busy_since: float | None = None  # they work again since; None: they were idle when one looked last


@dataclass(frozen=True, kw_only=True)
class Idle:
    """GPUs of a run that are idle now."""

    words: str  # what they do not do
    since: float  # when that was first seen: the same until the period is over


def is_idle(gpu: GpuGauges) -> bool:
    """It was looked at, and never did anything."""
    return bool(gpu.use) and (gpu.use.most or 0.0) <= IDLE_PERCENT


def find_idle_share(gauges: RunGauges) -> float | None:
    """Of the hours of all GPUs whose use is known, those in which they did nothing; None where none is known."""
    shares = [mean for _, gpu in gauges.gpus if (mean := _mark_idle(gpu.use).mean) is not None]
    return sum(shares) / len(shares) if shares else None


def is_starved(node: NodeGauges) -> bool:
    used = node.gpu_utilisation
    return used is not None and used < STARVED_PERCENT and node.seconds >= LONG_ENOUGH_S


def tell_idle(nodes: Sequence[NodeGauges]) -> str | None:
    """What the GPUs of a run do not do, in words; None: they work, or nobody looked long enough."""
    nodes = [one for one in nodes if one.gpus and one.seconds >= LONG_ENOUGH_S]
    used = [one.gpu_utilisation for one in nodes if one.gpu_utilisation is not None]
    idle, total = sum(one.idle_gpus for one in nodes), sum(one.gpus for one in nodes)
    if used and sum(used) / len(used) < LITTLE_PERCENT:
        words = f"its {total} GPU{'s are' if total > 1 else ' is'} {sum(used) / len(used):.0f} % busy"
    elif idle:
        words = f"{idle} of its {total} GPUs did nothing"
    else:
        return None
    return f"{words} in the last {format_seconds(max(one.seconds for one in nodes))}"


def follow_period(kept: IdlePeriod | None, *, is_idle: bool, now: float) -> IdlePeriod | None:
    """The period as it stands after another look. A short burst of work between two idle hours does not end it."""
    if not is_idle:
        if kept is None or kept.busy_since is not None:
            return kept
        return IdlePeriod(begin=kept.begin, busy_since=now)
    if kept is None or (kept.busy_since is not None and now - kept.busy_since >= LONG_ENOUGH_S):
        return IdlePeriod(begin=now)
    return IdlePeriod(begin=kept.begin)


def _mark_idle(use: Series) -> Series:
    marks = tuple(None if value is None else float(value <= IDLE_PERCENT) for value in use.values)
    return Series(times=use.times, values=marks)
