"""Today: what runs, what waits, what ended, what cries for attention."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.app.watching.reading_today import load_today
from windlass.core.watching.looks import OLD_S
from windlass.web.desk import Desk

_MOST_ROWS = 50  # of each kind; the list of runs has all of them


def show(desk: Desk, request: Request) -> Response:
    desk.attend_fresh(request)
    today = load_today(desk.watch, desk.reader)
    looks = {site.name: site.look for site in today.sites}
    values = {"today": today, "looks": looks, "most": _MOST_ROWS, "old_s": OLD_S}
    return desk.show(request, "today.html", values, live="")
