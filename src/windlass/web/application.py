"""Every address of the dashboard and what answers there."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from windlass.app.deeds import Deeds
from windlass.errors import ExitCode, NotFound, WindlassError
from windlass.web import news
from windlass.web.desk import Desk
from windlass.web.door import Door, Keys
from windlass.web.pages import (
    actions,
    advice,
    budget,
    chain,
    charts,
    compare,
    log,
    run,
    runs,
    services,
    sites,
    sweeps,
    today,
    why,
)
from windlass.web.peers import FindOwner, find_owner
from windlass.web.vendor import STATIC

_SMALLEST_PACKED = 1000  # bytes
_STATUSES = {ExitCode.NOT_FOUND: 404, ExitCode.USAGE: 400}


def make_application(desk: Desk, *, keys: Keys, port: int, find_owner: FindOwner = find_owner) -> Door:
    deeds = Deeds(desk.open_session)
    routes = [
        _page("/", today.show, desk),
        _page("/runs", runs.show, desk),
        _page("/runs/{run}", run.show, desk),
        _page("/runs/{run}/log", log.show, desk),
        _page("/runs/{run}/chain", chain.show, desk),
        _page("/runs/{run}/metrics.json", charts.show_metrics, desk),
        _page("/runs/{run}/metric.svg", charts.draw_metric, desk),
        _page("/runs/{run}/gauges.json", charts.show_gauges, desk),
        _page("/runs/{run}/gauges.svg", charts.draw_gauges, desk),
        _page("/runs/{run}/points", charts.show_points, desk),
        _page("/runs/{run}/points.csv", charts.download_points, desk),
        _page("/runs/{run}/papers/{paper}", run.show_paper, desk),
        _form("/runs/{run}/log/bring", log.bring, desk),
        _form("/runs/{run}/log/search", log.search_there, desk),
        _form("/runs/{run}/note", run.note, desk),
        _page("/runs/{run}/why", why.show, desk),
        _form("/runs/{run}/why/ask", why.ask, desk),
        _form("/runs/{run}/why/write", why.write, desk),
        _page("/runs/{run}/advice", advice.show, desk),
        _form("/runs/{run}/advice/write", advice.write, desk),
        _page("/runs/{run}/open/{kind}", services.show, desk),
        _form("/runs/{run}/open/{kind}", services.open_one, desk),
        _form("/runs/{run}/open/{kind}/go", services.go, desk),
        _form("/runs/{run}/open/{kind}/close", services.close_one, desk),
        # The last of a run's addresses: it takes every word.
        _page("/runs/{run}/{verb}", actions.confirm, desk),
        _form("/runs/{run}/{verb}", actions.do, desk, deeds),
        _page("/compare", compare.show, desk),
        _page("/compare.json", compare.show_series, desk),
        _page("/compare.svg", compare.draw, desk),
        _page("/compare.csv", compare.download, desk),
        _page("/sweeps", sweeps.show_all, desk),
        _page("/sweeps/{sweep}", sweeps.show, desk),
        _page("/sweeps/{sweep}/trials.svg", sweeps.draw, desk),
        _page("/sweeps/{sweep}/history.svg", sweeps.draw_best, desk),
        _page("/sweeps/{sweep}/trials.csv", sweeps.download, desk),
        _form("/sweeps/{sweep}/ask", sweeps.ask, desk),
        _page("/sites", sites.show_all, desk),
        _page("/sites/{site}", sites.show, desk),
        _form("/sites/{site}/ask", sites.ask, desk),
        _page("/budget", budget.show_all, desk),
        _page("/budget/{site}", budget.show, desk),
        _page("/budget/{site}/table.csv", budget.show_table, desk),
        _form("/budget/{site}/ask", budget.ask, desk),
        _page("/deeds/{number:int}", actions.show_deed, desk, deeds),
        _form("/theme", actions.choose_theme, desk),
        _page("/news", news.stream, desk),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    pages = Starlette(
        routes=routes,
        middleware=[Middleware(GZipMiddleware, minimum_size=_SMALLEST_PACKED)],
        exception_handlers={
            WindlassError: partial(_show_problem, desk),
            404: partial(_show_missing, desk),
            Exception: partial(_show_bug, desk),
        },
    )
    return Door(pages, keys=keys, port=port, find_owner=find_owner)


def _page(path: str, show: Callable[..., Any], *things: object) -> Route:
    return Route(path, _bind(show, things), methods=["GET"])


def _form(path: str, take: Callable[..., Awaitable[Response]], *things: object) -> Route:
    """What changes something: every one of them reads its form by `read_form`, which wants our own page's word."""
    return Route(path, _bind(take, things), methods=["POST"])


def _bind(endpoint: Callable[..., Any], things: tuple[object, ...]) -> Callable[..., Any]:
    """starlette looks whether it is a coroutine function; `partial` keeps that."""
    return partial(endpoint, *things)


def _show_problem(desk: Desk, request: Request, problem: Exception) -> Response:
    assert isinstance(problem, WindlassError)
    status = _STATUSES.get(problem.exit_code, 500)
    return desk.show(request, "problem.html", {"problem": problem}, status=status)


def _show_missing(desk: Desk, request: Request, problem: Exception) -> Response:
    return _show_problem(desk, request, NotFound(f"there is no page {request.url.path}", hint="/"))


def _show_bug(desk: Desk, request: Request, problem: Exception) -> Response:
    """A bug of ours: its traceback is said where the server runs, which starlette sees to."""
    values = {"kind": type(problem).__name__, "where": request.url.path}
    return desk.show(request, "bug.html", values, status=500)
