"""One run: state and reason, progress, chain, metrics, log, cost, and exactly what was submitted."""

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.budgets.counting import count_so_far
from windlass.app.estimating import load_past
from windlass.app.mending import make_fix_of_advice
from windlass.app.noting import add_note
from windlass.app.services.opening import OPENABLES
from windlass.app.watching.reading_logs import open_log
from windlass.app.watching.reading_runs import RunSeen, fold_farm
from windlass.app.watching.reading_today import load_alarms
from windlass.core.ending.hiding import find_values
from windlass.core.toml.patching import format_settings
from windlass.core.watching.chain import Phase, count_lost_s
from windlass.core.watching.safe_lines import SafeLine, make_safe
from windlass.edges.sweep_files import is_seen
from windlass.web.charts import MOST_CHARTS, ROWS_BELOW, make_gauge_charts, make_metric_chart
from windlass.web.desk import Desk
from windlass.web.door import read_form, refuse_form
from windlass.web.pages.chain import draw
from windlass_job import wire

_LAST_LINES = 40
_AXES = ("step", "time")


def show(desk: Desk, request: Request) -> Response:
    run_id = desk.watch.session.store.load(request.path_params["run"]).run_id
    desk.attend_fresh(request, run_id)
    seen = desk.reader.load(run_id)
    record, whole = seen.record, fold_farm(desk.watch, seen.record)
    gauges = desk.gauges.load(record.run_id, seen.index)
    advice = desk.advice.load(seen, gauges)
    fix = make_fix_of_advice(record, advice)
    asked = request.query_params.get("x")
    axis = asked if asked in _AXES else "time" if gauges.gpus else "step"
    metrics = sorted(seen.metrics.values(), key=lambda one: ("loss" not in one.name.lower(), one.name))
    values = {
        "seen": seen,
        "record": record,
        "whole": whole,
        "sweep": record.farm if record.farm and is_seen(desk.watch.session.folders, record.farm) else None,
        "look": desk.watch.looks([record.site])[record.site],
        "advice": [(one, "\n".join(format_settings(one.patch))) for one in advice],
        "can_write": fix is not None and bool(fix.diff),
        "alarms": [one for one in load_alarms(desk.watch, desk.reader, [record]) if one.run_id == record.run_id],
        "lines": _load_last_lines(desk, seen),
        "metrics": metrics,
        "axis": axis,
        "charts": [make_metric_chart(record.run_id, one, axis=axis) for one in metrics[:MOST_CHARTS]],
        "gauges": make_gauge_charts(record.run_id, gauges),
        "rows_below": ROWS_BELOW,
        "gantt": draw(seen.chain) if len(seen.chain) > 1 else None,
        "phases": list(Phase),
        "lost_s": count_lost_s(seen.chain),
        "scripts": [path for path in sorted(seen.index.files) if path.startswith("job-")],
        "has_diff": bool(seen.index.files.get(wire.DIFF) and seen.index.files[wire.DIFF].size),
        "cost": count_so_far(desk.watch.session, record),
        "past": load_past(desk.watch.session, record.site, seen.plan.partition if seen.plan else None),
        "openables": [one for one in OPENABLES.values() if one.is_for(record) or desk.services.find(record, one.kind)],
        "notes": [(one.time, one.text) for one in reversed(record.notes)],
    }
    return desk.show(request, "run.html", values, live="" if whole.state.is_final else record.run_id)


async def note(desk: Desk, request: Request) -> Response:
    """A word about the run, written down."""
    form = await read_form(request)
    if form is None:
        return refuse_form()
    record = await run_in_threadpool(desk.watch.session.store.load, request.path_params["run"])

    def work() -> None:
        with desk.open_session() as session:
            noted = add_note(session, record.run_id, form.get("text", ""))
            if noted.problem is not None:
                session.tell(f"a note is kept on this machine only: {noted.problem}")

    await run_in_threadpool(work)
    return RedirectResponse(f"/runs/{quote(record.run_id, safe='')}#notes", status_code=303)


def show_paper(desk: Desk, request: Request) -> Response:
    """A script, the diff or the plan as it was submitted, without secrets."""
    seen = desk.reader.load(request.path_params["run"])
    path = request.path_params["paper"]
    known = seen.index.files.get(path)
    text = desk.reader.read_safe(seen.record.run_id, path) if known is not None and "/" not in path else None
    values = {"record": seen.record, "name": path, "text": text, "held": known}
    return desk.show(request, "paper.html", values, status=200 if text is not None else 404)


def _load_last_lines(desk: Desk, seen: RunSeen) -> tuple[SafeLine, ...]:
    if not seen.logs:
        return ()
    with open_log(desk.watch, seen.record.run_id, seen.logs[-1]) as log:
        page = log.read_end(most=_LAST_LINES)
    return make_safe(page.lines, find_values(desk.watch.session.environ))
