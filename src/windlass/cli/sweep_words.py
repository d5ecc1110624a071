"""A sweep in words: its table, its best, what mattered, what failed."""

import math

from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.values import show_value
from windlass.core.sweep.wish import Goal

MOST_ROWS = 20
_MOST_NUMBERS = 12  # of trials in a line


def format_progress(seen: SweepSeen) -> str:
    """One line while it goes on."""
    counts = [(seen.count(state), state.value) for state in TrialState]
    words = ", ".join(f"{count} {word}" for count, word in counts if count)
    of = f" of {seen.sweep.trials}" if seen.sweep.trials and seen.sweep.trials > len(seen.trials) else ""
    best = f"; best {format_best(seen)}" if seen.best is not None else ""
    return f"{len(seen.trials)}{of} trials: {words}{best}"


def format_best(seen: SweepSeen) -> str:
    best = seen.best
    if best is None or best.metric is None:
        return "none yet"
    return f"{seen.sweep.metric} {best.metric:.6g} (trial {best.number})"


def make_head(seen: SweepSeen) -> list[str]:
    return ["TRIAL", "STATE", seen.sweep.metric.upper(), *(name.upper() for name in seen.names), "SECONDS"]


def make_rows(trials: tuple[Trial, ...], names: tuple[str, ...]) -> list[list[str]]:
    return [
        [
            str(one.number),
            one.state.value,
            format_metric(one.metric),
            *(show_value(one.values[name]) for name in names),
            "" if one.seconds is None else f"{one.seconds:.1f}",
        ]
        for one in trials
    ]


def format_metric(metric: float | None) -> str:
    if metric is None:
        return ""
    return f"{metric:.6g}" if math.isfinite(metric) else str(metric)


def format_unwatched(sweep_id: str) -> str:
    """Of a sweep with a pruner that nobody follows from now on."""
    return f"{'note':<10} hopeless trials are stopped only while a windlass follows: windlass sweep resume {sweep_id}"


def format_end(seen: SweepSeen) -> list[str]:
    """What stands below the table."""
    lines = []
    if seen.best is not None:
        word = "least" if seen.sweep.goal is Goal.MIN else "most"
        lines.append(
            f"best       trial {seen.best.number}: {word} {seen.sweep.metric}, {format_metric(seen.best.metric)}"
        )
        lines.append(f"command    {seen.make_command(seen.best)}")
    if seen.importance:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in seen.importance)
        lines.append(f"matters    {shares} ({seen.importance_by})")
    lines += format_failures(seen)
    if seen.advice:
        lines.append(f"note       {seen.advice}")
    return lines


def format_failures(seen: SweepSeen) -> list[str]:
    lines = []
    for one in seen.failures:
        numbers = ", ".join(map(str, one.trials[:_MOST_NUMBERS])) + (" …" if len(one.trials) > _MOST_NUMBERS else "")
        word = "trial" if len(one.trials) == 1 else "trials"
        lines.append(f"failed     {len(one.trials)} {word}: {one.line}  ({numbers})")
    if seen.failures:
        lines.append(f"output     windlass logs {seen.sweep_id} --task {seen.failures[0].trials[0]}")
    return lines


def make_document(seen: SweepSeen) -> dict[str, object]:
    """For --json."""
    return {
        "id": seen.sweep_id,
        "site": seen.site,
        "wanted": seen.sweep,
        "asked": seen.asked,
        "best": None if seen.best is None else {"trial": seen.best, "command": seen.make_command(seen.best)},
        "importance": dict(seen.importance),
        "importance_by": seen.importance_by or None,
        "failures": seen.failures,
        "trials": seen.ranked,
    }
