"""Pictures of a sweep: parallel coordinates of all trials, and how its best came down."""

import math
from collections.abc import Container
from dataclasses import replace

from windlass.core.drawing.lines import Axis, Curve, draw_lines
from windlass.core.drawing.parallel import Strand, Upright, draw_parallel, draw_parallel_part, make_upright, place
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.space import Kind
from windlass.core.sweep.trials import Trial, TrialState, find_history
from windlass.core.sweep.values import show_value
from windlass.core.sweep.wish import list_dimensions

MOST_STRANDS = 1000  # the best of more are drawn


def draw_trials(seen: SweepSeen, *, theme: str = "light") -> str:
    axes, strands = _make_strands(seen)
    return draw_parallel(_tell_title(seen), summarize_trials(seen), axes, strands, theme=theme)


def draw_trials_part(seen: SweepSeen, listed: Container[int]) -> str:
    """For a page whose table lists these trials: their lines lead to `#trial-N`, and are found as `#strand-N`."""
    axes, strands = _make_strands(seen, listed)
    return draw_parallel_part(_tell_title(seen), axes, strands)


def _tell_title(seen: SweepSeen) -> str:
    return f"Trials of {seen.sweep_id}"


def _make_strands(seen: SweepSeen, listed: Container[int] = ()) -> tuple[list[Upright], list[Strand]]:
    """An axis for each name and one for the metric, which is at the right. Stopped trials are the faintest."""
    shown = [one for one in seen.ranked if one.is_ranked or one.state is TrialState.STOPPED][:MOST_STRANDS]
    logs = {one.name for one in list_dimensions(seen.sweep) if one.is_log and one.kind is not Kind.CHOICES}
    lists = {one.name for one in list_dimensions(seen.sweep) if one.kind is Kind.CHOICES}
    axes = [
        make_upright(name, [one.values[name] for one in shown], is_log=name in logs, is_list=name in lists)
        for name in seen.names
    ]
    metrics = [one.metric for one in shown if one.metric is not None and math.isfinite(one.metric)]
    spread = min(metrics, default=0.0) > 0 and max(metrics, default=0.0) > 100 * min(metrics, default=1.0)
    axes.append(make_upright(seen.sweep.metric, metrics or [0.0], is_log=spread))
    strands = [_make_strand(one, number, axes, seen, len(shown)) for number, one in enumerate(shown)]
    ways = (f"-{trial.number}" if trial.number in listed else None for trial in shown)
    linked = [
        strand if way is None else replace(strand, mark=f"strand{way}", href=f"#trial{way}")
        for strand, way in zip(strands, ways, strict=True)
    ]
    return axes, linked


def draw_history(seen: SweepSeen, *, theme: str = "light") -> str:
    history = find_history(seen.trials, seen.sweep.goal)
    numbers = [float(number) for number, _, _ in history]
    curves = [
        Curve(name=seen.sweep.metric, xs=numbers, ys=[value for _, value, _ in history]),
        Curve(name="best so far", xs=numbers, ys=[best for _, _, best in history]),
    ]
    title = f"{seen.sweep.metric} of {seen.sweep_id}"
    return draw_lines(title, summarize_history(seen), curves, Axis(title="trial"), theme=theme)


def summarize_trials(seen: SweepSeen) -> str:
    shown, stopped = sum(one.is_ranked for one in seen.trials), seen.count(TrialState.STOPPED)
    best = seen.best
    if best is None or best.metric is None:
        return "No trial has come to its end with a number yet."
    values = ", ".join(f"{name} {show_value(value)}" for name, value in best.values.items())
    counted = f"{shown} trial{'' if shown == 1 else 's'}" + (f" and {stopped} that were stopped" if stopped else "")
    return f"{counted}; the best is trial {best.number} with {seen.sweep.metric} {best.metric:.6g}: {values}."


def summarize_history(seen: SweepSeen) -> str:
    history = find_history(seen.trials, seen.sweep.goal)
    if not history:
        return "No trial has come to its end with a number yet."
    when = next(number for number, _, best in history if best == history[-1][2])
    return f"{seen.sweep.metric} went from {history[0][1]:.6g} to {history[-1][2]:.6g}, reached by trial {when}."


def _make_strand(trial: Trial, number: int, axes: list[Upright], seen: SweepSeen, count: int) -> Strand:
    """A trial that was stopped before it told a number ends before the last axis."""
    values = [*(trial.values[name] for name in seen.names), *([] if trial.metric is None else [trial.metric])]
    pairs = list(zip(axes, values, strict=False))
    words = ", ".join(f"{axis.name} {show_value(value)}" for axis, value in pairs)
    places = tuple(place(axis, value) for axis, value in pairs)
    warmth = 1.0 - number / max(1, count - 1) if trial.is_ranked else 0.0
    name = f"trial {trial.number}{'' if trial.is_ranked else ', stopped'}: {words}"
    return Strand(name=name, places=places, warmth=warmth, is_best=trial.is_ranked and number == 0)
