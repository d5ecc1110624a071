"""What charts are made of: series for the script, pictures where none runs, tables and CSV for who wants numbers."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypedDict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from windlass.app.watching.reading_runs import RunSeen
from windlass.core.csv_rows import format_row
from windlass.core.drawing.lines import Axis, Curve, draw_lines
from windlass.core.drawing.marks import THEMES
from windlass.core.drawing.thinning import thin_to_peaks, thin_to_points
from windlass.core.gauges.series import Series
from windlass.core.watching.gauge_charts import KINDS, GaugeKind, list_series
from windlass.core.watching.metrics import Metric
from windlass.core.watching.summaries import summarize_gauges, summarize_metric
from windlass.errors import NotFound
from windlass.web.charts import (
    Table,
    find_offset_s,
    format_moment,
    format_short_clock,
    make_gauge_table,
    make_metric_table,
)
from windlass.web.desk import Desk

_POINTS = 800  # of a chart: more than a screen has pixels for
_PICTURE_POINTS = 300
_ROWS = 100  # of a page of numbers
_DIGITS = 6


class SeriesJson(TypedDict):
    """Columns of one length; y is null where there is a gap."""

    x: list[float]
    y: list[float | None]


def show_metrics(desk: Desk, request: Request) -> Response:
    """{"x": "step", "series": {"name": {"x": [...], "y": [...]}}}, thinned; ?x=step|time, ?name= for some of them."""
    seen = desk.reader.load(request.path_params["run"])
    by_time = request.query_params.get("x") == "time"
    wanted = request.query_params.getlist("name") or list(seen.metrics)
    series = {
        name: make_series(seen.metrics[name].times if by_time else seen.metrics[name].steps, seen.metrics[name])
        for name in wanted
        if name in seen.metrics
    }
    return JSONResponse({"x": "time" if by_time else "step", "series": series})


def show_gauges(desk: Desk, request: Request) -> Response:
    """The same of one kind of gauge, what=use|memory|power: a line a GPU; waits: a rank; all else: a node."""
    kind, series = _find_gauges(desk, request)
    begin, end = _find_span(series)
    thinned = {name: thin_to_peaks(one, begin=begin, end=end, count=_POINTS) for name, one in series}
    told = {name: {"x": xs, "y": [_round(y) for y in ys]} for name, (xs, ys) in thinned.items()}
    return JSONResponse({"x": "time", "unit": kind.unit, "series": told})


def draw_metric(desk: Desk, request: Request) -> Response:
    metric = _find_metric(desk, request)
    by_time = request.query_params.get("x") == "time"
    xs, ys = thin_to_points(metric.times if by_time else metric.steps, metric.values, _PICTURE_POINTS)
    axis = _make_clock_axis(xs) if by_time else Axis(title="step")
    curve = Curve(name=metric.name, xs=xs, ys=ys)
    return draw(desk, request, (metric.shown, summarize_metric(metric)), [curve], axis)


def draw_gauges(desk: Desk, request: Request) -> Response:
    kind, series = _find_gauges(desk, request)
    begin, end = _find_span(series)
    points = ((name, thin_to_peaks(one, begin=begin, end=end, count=_PICTURE_POINTS)) for name, one in series)
    curves = [Curve(name=name, xs=xs, ys=ys) for name, (xs, ys) in points]
    summary = summarize_gauges(kind, series)
    return draw(desk, request, (f"{kind.title} ({kind.unit})", summary), curves, _make_clock_axis([begin, end]))


def draw(desk: Desk, request: Request, words: tuple[str, str], curves: list[Curve], axis: Axis) -> Response:
    """words: the title, and a sentence that says what is drawn."""
    title, summary = map(desk.hide, words)
    curves = [replace(one, name=desk.hide(one.name)) for one in curves]
    theme = request.query_params.get("theme", "light")
    text = draw_lines(title, summary, curves, axis, theme=theme if theme in THEMES else "light")
    return Response(text, media_type="image/svg+xml", headers={"cache-control": "no-store"})


def show_points(desk: Desk, request: Request) -> Response:
    """All values of a chart, page by page."""
    seen = desk.reader.load(request.path_params["run"])
    title, table, query = _find_table(desk, request)
    pages = max(1, -(-table.count // _ROWS))
    asked = request.query_params.get("page", "")
    page = min(max(1, int(asked)), pages) if asked.isdecimal() and asked.isascii() and len(asked) < 9 else 1
    rows = table.read((page - 1) * _ROWS, page * _ROWS)
    values = {"record": seen.record, "title": title, "table": table, "rows": rows, "page": page, "pages": pages}
    return desk.show(request, "points.html", {**values, "query": query})


def download_points(desk: Desk, request: Request) -> Response:
    """All of it as it was told, oldest first."""
    run_id = desk.reader.load(request.path_params["run"]).record.run_id
    if "what" in request.query_params:
        kind, series = _find_gauges(desk, request)
        name, rows = f"{run_id}-{kind.name}", _list_gauge_rows(kind, series)
    else:
        metric = _find_metric(desk, request)
        name, rows = f"{run_id}-{_make_safe_name(metric.name)}", _list_metric_rows(metric, desk.hide(metric.name))
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    lines = (format_row(row, end="\r\n") for row in rows)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


def make_series(xs: list[float], metric: Metric) -> SeriesJson:
    thinned, ys = thin_to_points(xs, metric.values, _POINTS)
    finite = [at for at, x in enumerate(thinned) if math.isfinite(x)]
    return {"x": [thinned[at] for at in finite], "y": [ys[at] for at in finite]}


def _find_metric(desk: Desk, request: Request) -> Metric:
    seen = desk.reader.load(request.path_params["run"])
    name = request.query_params.get("name", "")
    if name not in seen.metrics:
        raise NotFound(f"run {seen.record.run_id} has told no metric {name[:100]!r}")
    return seen.metrics[name]


def _find_gauges(desk: Desk, request: Request) -> tuple[GaugeKind, tuple[tuple[str, Series], ...]]:
    seen: RunSeen = desk.reader.load(request.path_params["run"])
    kind = KINDS.get(request.query_params.get("what", ""))
    series = list_series(desk.gauges.load(seen.record.run_id, seen.index), kind) if kind is not None else ()
    if kind is None or not series:
        raise NotFound(f"run {seen.record.run_id} has no such gauges", hint=f"what={'|'.join(KINDS)}")
    return kind, series


def _find_table(desk: Desk, request: Request) -> tuple[str, Table, dict[str, str]]:
    if "what" in request.query_params:
        kind, series = _find_gauges(desk, request)
        return f"{kind.title} ({kind.unit})", make_gauge_table(series, kind), {"what": kind.name}
    metric = _find_metric(desk, request)
    return metric.shown, make_metric_table(metric), {"name": metric.name}


def _find_span(series: Iterable[tuple[str, Series]]) -> tuple[float, float]:
    times = [one.times for _, one in series]
    return min(one[0] for one in times), max(one[-1] for one in times)


def _make_clock_axis(xs: list[float]) -> Axis:
    return Axis(title="time", clock=format_short_clock, offset_s=find_offset_s(xs[0]) if xs else 0.0)


def _list_metric_rows(metric: Metric, name: str) -> Iterator[tuple[object, ...]]:
    yield "time", "step", name
    for moment, step, value in zip(metric.times, metric.steps, metric.values, strict=True):
        yield format_moment(moment), f"{step:.15g}", value


def _list_gauge_rows(kind: GaugeKind, series: tuple[tuple[str, Series], ...]) -> Iterator[tuple[object, ...]]:
    yield "time", *(f"{name} ({kind.unit})" for name, _ in series)
    columns = [dict(zip(one.times, one.values, strict=True)) for _, one in series]
    for moment in sorted({moment for column in columns for moment in column}):
        yield format_moment(moment), *(_round(column.get(moment)) for column in columns)


def _make_safe_name(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)[:60] or "metric"


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")
