"""A chart in one sentence, for whoever cannot or does not want to see it."""

import math
from collections.abc import Sequence

from windlass.core.drawing.thinning import is_drawable
from windlass.core.gauges.series import Series
from windlass.core.watching.gauge_charts import GaugeKind
from windlass.core.watching.metrics import Metric, shorten_name


def summarize_metric(metric: Metric) -> str:
    """From where to where it went, its extremes, and what is no number."""
    known = [place for place, value in enumerate(metric.values) if math.isfinite(value)]
    if not known:
        return f"{metric.shown}: none of {len(metric.values)} values is a number."
    values, steps = metric.values, metric.steps
    first, last = known[0], known[-1]
    least = min(known, key=lambda place: values[place])
    most = max(known, key=lambda place: values[place])
    if len(known) == 1:
        told = f"{metric.shown} was {_tell(values[first])} at step {_tell_step(steps[first])}"
    else:
        moved = _name_move(values[first], values[last])
        told = (
            f"{metric.shown} {moved} from {_tell(values[first])} at step {_tell_step(steps[first])} "
            f"to {_tell(values[last])} at step {_tell_step(steps[last])}; "
            f"least {_tell(values[least])} at step {_tell_step(steps[least])}, "
            f"most {_tell(values[most])} at step {_tell_step(steps[most])}"
        )
    broken = len(values) - len(known)
    rest = f"; {broken} of {len(values)} values are no number" if broken else f"; {_count(len(known), 'point')}"
    huge = sum(1 for place in known if not is_drawable(values[place]))
    rest += f"; {huge} of {len(values)} values are too large to draw" if huge else ""
    return f"{told}{rest}."


def summarize_gauges(kind: GaugeKind, series: Sequence[tuple[str, Series]]) -> str:
    """The mean of all, and who is least and most, by its own mean."""
    write = kind.write
    means = [(mean, name) for name, one in series if (mean := one.mean) is not None]
    if not means:
        return f"{kind.title}: nothing was measured."
    average = sum(mean for mean, _ in means) / len(means)
    if len(means) == 1:
        most = max(one.most or 0.0 for _, one in series)
        return f"{means[0][1]}: {write(average)} on average, at most {write(most)}."
    least, most_mean = min(means), max(means)
    return (
        f"{len(means)} {kind.of}: {write(average)} on average; "
        f"least {least[1]} with {write(least[0])}, most {most_mean[1]} with {write(most_mean[0])}."
    )


def summarize_overlay(metric: str, bests: Sequence[tuple[str, float | None]], word: str) -> str:
    """Of several runs: who has the best. word: least or most."""
    known = [(value, name) for name, value in bests if value is not None]
    metric = shorten_name(metric)
    if not known:
        return f"None of {len(bests)} runs told {metric}."
    value, name = (min if word == "least" else max)(known)
    return f"{metric} of {_count(len(known), 'run')}: the {word} is {_tell(value)}, of {name}."


def _name_move(first: float, last: float) -> str:
    if math.isclose(first, last, rel_tol=1e-9):
        return "went"
    return "fell" if last < first else "rose"


def _tell(value: float) -> str:
    return f"{value:.5g}"  # as in the table below


def _tell_step(step: float) -> str:
    return f"{step:,.10g}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
