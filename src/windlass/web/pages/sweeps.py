"""Sweeps as they were last seen from this laptop: their trials drawn and in a table, the best, what failed."""

from collections.abc import Callable
from urllib.parse import quote

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.sweeps.looking import look_at_sweep
from windlass.app.watching.asking import ask_rarely, load_asked
from windlass.core.drawing.marks import THEMES
from windlass.core.sweep.hiding import hide_in_sweep
from windlass.core.sweep.pictures import (
    draw_history,
    draw_trials,
    draw_trials_part,
    summarize_history,
    summarize_trials,
)
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.tables import format_csv
from windlass.core.sweep.trials import TrialState
from windlass.core.sweep.values import show_value
from windlass.edges.sweep_files import list_seen, load_seen
from windlass.errors import NotFound
from windlass.web.desk import Desk
from windlass.web.door import read_form, refuse_form

MOST_ROWS = 200
_SUBJECT = "sweep:"


def show_all(desk: Desk, request: Request) -> Response:
    return desk.show(request, "sweeps.html", {"sweeps": list_seen(desk.watch.session.folders), "states": TrialState})


def show(desk: Desk, request: Request) -> Response:
    seen = _load(desk, request)
    ranked = seen.ranked
    listed = {one.number for one in ranked[:MOST_ROWS]}
    values = {
        "seen": seen,
        "asked": load_asked(desk.watch.session, seen.site, _SUBJECT + seen.sweep_id),
        "address": f"/sweeps/{quote(seen.sweep_id, safe='')}",
        "trials": ranked[:MOST_ROWS],
        "shown": listed,
        "drawn": Markup(draw_trials_part(seen, listed)) if seen.best else None,  # all text in it was escaped
        "is_drawn": lambda one: one.is_ranked or one.state is TrialState.STOPPED,
        "best": seen.best,
        "command": seen.make_command(seen.best) if seen.best else None,
        "failures": seen.failures,
        "of_trials": summarize_trials(seen),
        "of_history": summarize_history(seen),
        "states": TrialState,
        "show_value": show_value,
    }
    return desk.show(request, "sweep.html", values)


def draw(desk: Desk, request: Request) -> Response:
    return _draw(desk, request, draw_trials)


def draw_best(desk: Desk, request: Request) -> Response:
    return _draw(desk, request, draw_history)


def download(desk: Desk, request: Request) -> Response:
    seen = _load(desk, request)
    headers = {"content-disposition": f'attachment; filename="{quote(seen.sweep_id)}.csv"'}
    return Response(format_csv(seen), media_type="text/csv; charset=utf-8", headers=headers)


async def ask(desk: Desk, request: Request) -> Response:
    """Of the site, now; the answer is on the page that follows."""
    if await read_form(request) is None:
        return refuse_form()
    name = request.path_params["sweep"]

    def work() -> None:
        with desk.open_session() as session:
            record = session.store.load(name)
            ask_rarely(session, record.site, _SUBJECT + name, lambda: look_at_sweep(session, record).asked)

    await run_in_threadpool(work)
    return RedirectResponse(f"/sweeps/{quote(name, safe='')}", status_code=303)


def _load(desk: Desk, request: Request) -> SweepSeen:
    name = request.path_params["sweep"]
    folders = desk.watch.session.folders
    seen = load_seen(folders, name) if "/" not in name and not name.startswith(".") else None
    if seen is None:
        raise NotFound(f"no sweep {name[:100]!r} was looked at from here", hint="windlass sweep show SWEEP")
    return hide_in_sweep(seen, desk.hide)


def _draw(desk: Desk, request: Request, draw: Callable[..., str]) -> Response:
    theme = request.query_params.get("theme", "light")
    text = draw(_load(desk, request), theme=theme if theme in THEMES else "light")
    return Response(text, media_type="image/svg+xml", headers={"cache-control": "no-store"})
