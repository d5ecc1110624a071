"""Several runs beside each other: one metric over one axis, what they were set to, and what their best result cost."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise

from windlass.core.plan import Plan
from windlass.core.snapshot import Manifest
from windlass.core.units import format_human_duration
from windlass.core.watching.chain import Link, Phase
from windlass.core.watching.metrics import Metric

SAMPLE_NAMES = ("samples", "samples_seen", "examples", "examples_seen", "images_seen")
_SMALLER_IS_BETTER = ("loss", "error", "err", "perplexity", "ppl", "mse", "mae", "rmse", "wer", "cer", "fid")
# Of this one submission, or told elsewhere.
_NOT_SETTINGS = ("run_id", "folder", "number", "reasons", "runner_up", "argv", "cost", "first_link", "links_before")


class Axis(StrEnum):
    STEP = "step"
    TIME = "time"  # hours since the first value
    SAMPLES = "samples"


AXIS_TITLES = {Axis.STEP: "step", Axis.TIME: "hours since the first value", Axis.SAMPLES: "samples"}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One that differs; a value for each run, empty where it is not set."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Result:
    """The best value of a run, and what it cost up to there and in all."""

    best: float | None = None
    step: float | None = None
    gpu_hours: float | None = None  # None: it has no GPUs, or no link has begun
    gpu_hours_to_best: float | None = None
    core_hours: float | None = None
    core_hours_to_best: float | None = None


def place_points(metric: Metric, metrics: Mapping[str, Metric], axis: Axis) -> list[float] | None:
    """Where each value lies on the axis; None where the run does not tell: samples need a metric of that name."""
    if axis is Axis.STEP:
        return metric.steps
    if axis is Axis.TIME:
        return [(time - metric.times[0]) / 3600 for time in metric.times]
    counter = next((metrics[name] for name in SAMPLE_NAMES if name in metrics), None)
    return None if counter is None else _count_samples(metric.steps, counter)


def list_shared(runs: Sequence[Mapping[str, Metric]]) -> list[str]:
    """Metrics of at least one run: those of most runs first, losses before others."""
    counts: dict[str, int] = {}
    for metrics in runs:
        for name in metrics:
            counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], "loss" not in name.lower(), name))


def is_better_small(name: str) -> bool:
    words = name.lower().replace("-", "_").replace("/", "_").replace(".", "_").split("_")
    return any(word in _SMALLER_IS_BETTER or word.endswith("loss") for word in words)


def find_differences(plans: Sequence[Plan | None]) -> tuple[Setting, ...]:
    """Only what is not the same in all of them. A run without a plan here says nothing."""
    settings = [dict(_list_settings(plan)) if plan is not None else {} for plan in plans]
    names = sorted({name for one in settings for name in one})
    found = (Setting(name=name, values=tuple(one.get(name, "") for one in settings)) for name in names)
    known = [place for place, plan in enumerate(plans) if plan is not None]
    return tuple(one for one in found if len({one.values[place] for place in known}) > 1)


def find_changed_files(codes: Sequence[Manifest | None]) -> tuple[str, ...]:
    """Of the code that was sent: paths that are not the same in all runs whose list of files is here."""
    known = [{one.path: (one.sha256, one.link) for one in code.files} for code in codes if code is not None]
    paths = sorted({path for one in known for path in one})
    return tuple(path for path in paths if len({one.get(path) for one in known}) > 1)


def measure_result(metric: Metric | None, links: Sequence[Link], *, gpus: int, cores: int = 0, smaller: bool) -> Result:
    """cores: of all nodes; 0: not known."""
    spent = Result(gpu_hours=count_hours(links, gpus), core_hours=count_hours(links, cores))
    known = [place for place, value in enumerate(metric.values) if math.isfinite(value)] if metric else []
    if metric is None or not known:
        return spent
    best = (min if smaller else max)(known, key=lambda place: metric.values[place])
    return replace(
        spent,
        best=metric.values[best],
        step=metric.steps[best],
        gpu_hours_to_best=count_hours(links, gpus, until=metric.times[best]),
        core_hours_to_best=count_hours(links, cores, until=metric.times[best]),
    )


def count_hours(links: Sequence[Link], amount: int, *, until: float = math.inf) -> float | None:
    """Of so many GPUs or cores: all that was not waiting is paid for."""
    parts = [part for link in links for part in link.parts if part.phase is not Phase.WAITING]
    if not parts or not amount:
        return None
    return sum(max(0.0, min(part.end, until) - part.begin) for part in parts) * amount / 3600


def _count_samples(steps: Sequence[float], counter: Metric) -> list[float]:
    """Between two values of the counter in proportion; beyond its ends by the pace beside them."""
    known = sorted(dict(zip(counter.steps, counter.values, strict=True)).items())
    known = [(step, count) for step, count in known if math.isfinite(count)]
    if not known:
        return [math.nan] * len(steps)
    if len(known) == 1:
        pace = known[0][1] / known[0][0] if known[0][0] else 0.0
        return [known[0][1] + (step - known[0][0]) * pace for step in steps]
    pairs = list(pairwise(known))
    begins = [pair[0][0] for pair in pairs]
    return [_between(step, *pairs[max(0, bisect_right(begins, step) - 1)]) for step in steps]


def _between(step: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    return low[1] + (step - low[0]) * (high[1] - low[1]) / (high[0] - low[0])


def _list_settings(plan: Plan) -> Iterator[tuple[str, str]]:
    for one in fields(plan):
        if one.name not in _NOT_SETTINGS:
            yield from _flatten(one.name, getattr(plan, one.name))
    yield from _read_arguments(plan.command)


def _flatten(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(f"{name}.{key}", inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _flatten(f"{name}.{one.name}", getattr(value, one.name))
    elif isinstance(value, tuple) and any(is_dataclass(one) for one in value):
        for number, inner in enumerate(value):
            yield from _flatten(f"{name}.{getattr(inner, 'name', number)}", inner)
    else:
        yield name, _write(value)


def _write(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, timedelta):
        return format_human_duration(value)
    if isinstance(value, tuple):
        return " ".join(str(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_arguments(command: str) -> Iterator[tuple[str, str]]:
    """`--lr 0.1` and `--lr=0.1` and `optimizer.lr=0.1`, each as a setting of its own."""
    words = command.split()
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else "-"
        name, sign, value = word.partition("=")
        if sign and name:
            yield name, value
        elif word.startswith("--"):
            yield word, "yes" if following.startswith("--") or following == "-" else following
