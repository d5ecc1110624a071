"""What a run asked for and did not use, as one change of windlass.toml: shown, and written when somebody says so."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from windlass.app.mending import Fix, apply_seen_fix, make_fix_of_advice
from windlass.core.finding import Advice
from windlass.core.record import RunRecord
from windlass.web.desk import Desk
from windlass.web.door import read_form, refuse_form


def show(desk: Desk, request: Request) -> Response:
    record, advice = _load(desk, request)
    values = {"record": record, "advice": advice, "fix": make_fix_of_advice(record, advice), "written": None}
    return desk.show(request, "advice.html", values)


async def write(desk: Desk, request: Request) -> Response:
    form = await read_form(request)
    if form is None:
        return refuse_form()

    def work() -> Response:
        record, advice = _load(desk, request)
        hint = f"windlass report {record.run_id}"
        written: Fix = apply_seen_fix(make_fix_of_advice(record, advice), form.get("mark", ""), hint=hint)
        values = {"record": record, "advice": advice, "fix": None, "written": written}
        return desk.show(request, "advice.html", values)

    return await run_in_threadpool(work)


def _load(desk: Desk, request: Request) -> tuple[RunRecord, tuple[Advice, ...]]:
    seen = desk.reader.load(request.path_params["run"])
    return seen.record, desk.advice.load(seen, desk.gauges.load(seen.record.run_id, seen.index))
