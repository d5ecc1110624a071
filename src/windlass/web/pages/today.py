"""Today: what runs, what waits, what ended, what cries for attention."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.app.watching.reading_today import load_today
from windlass.web.desk import Desk

_MOST_ROWS = 50  # of each kind; the list of runs has all of them


def show(desk: Desk, request: Request) -> Response:
    desk.attend(request)
    today = load_today(desk.watch, desk.reader)
    return desk.show(request, "today.html", {"today": today, "most": _MOST_ROWS}, live="")
