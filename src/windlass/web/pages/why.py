"""Why a run waits or ended; the change that would help is shown as a diff, and written when somebody says so."""

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.watching.why import ask_why, load_why, write_fix
from windlass.web.desk import Desk
from windlass.web.door import read_form, refuse_form


def show(desk: Desk, request: Request) -> Response:
    record = desk.watch.session.store.load(request.path_params["run"])
    return desk.show(request, "why.html", {"why": load_why(desk.watch.session, record), "written": None})


async def ask(desk: Desk, request: Request) -> Response:
    if await read_form(request) is None:
        return refuse_form()
    run_id = request.path_params["run"]

    def work() -> None:
        with desk.open_session() as session:
            ask_why(session, session.store.load(run_id))

    await run_in_threadpool(work)
    return RedirectResponse(f"/runs/{quote(run_id, safe='')}/why", status_code=303)


async def write(desk: Desk, request: Request) -> Response:
    form = await read_form(request)
    if form is None:
        return refuse_form()

    def work() -> Response:
        session = desk.watch.session
        record = session.store.load(request.path_params["run"])
        written = write_fix(session, record, form.get("mark", ""))
        return desk.show(request, "why.html", {"why": load_why(session, record), "written": written})

    return await run_in_threadpool(work)
