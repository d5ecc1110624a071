"""Several runs beside each other: ?run= once for each, ?metric=, ?x=step|time|samples, ?best=least|most."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from windlass.app.watching.reading_runs import RunSeen
from windlass.core.csv_rows import format_row
from windlass.core.drawing.lines import Axis as DrawnAxis
from windlass.core.drawing.lines import Curve
from windlass.core.ending.hiding import find_assigned
from windlass.core.watching.comparing import (
    AXIS_TITLES,
    Axis,
    Result,
    Setting,
    find_changed_files,
    find_differences,
    is_better_small,
    list_shared,
    measure_result,
    place_points,
)
from windlass.core.watching.metrics import Metric, shorten_name
from windlass.core.watching.summaries import summarize_overlay
from windlass.errors import NotFound
from windlass.web.charts import Chart
from windlass.web.desk import Desk
from windlass.web.pages import charts

MOST_RUNS = 12
_SMALLER = "least"


@dataclass(frozen=True, kw_only=True)
class _Asked:
    runs: tuple[RunSeen, ...]
    missing: tuple[str, ...]  # named, and not known
    metrics: list[str]
    metric: str
    axis: Axis
    best: str  # least or most

    @property
    def query(self) -> str:
        runs = [("run", one.record.run_id) for one in self.runs]
        return urlencode([*runs, ("metric", self.metric), ("x", self.axis.value), ("best", self.best)])


def show(desk: Desk, request: Request) -> Response:
    asked = _read(desk, request)
    desk.attend(request, *(one.record.run_id for one in asked.runs))
    results = [_measure(one, asked) for one in asked.runs]
    settings = _hide(desk, find_differences([one.plan for one in asked.runs]))
    values = {
        "asked": asked,
        "rows": list(zip(asked.runs, results, strict=True)),
        "settings": settings,
        "changed": find_changed_files([desk.reader.load_code(one.record.run_id) for one in asked.runs]),
        "has_gpus": any(result.gpu_hours is not None for result in results),
        "has_cores": any(result.core_hours is not None and result.gpu_hours is None for result in results),
        "without_plan": [one.record.run_id for one in asked.runs if one.plan is None],
        "without_axis": [one.record.run_id for one in asked.runs if _place(one, asked) is None],
        "axes": list(Axis),
        "charts": [_make_chart(asked, results)]
        if asked.metric and any(_place(one, asked) for one in asked.runs)
        else [],
        "most": MOST_RUNS,
    }
    is_over = all(one.record.state.is_final for one in asked.runs)
    return desk.show(request, "compare.html", values, live=None if is_over else "")


def show_series(desk: Desk, request: Request) -> Response:
    asked = _read(desk, request)
    return JSONResponse({"x": asked.axis.value, "series": _make_series(asked)})


def draw(desk: Desk, request: Request) -> Response:
    asked = _read(desk, request)
    curves = [Curve(name=name, xs=one["x"], ys=one["y"]) for name, one in _make_series(asked).items()]
    bests = [(one.record.run_id, _measure(one, asked).best) for one in asked.runs]
    axis = DrawnAxis(title=AXIS_TITLES[asked.axis])
    words = asked.metric, summarize_overlay(asked.metric, bests, asked.best)
    return charts.draw(desk, request, words, curves, axis)


def download(desk: Desk, request: Request) -> Response:
    """Long form: a line a value."""
    asked = _read(desk, request)
    lines = [format_row(["run", asked.axis.value, desk.hide(asked.metric)], end="\r\n")]
    for seen in asked.runs:
        xs = _place(seen, asked) or []
        values = seen.metrics[asked.metric].values if xs else []
        run_id = desk.hide(seen.record.run_id)
        rows = ((run_id, f"{x:.15g}", value) for x, value in zip(xs, values, strict=True))
        lines += [format_row(row, end="\r\n") for row in rows]
    headers = {"content-disposition": 'attachment; filename="compare.csv"'}
    return Response("".join(lines), media_type="text/csv; charset=utf-8", headers=headers)


def _read(desk: Desk, request: Request) -> _Asked:
    given = request.query_params
    runs: dict[str, RunSeen] = {}
    missing = []
    for word in given.getlist("run")[:MOST_RUNS]:
        try:
            seen = desk.reader.load(word)
        except NotFound:
            missing.append(word[:100])
            continue
        runs[seen.record.run_id] = seen
    metrics = list_shared([one.metrics for one in runs.values()])
    metric = given.get("metric", "")
    metric = metric if metric in metrics else metrics[0] if metrics else ""
    axis = given.get("x", "")
    best = given.get("best", "")
    return _Asked(
        runs=tuple(runs.values()),
        missing=tuple(missing),
        metrics=metrics,
        metric=metric,
        axis=Axis(axis) if axis in list(Axis) else Axis.STEP,
        best=best if best in ("least", "most") else "least" if is_better_small(metric) else "most",
    )


def _place(seen: RunSeen, asked: _Asked) -> list[float] | None:
    metric = seen.metrics.get(asked.metric)
    return place_points(metric, seen.metrics, asked.axis) if metric is not None else None


def _measure(seen: RunSeen, asked: _Asked) -> Result:
    gpus = seen.plan.gpus if seen.plan is not None else 0
    cores = seen.record.size.cores if seen.record.size is not None else 0
    metric = seen.metrics.get(asked.metric)
    return measure_result(metric, seen.chain, gpus=gpus, cores=cores, smaller=asked.best == _SMALLER)


def _make_series(asked: _Asked) -> dict[str, charts.SeriesJson]:
    found: list[tuple[str, list[float] | None, Metric | None]] = [
        (one.record.run_id, _place(one, asked), one.metrics.get(asked.metric)) for one in asked.runs
    ]
    return {name: charts.make_series(xs, metric) for name, xs, metric in found if xs and metric is not None}


def _make_chart(asked: _Asked, results: list[Result]) -> Chart:
    ids = [one.record.run_id for one in asked.runs]
    bests = [(name, result.best) for name, result in zip(ids, results, strict=True)]
    return Chart(
        key="compare",
        title=f"{shorten_name(asked.metric)} by {AXIS_TITLES[asked.axis]}",
        summary=summarize_overlay(asked.metric, bests, asked.best),
        axis=asked.axis.value if asked.axis is not Axis.TIME else "hours",
        source=f"/compare.json?{asked.query}",
        names=tuple(one.record.run_id for one in asked.runs if _place(one, asked)),
        picture=f"/compare.svg?{asked.query}",
        csv=f"/compare.csv?{asked.query}",
    )


def _hide(desk: Desk, settings: tuple[Setting, ...]) -> list[Setting]:
    """A token on a command line differs from run to run, and is nobody's business."""

    def clean(name: str, value: str) -> str:
        return desk.reader.hide(value, also=find_assigned(f"{name}={value}"))

    return [replace(one, values=tuple(clean(one.name, value) for value in one.values)) for one in settings]
