"""Cancel, resume, fetch: first a page that names the run and says what will happen, then the deed, then its end."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.deeds import ACTIONS, Deeds
from windlass.app.watching.reading_runs import fold_farm
from windlass.core.record import RunRecord
from windlass.errors import NotFound
from windlass.web.desk import THEMES, Desk
from windlass.web.door import read_form, refuse_form


def confirm(desk: Desk, request: Request) -> Response:
    record = _load(desk, request)
    action = ACTIONS.get(request.path_params["verb"])
    if action is None:
        raise NotFound(f"there is no action {request.path_params['verb']!r}")
    return desk.show(request, "confirm.html", {"record": record, "action": action, "may": action.is_for(record)})


async def do(desk: Desk, deeds: Deeds, request: Request) -> Response:
    if await read_form(request) is None:
        return refuse_form()
    record = await run_in_threadpool(_load, desk, request)
    action = ACTIONS.get(request.path_params["verb"])
    if action is None or not action.is_for(record):
        return RedirectResponse(f"/runs/{record.run_id}/{request.path_params['verb']}", status_code=303)
    deed = deeds.start(action, record)
    return RedirectResponse(f"/deeds/{deed.number}", status_code=303)


def _load(desk: Desk, request: Request) -> RunRecord:
    """A farm is as all its pilots are."""
    return fold_farm(desk.watch, desk.watch.session.store.load(request.path_params["run"]))


def show_deed(desk: Desk, deeds: Deeds, request: Request) -> Response:
    number = request.path_params["number"]
    deed = deeds.find(number)
    if deed is None:
        raise NotFound(f"nothing is known of action {number}: the server was started anew")
    return desk.show(request, "deed.html", {"deed": deed})


async def choose_theme(desk: Desk, request: Request) -> Response:
    form = await read_form(request)
    if form is None:
        return refuse_form()
    back = form.get("back", "/")
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\"))
    answer = RedirectResponse(back if is_ours else "/", status_code=303)
    if form.get("theme") in THEMES:
        desk.keep_theme(answer, form["theme"])
    return answer
