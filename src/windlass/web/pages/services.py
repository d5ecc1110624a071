"""TensorBoard and JupyterLab of a run: opened by a button, shown as they come up, and closed by another."""

from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.services.opening import OPENABLES, Openable
from windlass.core.record import RunRecord
from windlass.errors import NotFound
from windlass.web.desk import Desk
from windlass.web.door import let_forms_lead_on, read_form, refuse_form


def show(desk: Desk, request: Request) -> Response:
    record, service = _find(desk, request)
    opened = desk.services.find(record, service.kind)
    values = {
        "record": record,
        "service": service,
        "opened": opened,
        "place": urlsplit(opened.address).netloc if opened else "",  # no more: its address holds its token
        "may": service.is_for(record),
    }
    return let_forms_lead_on(desk.show(request, "service.html", values))


async def open_one(desk: Desk, request: Request) -> Response:
    if await read_form(request) is None:
        return refuse_form()
    record, service = await run_in_threadpool(_find, desk, request)
    if service.is_for(record):
        desk.services.open(record, service.kind)
    return _back(record, service)


async def go(desk: Desk, request: Request) -> Response:
    """On to it, with its token, which stands on no page."""
    if await read_form(request) is None:
        return refuse_form()
    record, service = await run_in_threadpool(_find, desk, request)
    opened = desk.services.find(record, service.kind)
    if opened is None or opened.is_over or not opened.address:
        return _back(record, service)
    return RedirectResponse(opened.address, status_code=303)


async def close_one(desk: Desk, request: Request) -> Response:
    if await read_form(request) is None:
        return refuse_form()
    record, service = await run_in_threadpool(_find, desk, request)
    await run_in_threadpool(desk.services.close, record, service.kind)
    return _back(record, service)


def _find(desk: Desk, request: Request) -> tuple[RunRecord, Openable]:
    record = desk.watch.session.store.load(request.path_params["run"])
    service = OPENABLES.get(request.path_params["kind"])
    if service is None:
        raise NotFound(f"there is nothing of the name {request.path_params['kind']!r} to open")
    return record, service


def _back(record: RunRecord, service: Openable) -> Response:
    return RedirectResponse(f"/runs/{record.run_id}/open/{service.kind}", status_code=303)
