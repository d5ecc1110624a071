"""Hours: used, left, how fast they go and when they end, by run and person; as `windlass budget` counts them."""

from collections.abc import Sequence
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.watching.site_sheets import ask_budget, ask_budgets_here, list_names, load_budget, load_budgets
from windlass.core.spending.table import format_csv
from windlass.errors import NotFound
from windlass.web.desk import Desk
from windlass.web.door import read_form, refuse_form


def show_all(desk: Desk, request: Request) -> Response:
    names = list_names(desk.watch.session)
    _ask_here(desk, names)
    return desk.show(request, "budgets.html", {"sites": load_budgets(desk.watch.session, names)})


def show(desk: Desk, request: Request) -> Response:
    _ask_here(desk, [request.path_params["site"]])
    seen = load_budget(desk.watch.session, request.path_params["site"])
    known = {one.run_id for one in seen.budgets.spending.runs if one.run_id} if seen.budgets else set()
    return desk.show(request, "budget.html", {"seen": seen, "known": known})


def _ask_here(desk: Desk, names: Sequence[str]) -> None:
    with desk.open_session() as session:
        ask_budgets_here(session, names)


def show_table(desk: Desk, request: Request) -> Response:
    seen = load_budget(desk.watch.session, request.path_params["site"])
    if seen.budgets is None:
        raise NotFound(f"{seen.name} was not asked for hours yet", hint=f"windlass budget --on {seen.name}")
    named = {"content-disposition": f'attachment; filename="budget-{quote(seen.name, safe="")}.csv"'}
    return Response(
        format_csv(seen.budgets.spending, hide=desk.hide), media_type="text/csv; charset=utf-8", headers=named
    )


async def ask(desk: Desk, request: Request) -> Response:
    if await read_form(request) is None:
        return refuse_form()
    name = request.path_params["site"]

    def work() -> None:
        with desk.open_session() as session:
            ask_budget(session, name)

    await run_in_threadpool(work)
    return RedirectResponse(f"/budget/{quote(name, safe='')}", status_code=303)
