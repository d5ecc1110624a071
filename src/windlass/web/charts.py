"""Charts of a page as values: what is drawn, said in a sentence, shown as a table and offered as a file.

The script draws from `source`; without it `picture` is seen; the table is there either way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, urlencode

from windlass.core.gauges.series import RunGauges, Series
from windlass.core.watching.gauge_charts import KINDS, GaugeKind, list_series
from windlass.core.watching.metrics import Metric
from windlass.core.watching.summaries import summarize_gauges, summarize_metric
from windlass.web import words

MOST_CHARTS = 24  # on the page of a run; the table of metrics has all of them
ROWS_BELOW = 20  # of a chart's own table: the newest


@dataclass(frozen=True, kw_only=True)
class Table:
    """Newest first. A cell is text already."""

    heads: tuple[str, ...]
    count: int
    read: Callable[[int, int], list[tuple[str, ...]]]  # rows from one number to before another


@dataclass(frozen=True, kw_only=True)
class Chart:
    key: str  # unique in the page, fit for an id
    title: str
    summary: str
    axis: str  # time, step, hours, samples
    source: str
    names: tuple[str, ...]  # of its lines, in their order
    picture: str  # address of an SVG, without the theme
    unit: str = ""
    full: str = ""  # its name, where the title is cut
    points: str = ""  # address of the page with all values
    csv: str = ""
    table: Table | None = None
    rest_s: int = 0  # so long at least before it is asked for again


def make_metric_chart(run_id: str, metric: Metric, *, axis: str) -> Chart:
    base, name = f"/runs/{quote(run_id, safe='')}", urlencode({"name": metric.name})
    return Chart(
        key=make_key(metric.name),
        title=metric.shown,
        full=metric.name if metric.name != metric.shown else "",
        summary=summarize_metric(metric),
        axis=axis,
        source=f"{base}/metrics.json?x={axis}",
        names=(metric.name,),
        picture=f"{base}/metric.svg?{name}&x={axis}",
        points=f"{base}/points?{name}",
        csv=f"{base}/points.csv?{name}",
        table=make_metric_table(metric),
    )


def make_gauge_charts(run_id: str, gauges: RunGauges) -> list[Chart]:
    base = f"/runs/{quote(run_id, safe='')}"
    return [
        Chart(
            key=f"gauge-{kind.name}",
            title=f"{kind.title} ({kind.unit})",
            summary=summarize_gauges(kind, series),
            axis="time",
            source=f"{base}/gauges.json?what={kind.name}",
            names=tuple(name for name, _ in series),
            picture=f"{base}/gauges.svg?what={kind.name}",
            unit=kind.unit,
            points=f"{base}/points?what={kind.name}",
            csv=f"{base}/points.csv?what={kind.name}",
            table=make_gauge_table(series, kind),
            rest_s=30,
        )
        for kind in KINDS.values()
        if (series := list_series(gauges, kind))
    ]


def make_metric_table(metric: Metric) -> Table:
    def read(begin: int, end: int) -> list[tuple[str, ...]]:
        places = range(len(metric.values) - 1 - begin, max(-1, len(metric.values) - 1 - end), -1)
        return [
            (f"{metric.steps[at]:,.10g}", format_moment(metric.times[at]), words.format_number(metric.values[at]))
            for at in places
        ]

    return Table(heads=("Step", "Time", metric.shown), count=len(metric.values), read=read)


def make_gauge_table(series: Sequence[tuple[str, Series]], kind: GaugeKind) -> Table:
    """A row a moment; nodes that were measured at other moments leave their cells empty."""
    moments = sorted({moment for _, one in series for moment in one.times}, reverse=True)

    def read(begin: int, end: int) -> list[tuple[str, ...]]:
        wanted = moments[begin:end]
        columns = [_pick(one, frozenset(wanted)) for _, one in series]
        return [(format_moment(at), *(words.format_number(column.get(at)) for column in columns)) for at in wanted]

    return Table(heads=("Time", *(f"{name} ({kind.unit})" for name, _ in series)), count=len(moments), read=read)


def _pick(series: Series, wanted: frozenset[float]) -> Mapping[float, float | None]:
    pairs = zip(series.times, series.values, strict=True)
    return {moment: value for moment, value in pairs if moment in wanted}


def make_key(name: str) -> str:
    return sha256(name.encode(errors="replace")).hexdigest()[:12]


def format_moment(moment: float) -> str:
    there = words.find_local(moment)
    return f"{there:%Y-%m-%d %H:%M:%S}" if there is not None else ""


def format_short_clock(moment: float) -> str:
    there = words.find_local(moment)
    if there is None:
        return ""
    if (there.hour, there.minute, there.second) == (0, 0, 0):
        return f"{there:%d %b}"
    return f"{there:%H:%M:%S}" if there.second else f"{there:%H:%M}"


def find_offset_s(moment: float) -> float:
    """How far this machine's clock is ahead of UTC then."""
    there = words.find_local(moment)
    offset = there.utcoffset() if there is not None else None
    return offset.total_seconds() if offset is not None else 0.0
