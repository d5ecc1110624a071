"""A site: what is free, your limits, how you stand, storage, maintenance; asked anew only by its button."""

from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.watching.site_sheets import ask_site, list_names, load_site
from windlass.core.seen.free import Maintenance, QueueView
from windlass.web.desk import Desk
from windlass.web.door import read_form, refuse_form


def show_all(desk: Desk, request: Request) -> Response:
    names = list_names(desk.watch.session)
    return desk.show(request, "sites.html", {"names": names, "looks": desk.watch.looks(names)})


def show(desk: Desk, request: Request) -> Response:
    seen = load_site(desk.watch.session, request.path_params["site"])
    queues = seen.sheet.queues.queues if seen.sheet else ()
    values = {
        "seen": seen,
        "look": desk.watch.looks([seen.name])[seen.name],
        "maintenance": _group_maintenance(queues),
        "purged": [one for one in (seen.sheet.quotas.areas if seen.sheet else ()) if one.area.purge_days],
    }
    return desk.show(request, "site.html", values)


async def ask(desk: Desk, request: Request) -> Response:
    """The answer is on the page that follows, also where there was none."""
    if await read_form(request) is None:
        return refuse_form()
    name = request.path_params["site"]

    def work() -> None:
        with desk.open_session() as session:
            ask_site(session, name)

    await run_in_threadpool(work)
    return RedirectResponse(f"/sites/{quote(name, safe='')}", status_code=303)


def _group_maintenance(queues: tuple[QueueView, ...]) -> dict[Maintenance, list[str]]:
    found: dict[Maintenance, list[str]] = {}
    for queue in queues:
        if queue.maintenance is not None:
            found.setdefault(queue.maintenance, []).append(queue.name)
    return found
